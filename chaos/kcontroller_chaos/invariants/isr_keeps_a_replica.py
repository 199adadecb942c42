"""A partition's ISR always has one of its replicas: else nobody could ever lead it without loss."""

from __future__ import annotations

from typing import Any

from kcontroller_chaos.checking import SAFETY, WRITES, Verdict, Write, assigned_replicas, is_topic, writes
from kcontroller_chaos.history.read import History
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.zookeeper.znodes import parse_state_path

Replicas = dict[str, list[int]]
"""Of each partition."""


class IsrKeepsAReplica(Invariant):
    name = "isr-keeps-a-replica"
    kind = SAFETY
    expected = "of the ISR one member at least is a replica of the partition"
    source = "KAFKA-14424 (open)"

    def check(self, history: History) -> Verdict:
        assigned, in_sync = Replicas(), Replicas()
        checks = 0
        for write in writes(history):
            for name in _changed(write, assigned, in_sync):
                replicas, isr = assigned.get(name), in_sync.get(name)
                if not replicas or not isr:
                    continue
                checks += 1
                if not any(member in replicas for member in isr):
                    witness = write.witness(partition=name, isr=isr, assignment=replicas)
                    seen = f"{name} is on {replicas}, and its ISR is {isr}"
                    return Verdict.violated(checks, seen=seen, where=write.where, witness=witness)
        return Verdict.of(checks)


def _changed(write: Write, assigned: Replicas, in_sync: Replicas) -> list[str]:
    """The partitions that a write is about, once it has been taken over."""
    if (tp := parse_state_path(write.path)) is not None:
        state = write.state if write.type in WRITES else None
        return _take(in_sync, {str(tp): [] if state is None else state["isr"]})
    if not is_topic(write.path):
        return []
    topic = write.path.rpartition("/")[2]
    if write.type not in WRITES:
        return _take(assigned, {name: [] for name in assigned if name.rpartition("-")[0] == topic})
    return _take(
        assigned, {f"{topic}-{number}": replicas for number, replicas in assigned_replicas(write.data).items()}
    )


def _take(known: Replicas, changed: dict[str, Any]) -> list[str]:
    known |= changed
    return list(changed)
