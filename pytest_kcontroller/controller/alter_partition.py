"""AlterPartition: the checks on a leader's wish to change its ISR, in Kafka 3.9's order.

Source: kafka.controller.KafkaController.tryProcessAlterPartition.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.model.cluster import LeaderAndIsr, TopicPartition
from pytest_kcontroller.runtime.seams import seam
from pytest_kcontroller.wire.errors import ErrorCode


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrWish:
    """One partition of a request. `recovering` as in LeaderAndIsr."""

    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    recovering: bool = False


def check_broker(context: Context, broker: int, broker_epoch: int) -> ErrorCode:
    """The whole request: the epoch must equal the registered one (KAFKA-7235)."""
    known = context.brokers.get(broker)
    return ErrorCode.NONE if known is not None and known.epoch == broker_epoch else ErrorCode.STALE_BROKER_EPOCH


def check(context: Context, tp: TopicPartition, wish: IsrWish) -> ErrorCode | LeaderAndIsr:
    """An error; or the state: to be written if it differs from the current one, else an answer without a write."""
    current = context.leadership.get(tp)
    if current is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if wish.partition_epoch > current.partition_epoch or wish.leader_epoch > current.leader_epoch:
        return ErrorCode.NOT_CONTROLLER  # the leader knows more than we do: we have been replaced (3.4+)
    if wish.leader_epoch < current.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if (wish.isr, wish.recovering) == (current.isr, current.recovering):
        return current
    if wish.partition_epoch < current.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    if wish.recovering and (len(wish.isr) > 1 or not current.recovering):
        return ErrorCode.INVALID_REQUEST
    if not wish.isr or not all(may_be_in_sync(context, replica) for replica in wish.isr):
        return ErrorCode.INELIGIBLE_REPLICA
    return replace(current, isr=wish.isr, recovering=wish.recovering, controller_epoch=context.epoch)


@seam("controller.may-be-in-sync")
def may_be_in_sync(context: Context, replica: int) -> bool:
    """Who is dead or shutting down is not taken into an ISR, whatever the leader has seen of it (KAFKA-14140)."""
    return context.live(replica)
