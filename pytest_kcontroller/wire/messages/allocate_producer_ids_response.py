# Generated from wire/schemas by `make generated`: edit those.
"""AllocateProducerIdsResponse of API 67."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from pytest_kcontroller.wire.message import Layout, Response, Write
from pytest_kcontroller.wire.primitives import skip_tagged_fields

_ihqiB = Struct(">ihqiB")


@dataclass(slots=True, kw_only=True)
class AllocateProducerIdsResponse(Response):
    """The next block of ids."""

    API_KEY = 67
    throttle_time_ms: int
    error_code: int
    producer_id_start: int
    producer_id_len: int


def _encode_allocate_producer_ids_response_v0(m: AllocateProducerIdsResponse, write: Write) -> None:
    write(_ihqiB.pack(m.throttle_time_ms, m.error_code, m.producer_id_start, m.producer_id_len, 0))


def _decode_allocate_producer_ids_response_v0(data: bytes, at: int) -> tuple[AllocateProducerIdsResponse, int]:
    m = object.__new__(AllocateProducerIdsResponse)
    m.throttle_time_ms, m.error_code, m.producer_id_start, m.producer_id_len, tags = _ihqiB.unpack_from(data, at)
    at = at + 19 if tags == 0 else skip_tagged_fields(data, at + 18)
    return m, at


AllocateProducerIdsResponse.LAYOUTS = {
    0: Layout(_encode_allocate_producer_ids_response_v0, _decode_allocate_producer_ids_response_v0),
}
