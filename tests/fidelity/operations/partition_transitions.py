"""partition_state_transitions: what the partition state machine allows, writes and sends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_kcontroller.controller import topic_deletion
from pytest_kcontroller.controller.transitions import PartitionState, PartitionTransition, Why
from pytest_kcontroller.model.cluster import LeaderAndIsr, TopicPartition
from pytest_kcontroller.runtime.holds import BEFORE_STATE_WRITE
from pytest_kcontroller.zookeeper.session import Delete, SessionExpiredError
from pytest_kcontroller.zookeeper.znodes import state_path
from tests.fidelity.operations.leader_election import REASONS
from tests.fidelity.stage import TOPIC, TP, Stage, shown, stage, state_of
from tests.fidelity.vectors import Vector
from tests.tools.recording_channels import Sent

DEFAULT = 5
"""The only replica's broker, where a vector names none."""


def observe(vector: Vector) -> dict[str, Any]:
    inputs = vector.inputs
    if "zk_leader" in inputs:
        return _at_failover(inputs)
    if "partitions" in inputs:
        return _counted(inputs)
    if "zk_state_controller_epoch" in inputs or "zk_write" in inputs:
        return _rewritten(inputs)
    return _transition(inputs)


def _transition(inputs: Mapping[str, Any]) -> dict[str, Any]:
    if "strategy" in inputs and inputs["strategy"] is None:
        return _without_strategy(inputs)
    origin, target = PartitionState(inputs["from"]), PartitionState(inputs["to"])
    assignment, live = inputs.get("assignment", [DEFAULT]), inputs.get("live", [DEFAULT])
    there = LeaderAndIsr(leader=assignment[0], leader_epoch=3, isr=tuple(assignment), controller_epoch=1)
    led = origin in (PartitionState.ONLINE, PartitionState.OFFLINE)
    with stage(brokers=live, controller_epoch=inputs.get("controller_epoch")) as on:
        on.place([assignment], states={0: there} if led or inputs.get("zk") == "NODEEXISTS" else {}, known=led)
        on.context.set_partition_state([TP], origin)
        if inputs.get("zk_read") == "NONODE":
            on.box.write(Delete(state_path(TP)))
            on.forget()
        raised, refused = _try(on, _to(target, inputs.get("strategy")), expired=inputs.get("zk") == "exception")
        told = on.told()["leader_and_isr"]
        made = [state for name, state in on.box.states_written() if name == str(TP)]
        return {
            "valid": refused.get(TP) is not Why.ILLEGAL,
            "state_after": on.context.partition_state(TP).value,
            "error_raised_to_caller": raised,
            "create_state": shown(made[0]) if made else None,
            "leader_and_isr": told,
            "requests": len(_requests(on)),
            "batch_still_flushed": list(on.term.requests.batch().build()) == [],
        }


def _without_strategy(inputs: Mapping[str, Any]) -> dict[str, Any]:
    try:
        PartitionTransition(target=PartitionState(inputs["to"]), cause="test")
    except ValueError:
        return {"error": "IllegalArgument"}
    return {"error": None}


def _to(target: PartitionState, strategy: str | None = None) -> PartitionTransition:
    election = REASONS[strategy or "offline"] if target is PartitionState.ONLINE else None
    return PartitionTransition(target=target, cause="test", election=election)


def _requests(on: Stage) -> list[Sent]:
    """Of this term, about the partition."""
    return [
        sent for sent in on.box.sent() if sent.request.controller_epoch == on.context.epoch and str(TP) in sent.entries
    ]


def _try(on: Stage, move: PartitionTransition, *, expired: bool) -> tuple[bool, dict[TopicPartition, Why]]:
    """Whether it raised, and who was refused. `expired`: the session ends before the write."""
    if not expired:
        return False, on.box.run(on.term.partitions.transition([TP], move))
    on.box.hold(BEFORE_STATE_WRITE)
    raised: list[bool] = []

    async def attempt() -> None:
        try:
            await on.term.partitions.transition([TP], move)
        except SessionExpiredError:
            raised.append(True)

    on.box.begin(attempt())
    on.box.expire_session()
    on.box.release(BEFORE_STATE_WRITE)
    return bool(raised), {}


def _at_failover(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Which state a partition is in when a term begins, before anybody is elected."""
    leader = inputs["zk_leader"]
    with stage(brokers=inputs["live"]) as on:
        on.place([[max(leader, 1)]], states={0: state_of({"leader": leader, "isr": [max(leader, 1)]})})
        seen: list[PartitionState] = []

        async def note(cause: str) -> None:
            seen.append(on.context.partition_state(TP))

        on.term.partitions.trigger_online = note  # type: ignore[method-assign]
        on.box.run(on.term.partitions.start())
        return {"state": seen[0].value}


def _counted(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """How many partitions count as offline after each step."""
    count = inputs["partitions"]
    there = LeaderAndIsr(leader=DEFAULT, leader_epoch=0, isr=(DEFAULT,), controller_epoch=1)
    with stage(brokers=[DEFAULT]) as on:
        tps = on.place([[DEFAULT]] * count, states=dict.fromkeys(range(count), there))
        if inputs.get("deletion_started"):
            on.context.deletions.queue([TOPIC])
            on.context.deletions.start([TOPIC])
        counts = []
        if "event" in inputs:  # the topic is deleted, whose partitions are all offline
            on.context.set_partition_state(tps, PartitionState.OFFLINE)
            assert on.context.offline_partition_count == count
            on.box.run(topic_deletion.enqueue(on.term, [TOPIC]))
            return {"offline_count": on.context.offline_partition_count}
        for state in map(PartitionState, inputs["sequence"]):
            on.box.run(on.term.partitions.transition(tps, _to(state)))
            counts.append(on.context.offline_partition_count)
        return {"offline_count": counts}


def _rewritten(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Somebody else has written the state since it was read."""
    own = inputs.get("own_controller_epoch", 1)
    theirs = inputs.get("zk_state_controller_epoch", own)
    before = LeaderAndIsr(leader=1, leader_epoch=0, isr=(1, 2, 3), controller_epoch=own)
    with stage(brokers=[2, 3], controller_epoch=own) as on:
        on.place([[1, 2, 3]], states={0: before})
        on.context.set_partition_state([TP], PartitionState.OFFLINE)
        on.box.set_state(str(TP), replace(before, leader_epoch=7, isr=(1, 3), controller_epoch=theirs))
        on.forget()
        refused = on.box.run(on.term.partitions.transition([TP], _to(PartitionState.ONLINE)))
        written = [shown(state) for _, state in on.box.states_written()]
        anew = [
            {"leader": 3, "leader_epoch": 8, "isr": [3], "controller_epoch": own, "leader_recovery_state": "RECOVERED"}
        ]
        return {
            "error": "StateChangeFailed" if TP in refused else None,
            "write": bool(written),
            "retry": bool(written),
            "action": "re-read the state, re-run the strategy, write again, loop until none is left"
            if written == anew
            else f"wrote {written}",
        }
