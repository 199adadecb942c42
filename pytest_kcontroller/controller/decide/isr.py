"""Who is in sync: what a leader asks for with AlterPartition is checked in Kafka 3.9's order; who stops leaves the ISR.

Sources: kafka.controller.KafkaController.tryProcessAlterPartition, ZkReplicaStateMachine.doRemoveReplicasFromIsr (3.9).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.model.cluster import NO_LEADER, LeaderAndIsr, TopicPartition, make_state
from pytest_kcontroller.runtime.seams import seam
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
    return replace(current, isr=item.isr, recovering=item.recovering, controller_epoch=context.epoch)


@seam("controller.may-be-in-sync")
def may_be_in_sync(context: Context, replica: int) -> bool:
    """Who is dead or shutting down is not taken into an ISR, whatever the leader has seen of it (KAFKA-14140)."""
    return context.live(replica)


def without(
    states: Mapping[TopicPartition, LeaderAndIsr], broker: int, epoch: int
) -> dict[TopicPartition, LeaderAndIsr]:
    """The states when `broker` has gone. One that does not have it in the ISR needs no change, and no leader epoch either.

    `epoch`: of the controller. Each keeps the partition epoch that it replaces.
    """
    return {
        tp: make_state(
            leader=NO_LEADER if state.leader == broker else state.leader,
            leader_epoch=state.leader_epoch + 1,
            isr=isr_without(state.isr, broker),
            controller_epoch=epoch,
            partition_epoch=state.partition_epoch,
            recovering=state.recovering,
        )
        for tp, state in states.items()
        if broker in state.isr
    }


@seam("controller.isr-without")
def isr_without(isr: tuple[int, ...], broker: int) -> tuple[int, ...]:
    """The last member stays: nobody else could ever lead cleanly (KAFKA-5083)."""
    return isr if len(isr) == 1 else tuple(r for r in isr if r != broker)


@seam("controller.told-of-removal")
def recipients_of_removal(replicas: tuple[int, ...], broker: int, state: LeaderAndIsr) -> list[int]:
    """Who hears that `broker` is not in sync any more, and of the new leader epoch: all the others (KAFKA-1188)."""
    return [r for r in replicas if r != broker]
