"""ControlledShutdown: a broker that is about to stop asks that others lead what it leads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_kcontroller.controller.events.event import RequestEvent
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.controller.transitions import (
    PartitionState,
    PartitionTransition,
    ReplicaState,
    ReplicaTransition,
)
from pytest_kcontroller.model.cluster import UNKNOWN_EPOCH, Broker, TopicPartition
from pytest_kcontroller.model.election import ElectionReason
from pytest_kcontroller.model.history import ControllerControlledShutdown
from pytest_kcontroller.model.turns import Pieces
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import ControlledShutdownResponse, RemainingPartition


@dataclass(frozen=True, slots=True)
class ControlledShutdown(RequestEvent):
    """Source: kafka.controller.KafkaController.doControlledShutdown.

    The broker stays shutting down until its registration goes: one that does not stop after all is elected by nobody.
    """

    name = "ControlledShutdown"
    source = "a request of a broker: ControlledShutdown"
    metric = "ControlledShutdownRateAndTimeMs"

    async def respond(self, term: Term) -> Any:
        context, broker = term.context, int(self.request.broker_id)
        known = context.brokers.get(broker)
        if known is None:
            return self.refusal(ErrorCode.BROKER_NOT_AVAILABLE)
        if UNKNOWN_EPOCH != self.request.broker_epoch < known.epoch:
            return self.refusal(ErrorCode.STALE_BROKER_EPOCH)
        context.begin_shutdown(broker)
        partitions = await self._hand_over(term, broker)
        remaining: list[TopicPartition] = []
        if not partitions:
            self._record(term, known, ())
        async for piece in Pieces(partitions):
            remaining += self._record(term, known, piece)
        return _response(ErrorCode.NONE, remaining)

    def _record(self, term: Term, broker: Broker, tps: Sequence[TopicPartition]) -> list[TopicPartition]:
        """What became of these, in the history; those that the broker leads still."""
        leadership = term.context.leadership
        remaining = [tp for tp in tps if leadership[tp].leader == broker.id]
        term.record(
            ControllerControlledShutdown(
                broker=broker.id,
                broker_epoch=broker.epoch,
                epoch=term.context.epoch,
                relieved={str(tp): leadership[tp].partition_epoch for tp in tps if leadership[tp].leader != broker.id},
                remaining=[str(tp) for tp in remaining],
                zxid=term.store.session.last_zxid,
            )
        )
        return remaining

    async def _hand_over(self, term: Term, broker: int) -> list[TopicPartition]:
        """Others lead what it led, in one batch; it stops following the rest, and leaves the ISR.

        Returns the partitions that this was to be done for: those that have other replicas and are not to be deleted.
        """
        context, leadership = term.context, term.context.leadership
        partitions = context.not_deleted(
            [
                tp
                async for piece in Pieces(context.hosted_by(broker))
                for tp in piece
                if len(context.assignments[tp].replicas) > 1 and tp in leadership
            ]
        )
        led: list[TopicPartition] = []
        followed: list[TopicPartition] = []
        for tp in partitions:
            (led if leadership[tp].leader == broker else followed).append(tp)
        elect = PartitionTransition(
            target=PartitionState.ONLINE, cause=self.name, election=ElectionReason.CONTROLLED_SHUTDOWN
        )
        await term.partitions.transition(led, elect)
        batch = term.requests.batch()
        async for piece in Pieces(followed):
            batch.stop_replicas(broker, piece, delete=False)
        await term.requests.send(batch)
        offline = ReplicaTransition(target=ReplicaState.OFFLINE, cause=self.name)
        await term.replicas.transition({broker: followed}, offline)
        return partitions

    @staticmethod
    def refusal(error: ErrorCode) -> Any:
        return _response(error)


def _response(error: ErrorCode, remaining: Sequence[TopicPartition] = ()) -> Any:
    return ControlledShutdownResponse(
        error_code=int(error),
        remaining_partitions=[
            RemainingPartition(topic_name=tp.topic, partition_index=tp.partition) for tp in remaining
        ],
    )
