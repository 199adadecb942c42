"""Who is in sync: what a leader asks for with AlterPartition is checked in Kafka 3.9's order; who stops leaves the ISR.

Sources: kafka.controller.KafkaController.tryProcessAlterPartition, ZkReplicaStateMachine.doRemoveReplicasFromIsr (3.9).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.model.cluster import NO_LEADER, LeaderAndIsr, TopicPartition, make_state, next_epoch
from pytest_kcontroller.seams import seam
from pytest_kcontroller.wire.errors import ErrorCode


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterPartitionItem:
    """One partition of a request. `recovering` as in LeaderAndIsr."""

    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    recovering: bool = False


def check_broker(context: Context, broker: int, broker_epoch: int) -> ErrorCode:
    """The whole request: the epoch must equal the registered one (KAFKA-7235)."""
    known = context.brokers.get(broker)
    return ErrorCode.NONE if known is not None and known.epoch == broker_epoch else ErrorCode.STALE_BROKER_EPOCH


def check(context: Context, tp: TopicPartition, item: AlterPartitionItem) -> ErrorCode | LeaderAndIsr:
    """An error; or the state: to be written if it differs from the current one, else an answer without a write."""
    current = context.leadership.get(tp)
    if current is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if item.partition_epoch > current.partition_epoch or item.leader_epoch > current.leader_epoch:
        return ErrorCode.NOT_CONTROLLER  # the leader knows more than we do: we have been replaced (3.4+)
    if item.leader_epoch < current.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if (item.isr, item.recovering) == (current.isr, current.recovering):
        return current
    if item.partition_epoch < current.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    if item.recovering and (len(item.isr) > 1 or not current.recovering):
        return ErrorCode.INVALID_REQUEST
    if not item.isr or not all(may_be_in_sync(context, replica) for replica in item.isr):
        return ErrorCode.INELIGIBLE_REPLICA
    if any(member not in current.isr and not is_assigned(context, tp, member) for member in item.isr):
        return ErrorCode.INELIGIBLE_REPLICA
    return replace(current, isr=item.isr, recovering=item.recovering, controller_epoch=context.epoch)


@seam("controller.may-be-in-sync")
def may_be_in_sync(context: Context, replica: int) -> bool:
    """Who is dead or shutting down is not taken into an ISR, whatever the leader has seen of it (KAFKA-14140)."""
    return context.live(replica)


@seam("controller.is-assigned")
def is_assigned(context: Context, tp: TopicPartition, replica: int) -> bool:
    """Nobody joins an ISR who is no replica (KAFKA-9672).

    Kafka trusts the leader in this, whom nobody has told if a reassignment was cancelled by a controller that died over it.
    """
    return replica in context.assignments[tp].replicas


def without(
    context: Context, states: Mapping[TopicPartition, LeaderAndIsr], broker: int
) -> dict[TopicPartition, LeaderAndIsr]:
    """The states when `broker` has gone. One that does not have it in the ISR needs no change, and no leader epoch either.

    Each keeps the partition epoch that it replaces. Who leads and is no replica leads no more if it is not in what is left
    of the ISR: Kafka, which keeps such a member in it, need not look at anybody but `broker`.
    """
    assignments = context.assignments
    return {
        tp: make_state(
            leader=state.leader if _leads_on(state.leader, broker, left, replicas) else NO_LEADER,
            leader_epoch=next_epoch(state.leader_epoch),
            isr=left,
            controller_epoch=context.epoch,
            partition_epoch=state.partition_epoch,
            recovering=state.recovering,
        )
        for tp, state in states.items()
        if broker in state.isr
        for replicas in (assignments[tp].replicas if tp in assignments else (),)
        for left in (isr_without(state.isr, broker, replicas),)
    }


def _leads_on(leader: int, gone: int, left: tuple[int, ...], replicas: tuple[int, ...]) -> bool:
    return leader != gone and (leader in left or leader in replicas)


@seam("controller.isr-without")
def isr_without(isr: tuple[int, ...], broker: int, replicas: tuple[int, ...]) -> tuple[int, ...]:
    """The last member stays: nobody else could ever lead cleanly (KAFKA-5083).

    Who joined by a reassignment that a controller cancelled, and died over, is a member and no replica: it cannot lead, so
    it does not count. Kafka counts it, and the partition is offline for good.
    """
    left = tuple(r for r in isr if r != broker)
    if broker in replicas and not any(r in replicas for r in left):
        return (broker,)
    return left or isr


@seam("controller.told-of-removal")
def recipients_of_removal(replicas: tuple[int, ...], broker: int, state: LeaderAndIsr) -> list[int]:
    """Who hears that `broker` is not in sync any more, and of the new leader epoch: all the others (KAFKA-1188)."""
    return [r for r in replicas if r != broker]
