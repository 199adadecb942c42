"""When a new controller's failover is done, brokers that were dead all the time lead nothing and are in no ISR.

The last member of an ISR stays in it, without being the leader. Who is dead is what ZooKeeper's log says: not registered
from the election until the failover was done, which is the newest transaction that the controller knew of then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kcontroller_chaos.checking import SAFETY, WRITES, Verdict, accepted, assigned_replicas, is_topic, partition_state
from kcontroller_chaos.history.read import Event, History
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.model.history import ControllerFailover
from pytest_kcontroller.model.text import json_or_none
from pytest_kcontroller.zookeeper.znodes import BROKER_IDS, CONTROLLER_EPOCH, broker_of, parse_state_path


class DeadLeaveIsrAtFailover(Invariant):
    name = "dead-leave-isr-at-failover"
    kind = SAFETY
    expected = "no dead broker leads or is in an ISR of more than one when a failover is done"
    source = "KAFKA-3143, KAFKA-8152 (fixed in Kafka 2.3)"

    def check(self, history: History) -> Verdict:
        done = {int(event["epoch"]): event for event in history.of(ControllerFailover)}
        checks = 0
        for epoch, tree in _at_failovers(history, done):
            checks += len(tree.dead)
            for path, state in sorted(tree.states.items()):
                isr = [broker for broker in state["isr"] if broker in tree.dead]
                if state["leader"] not in tree.dead and (not isr or len(state["isr"]) == 1):
                    continue
                tp = parse_state_path(path)
                seen = f"{tp}: leader {state['leader']}, ISR {state['isr']}, dead were {sorted(tree.dead)}"
                where = f"{path}, when the failover of epoch {epoch} was done"
                witness = {"zxid": hex(tree.zxid), "path": path, "epoch": epoch, "dead": sorted(tree.dead), **state}
                witness |= {"t_us": int(done[epoch]["t_us"])}
                return Verdict.violated(checks, seen=seen, where=where, witness=witness)
        return Verdict.of(checks)


@dataclass(slots=True)
class _Tree:
    """What the log says until some transaction."""

    zxid: int = 0
    live: dict[int, str] = field(default_factory=dict)
    """Broker -> the session that owns its registration."""
    assigned: dict[int, None] = field(default_factory=dict)
    """Every broker that a topic names."""
    states: dict[str, dict[str, Any]] = field(default_factory=dict)
    elected: int | None = None
    """The epoch of the last election, as long as nobody else has been elected."""
    dead: set[int] = field(default_factory=set)
    """Not registered at that election, nor since."""

    def apply(self, txn: Event) -> None:
        self.zxid = int(txn["zxid"])
        if txn["type"] == "close-session":
            self.live = {broker: owner for broker, owner in self.live.items() if owner != txn["session"]}
        epoch = None
        for op in accepted(txn):
            path = op["path"]
            parent, _, name = path.rpartition("/")
            if parent == BROKER_IDS and (broker := broker_of(name)) is not None:
                self._registration(broker, op, str(txn["session"]))
            elif parse_state_path(path) is not None:
                self.states.pop(path, None)
                if op["type"] in WRITES and (state := partition_state(op["data"])) is not None:
                    self.states[path] = state
            elif is_topic(path) and op["type"] in WRITES:
                self.assigned |= dict.fromkeys(
                    r for replicas in assigned_replicas(op["data"]).values() for r in replicas
                )
            elif path == CONTROLLER_EPOCH and op["type"] in WRITES:
                written = json_or_none(op["data"])
                epoch = written if isinstance(written, int) else None
        if epoch:
            self.elected = epoch
            self.dead = {broker for broker in self.assigned if broker not in self.live}

    def _registration(self, broker: int, op: Event, session: str) -> None:
        if op["type"] == "delete":
            self.live.pop(broker, None)
        elif op["type"] != "set":
            self.live[broker] = session
            self.dead.discard(broker)


def _at_failovers(history: History, done: dict[int, Event]) -> Iterator[tuple[int, _Tree]]:
    """The tree at the end of each failover during which nobody else was elected."""
    tree, txns = _Tree(), history.txns
    for number, txn in enumerate(txns):
        tree.apply(txn)
        if tree.elected not in done:
            continue
        if number + 1 == len(txns) or int(txns[number + 1]["zxid"]) > int(done[tree.elected]["zxid"]):
            yield tree.elected, tree
            tree.elected = None
