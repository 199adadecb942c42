"""Headers as bytes.

Source: RequestHeader.json (versions 1 and 2) and ResponseHeader.json (versions 0 and 1) of Kafka 3.9. Those of flexible
versions end with tagged fields: we write none, and skip those of others.
"""

from __future__ import annotations

import struct

from pytest_kcontroller.wire.errors import MalformedMessageError
from pytest_kcontroller.wire.primitives import NO_TAGS, skip_tagged_fields

_REQUEST = struct.Struct(">ihhih")
_RESPONSE = struct.Struct(">ii")
_LENGTH = struct.Struct(">h")
_CLIENT_ID_AT = 8
_CORRELATION_ID_END = 4


def framed_request(
    key: int, version: int, correlation_id: int, client_id: bytes, body: bytes, *, tagged: bool = True
) -> bytes:
    end = NO_TAGS if tagged else b""
    size = _REQUEST.size - 4 + len(client_id) + len(end) + len(body)
    return b"".join((_REQUEST.pack(size, key, version, correlation_id, len(client_id)), client_id, end, body))


def framed_response(correlation_id: int, body: bytes, *, tagged: bool = True) -> bytes:
    """Not `tagged`: the header has no tagged fields (an ApiVersions response, in every version: KIP-511)."""
    end = NO_TAGS if tagged else b""
    return b"".join((_RESPONSE.pack(_RESPONSE.size - 4 + len(end) + len(body), correlation_id), end, body))


def request_body(payload: bytes, *, tagged: bool = True, client_id: bool = True) -> int:
    """Where the body begins. Raises MalformedMessageError if there is no whole header.

    Not `client_id`: the header has none (ControlledShutdown in version 0, Kafka 0.8).
    """
    if not client_id:
        return _CLIENT_ID_AT
    try:
        (length,) = _LENGTH.unpack_from(payload, _CLIENT_ID_AT)
    except struct.error as bad:
        raise MalformedMessageError(f"half a header: {bad}") from None
    if not -1 <= length <= len(payload):
        raise MalformedMessageError(f"a client id of {length} bytes")
    at = _CLIENT_ID_AT + _LENGTH.size + max(0, length)
    return _after_tags(payload, at) if tagged else at


def response_body(payload: bytes, *, tagged: bool = True) -> int:
    """As request_body."""
    return _after_tags(payload, _CORRELATION_ID_END) if tagged else _CORRELATION_ID_END


def _after_tags(payload: bytes, at: int) -> int:
    try:
        return at + 1 if payload[at] == 0 else skip_tagged_fields(payload, at)
    except IndexError:
        raise MalformedMessageError("half a header: its tagged fields are missing") from None
