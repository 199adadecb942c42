"""replica_state_transitions: what the replica state machine allows, writes and sends."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pytest_kcontroller.controller.transitions import PartitionState, ReplicaState, ReplicaTransition, Why
from pytest_kcontroller.model.cluster import LeaderAndIsr
from tests.fidelity.stage import TOPIC, TP, Stage, shown, stage, state_of
from tests.fidelity.vectors import Vector

REPLICA = 5
"""Where a vector names no replica."""


def observe(vector: Vector) -> dict[str, Any]:
    inputs = vector.inputs
    if "from" in inputs:
        return _transition(inputs)
    if "replica" not in inputs:
        return _at_failover(inputs)
    return _effects(inputs, vector.source)


def _state(inputs: Mapping[str, Any]) -> LeaderAndIsr | None:
    """A leader of whom no more is said is the ISR."""
    known = inputs.get("zk", inputs.get("leadership"))
    return None if known is None else state_of({"isr": [known["leader"]], **known})


def _transition(inputs: Mapping[str, Any]) -> dict[str, Any]:
    origin, target = ReplicaState(inputs["from"]), ReplicaState(inputs["to"])
    with stage(brokers=[REPLICA, 6]) as on:
        on.place([[REPLICA, 6]], states={0: state_of({"leader": 6, "isr": [REPLICA, 6]})})
        on.context.set_partition_state([TP], PartitionState.ONLINE)
        on.context.set_replica_state(REPLICA, [TP], origin)
        refused, raised = _move(on, REPLICA, target)
        return {
            "valid": refused is not Why.ILLEGAL,
            "state_after": on.context.replica_state(TP, REPLICA).value,
            "error_raised_to_caller": raised,
        }


def _move(on: Stage, replica: int, target: ReplicaState) -> tuple[Why | None, bool]:
    """Why it stayed where it was, and whether it raised."""
    try:
        refused = on.box.run(
            on.term.replicas.transition({replica: [TP]}, ReplicaTransition(target=target, cause="test"))
        )
    except Exception:  # noqa: BLE001 - whatever it is, Kafka's raises none
        return None, True
    return refused.get((TP, replica)), False


def _at_failover(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The state of the only replica once the machine has started."""
    (replica,) = inputs["assignment"]
    state = _state(inputs)
    with stage(brokers=inputs["live"]) as on:
        on.place([[replica]], states={} if state is None else {0: state})
        on.box.run(on.term.replicas.start())
        return {"state": on.context.replica_state(TP, replica).value}


def _effects(inputs: Mapping[str, Any], source: str) -> dict[str, Any]:
    """What one transition writes and sends; which one it is, the source says."""
    origin, target = _of_source(source)
    replica, state = inputs["replica"], _state(inputs)
    members = () if state is None else (state.leader, *state.isr)
    assignment = inputs.get("assignment") or list(dict.fromkeys([m for m in (*members, replica) if m >= 0]))
    live = inputs.get("live", assignment)
    with stage(brokers=live) as on:
        on.place([assignment], states={} if state is None else {0: state})
        if inputs.get("topic_queued_for_deletion"):
            on.context.deletions.queue([TOPIC])
        on.context.set_partition_state([TP], PartitionState.ONLINE)
        on.context.set_replica_state(replica, [TP], origin)
        refused, _ = _move(on, replica, target)
        written = [shown(after) for _, after in on.box.states_written()]
        kept = on.context.assignments.get(TP)
        return {
            **on.told(),
            "write": written[-1] if written else None,
            "leader_epoch_delta": written[-1]["leader_epoch"] - state.leader_epoch if written and state else 0,
            "state": on.context.replica_state(TP, replica).value,
            "state_after": on.context.replica_state(TP, replica).value,
            "error": None if refused is None else "StateChangeFailed",
            "assignment_after": [] if kept is None else [r for r in kept.replicas if r == replica or r in assignment],
            "replica_state_entry": "in the map" if TP in on.context.replica_states(replica) else "removed from the map",
        }


def _of_source(source: str) -> tuple[ReplicaState, ReplicaState]:
    """`...testOnlineReplicaToOfflineReplicaTransition`, or the place in the code that does the target's work."""
    if (named := re.search(r"test(?:Invalid)?(\w+?)To(\w+?)Transition", source)) is not None:
        origin, target = (name.replace("Nonexistent", "NonExistent") for name in named.groups())
        return ReplicaState(origin), ReplicaState(target)
    if "NewReplica branch" in source:
        return ReplicaState.NON_EXISTENT, ReplicaState.NEW
    return ReplicaState.ONLINE, ReplicaState.OFFLINE
