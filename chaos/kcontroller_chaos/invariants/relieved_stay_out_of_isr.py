"""Who has been relieved by a controlled shutdown is not taken back into an ISR before its registration has gone.

The controller's own record says of which partitions, and at which partition epoch; the rest is in ZooKeeper's log. No clock
is compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kcontroller_chaos.checking import SAFETY, WRITES, Verdict, accepted, partition_state
from kcontroller_chaos.history.read import Event, History
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.model.history import ControllerControlledShutdown
from pytest_kcontroller.zookeeper.znodes import BROKER_IDS, broker_of, parse_state_path


class RelievedStayOutOfIsr(Invariant):
    name = "relieved-stay-out-of-isr"
    kind = SAFETY
    expected = "no broker joins an ISR between its controlled shutdown and the end of its registration"
    source = "KAFKA-14140 (fixed in Kafka 3.4)"

    def check(self, history: History) -> Verdict:
        shutdowns = history.of(ControllerControlledShutdown)
        checks = sum(len(shutdown["relieved"]) for shutdown in shutdowns)
        for joined in _changes(history):
            for shutdown in shutdowns:
                relieved_at = shutdown["relieved"].get(joined.partition)
                broker = int(shutdown["broker"])
                if (
                    relieved_at is None
                    or joined.zxid
                    <= shutdown.get("zxid", 0)  # of a topic of this name that was deleted before, perhaps
                    or joined.version <= relieved_at
                    or joined.controller_epoch != shutdown["epoch"]
                    or joined.registered.get(broker) != shutdown["broker_epoch"]
                    or broker not in joined.brokers
                ):
                    continue
                relieved = f"broker {broker}, relieved at partition epoch {relieved_at}"
                seen = f"{joined.partition}: {relieved}, joined the ISR again"
                witness = {"zxid": hex(joined.zxid), "path": joined.path, "isr": joined.isr, "broker": broker}
                witness |= {"version": joined.version, "relieved_at": relieved_at, "epoch": shutdown["epoch"]}
                where = f"zxid {joined.zxid:#x}, {joined.path}"
                return Verdict.violated(checks, seen=seen, where=where, witness=witness)
        return Verdict.of(checks)


@dataclass(slots=True, kw_only=True)
class _Change:
    """One write of a partition's state; `brokers` are those that were not in its ISR before."""

    zxid: int
    path: str
    partition: str
    version: int
    controller_epoch: int
    isr: list[int]
    brokers: list[int]
    registered: dict[int, int] = field(default_factory=dict)
    """Broker -> broker epoch, of those that were registered then."""


def _changes(history: History) -> Iterator[_Change]:
    states: dict[str, tuple[int, list[int]]] = {}
    owners: dict[int, tuple[int, str]] = {}
    for txn in history.txns:
        if txn["type"] == "close-session":
            owners = {broker: there for broker, there in owners.items() if there[1] != txn["session"]}
        for op in accepted(txn):
            _register(owners, txn, op)
            if (tp := parse_state_path(op["path"])) is None:
                continue
            version, before = states.pop(op["path"], (-1, []))
            if op["type"] not in WRITES:
                continue
            if (state := partition_state(op["data"])) is None:
                continue
            states[op["path"]] = version + 1, state["isr"]
            yield _Change(
                zxid=int(txn["zxid"]),
                path=op["path"],
                partition=str(tp),
                version=version + 1,
                controller_epoch=state["controller_epoch"],
                isr=state["isr"],
                brokers=[broker for broker in state["isr"] if broker not in before],
                registered={broker: epoch for broker, (epoch, _) in owners.items()},
            )


def _register(owners: dict[int, tuple[int, str]], txn: Event, op: Event) -> None:
    parent, _, name = op["path"].rpartition("/")
    if parent != BROKER_IDS or (broker := broker_of(name)) is None:
        return
    if op["type"].startswith("create"):
        owners[broker] = int(txn["zxid"]), str(txn["session"])
    elif op["type"] == "delete":
        owners.pop(broker, None)
