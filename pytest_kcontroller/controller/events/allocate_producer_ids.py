"""AllocateProducerIds: a broker asks for ids to give to producers (KIP-730).

No node of ours has producers: this is for Kafka's own brokers, when a node of ours is their controller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_kcontroller.controller.events.event import RequestEvent
from pytest_kcontroller.controller.fences import fence_of_producer_ids
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import AllocateProducerIdsResponse
from pytest_kcontroller.zookeeper.producer_ids import BLOCK, LATEST_PRODUCER_ID_BLOCK, encode_block, next_start
from pytest_kcontroller.zookeeper.session import Create, SetData
from pytest_kcontroller.zookeeper.store import Written
from pytest_kcontroller.zookeeper.znodes import CorruptZnodeError


@dataclass(frozen=True, slots=True)
class AllocateProducerIds(RequestEvent):
    """Sources: KafkaController.processAllocateProducerIds, kafka.coordinator.transaction.ZkProducerIdManager."""

    name = "AllocateProducerIds"
    source = "a request of a broker: AllocateProducerIds"

    async def respond(self, term: Term) -> Any:
        known = term.context.brokers.get(self.request.broker_id)
        if known is None:
            return self.refusal(ErrorCode.BROKER_ID_NOT_REGISTERED)
        if known.epoch != self.request.broker_epoch:
            return self.refusal(ErrorCode.STALE_BROKER_EPOCH)
        try:
            start = await _next_block(term, known.id)
        except CorruptZnodeError as bad:
            term.corrupt(str(bad))
            return self.refusal(ErrorCode.UNKNOWN_SERVER_ERROR)
        return AllocateProducerIdsResponse(
            throttle_time_ms=0, error_code=int(ErrorCode.NONE), producer_id_start=start, producer_id_len=BLOCK
        )

    @staticmethod
    def refusal(error: ErrorCode) -> Any:
        return AllocateProducerIdsResponse(
            throttle_time_ms=0, error_code=int(error), producer_id_start=0, producer_id_len=0
        )


async def _next_block(term: Term, broker: int) -> int:
    """Where it begins; nobody else is given it. Raises CorruptZnodeError and FencedError."""
    while True:
        there = await term.store.get(LATEST_PRODUCER_ID_BLOCK)
        start = next_start(b"" if there is None else there.data)
        data = encode_block(broker, start)
        op = (
            Create(LATEST_PRODUCER_ID_BLOCK, data)
            if there is None
            else SetData(LATEST_PRODUCER_ID_BLOCK, data, there.stat.version)
        )
        (result,) = await term.store.write_each([op], fence=fence_of_producer_ids(term.context))
        if isinstance(result, Written):
            return start
