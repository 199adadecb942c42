# Generated from wire/schemas by `make generated`: edit those.
"""UpdateMetadataResponse of API 6."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from pytest_kcontroller.wire.message import Layout, Response, Write
from pytest_kcontroller.wire.primitives import skip_tagged_fields

_h = Struct(">h")
_hB = Struct(">hB")


@dataclass(slots=True, kw_only=True)
class UpdateMetadataResponse(Response):
    """One error."""

    API_KEY = 6
    error_code: int


def _encode_update_metadata_response_v3(m: UpdateMetadataResponse, write: Write) -> None:
    write(_h.pack(m.error_code))


def _decode_update_metadata_response_v3(data: bytes, at: int) -> tuple[UpdateMetadataResponse, int]:
    m = object.__new__(UpdateMetadataResponse)
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    return m, at


def _encode_update_metadata_response_v6(m: UpdateMetadataResponse, write: Write) -> None:
    write(_hB.pack(m.error_code, 0))


def _decode_update_metadata_response_v6(data: bytes, at: int) -> tuple[UpdateMetadataResponse, int]:
    m = object.__new__(UpdateMetadataResponse)
    m.error_code, tags = _hB.unpack_from(data, at)
    at = at + 3 if tags == 0 else skip_tagged_fields(data, at + 2)
    return m, at


UpdateMetadataResponse.LAYOUTS = {
    3: Layout(_encode_update_metadata_response_v3, _decode_update_metadata_response_v3),
    4: Layout(_encode_update_metadata_response_v3, _decode_update_metadata_response_v3),
    5: Layout(_encode_update_metadata_response_v3, _decode_update_metadata_response_v3),
    6: Layout(_encode_update_metadata_response_v6, _decode_update_metadata_response_v6),
    7: Layout(_encode_update_metadata_response_v6, _decode_update_metadata_response_v6),
    8: Layout(_encode_update_metadata_response_v6, _decode_update_metadata_response_v6),
}
