# Generated from wire/schemas by `make generated`: edit those.
"""AllocateProducerIdsRequest of API 67."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from pytest_kcontroller.wire.message import Layout, Request, Write
from pytest_kcontroller.wire.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from pytest_kcontroller.wire.primitives import skip_tagged_fields

_iqB = Struct(">iqB")


@dataclass(slots=True, kw_only=True)
class AllocateProducerIdsRequest(Request[AllocateProducerIdsResponse]):
    """Broker to controller: ids for producers."""

    API_KEY = 67
    broker_id: int
    broker_epoch: int = -1


def _encode_allocate_producer_ids_request_v0(m: AllocateProducerIdsRequest, write: Write) -> None:
    write(_iqB.pack(m.broker_id, m.broker_epoch, 0))


def _decode_allocate_producer_ids_request_v0(data: bytes, at: int) -> tuple[AllocateProducerIdsRequest, int]:
    m = object.__new__(AllocateProducerIdsRequest)
    m.broker_id, m.broker_epoch, tags = _iqB.unpack_from(data, at)
    at = at + 13 if tags == 0 else skip_tagged_fields(data, at + 12)
    return m, at


AllocateProducerIdsRequest.LAYOUTS = {
    0: Layout(_encode_allocate_producer_ids_request_v0, _decode_allocate_producer_ids_request_v0),
}
