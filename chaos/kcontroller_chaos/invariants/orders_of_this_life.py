"""A broker never becomes leader or follower by an order that was meant for an earlier process of it.

An order names the broker's registration that the controller knew (the broker epoch, its czxid). ZooKeeper's log says which
registration was the first one of the process that carried the order out.
"""

from __future__ import annotations

from kcontroller_chaos.checking import SAFETY, Verdict, accepted
from kcontroller_chaos.history.read import History
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.model.cluster import UNKNOWN_EPOCH
from pytest_kcontroller.model.history import BrokerBecomeFollower, BrokerBecomeLeader, ZkState
from pytest_kcontroller.zookeeper.znodes import BROKER_IDS


class OrdersOfThisLife(Invariant):
    name = "orders-of-this-life"
    kind = SAFETY
    expected = "the broker epoch of every order that is carried out belongs to the process that does it"
    source = "KIP-380, KAFKA-7235 (fixed in Kafka 2.2)"

    def check(self, history: History) -> Verdict:
        first = _first_registrations(history)
        checks = 0
        for event in history.rows(BrokerBecomeLeader, BrokerBecomeFollower):
            checks += 1
            meant, born = int(event["broker_epoch"]), first.get(str(event["writer"]))
            if meant == UNKNOWN_EPOCH or (born is not None and meant >= born):
                continue
            own = "not registered yet" if born is None else f"registered at {born:#x}"
            seen = f"{event['writer']}, {own}, carried out an order for the registration {meant:#x}"
            where = f"{event['writer']}, {event['topic']}-{event['partition']}"
            witness = {"writer": event["writer"], "seq": event["seq"], "t_us": event["t_us"]}
            witness |= {"broker_epoch": meant, "registered": born}
            return Verdict.violated(checks, seen=seen, where=where, witness=witness)
        return Verdict.of(checks)


def _first_registrations(history: History) -> dict[str, int]:
    """Process (as the writer of its history) -> the zxid at which it registered first."""
    process = {str(event["session"]): str(event["writer"]) for event in history.of(ZkState)}
    first: dict[str, int] = {}
    for txn in history.txns:
        writer = process.get(str(txn["session"]))
        created = [op["path"] for op in accepted(txn) if op["type"].startswith("create")]
        if writer is not None and any(path.startswith(f"{BROKER_IDS}/") for path in created):
            first.setdefault(writer, int(txn["zxid"]))
    return first
