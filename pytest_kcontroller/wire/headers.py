"""Headers as bytes. The codec can do them too, but takes as long for a header as for a small body.

Source: RequestHeader.json (version 2) and ResponseHeader.json (version 1) of Kafka 3.9, those of flexible versions: all that
we speak are, but old ones of ApiVersions, which the codec does. Tagged fields end a header: we write none, and skip those of
others.
"""

from __future__ import annotations

import struct

_REQUEST = struct.Struct(">ihhih")
_RESPONSE = struct.Struct(">ii")
_LENGTH = struct.Struct(">h")
_NO_TAGS = b"\0"
_CLIENT_ID_AT = 8
_CORRELATION_ID_END = 4


def framed_request(key: int, version: int, correlation_id: int, client_id: bytes, body: bytes) -> bytes:
    size = _REQUEST.size - 4 + len(client_id) + len(_NO_TAGS) + len(body)
    return b"".join((_REQUEST.pack(size, key, version, correlation_id, len(client_id)), client_id, _NO_TAGS, body))


def framed_response(correlation_id: int, body: bytes) -> bytes:
    size = _RESPONSE.size - 4 + len(_NO_TAGS) + len(body)
    return b"".join((_RESPONSE.pack(size, correlation_id), _NO_TAGS, body))


def request_body(payload: bytes) -> memoryview:
    """What follows the header. Raises ValueError, IndexError or struct.error if there is no whole one."""
    (length,) = _LENGTH.unpack_from(payload, _CLIENT_ID_AT)
    if length < -1:
        raise ValueError(f"a client id of {length} bytes")
    return _after_tags(payload, _CLIENT_ID_AT + _LENGTH.size + max(0, length))


def response_body(payload: bytes, *, tagged: bool) -> memoryview:
    """As request_body. Not `tagged`: the header has no tagged fields (an ApiVersions response, in every version)."""
    return _after_tags(payload, _CORRELATION_ID_END) if tagged else memoryview(payload)[_CORRELATION_ID_END:]


def _after_tags(payload: bytes, at: int) -> memoryview:
    count, at = _varint(payload, at)
    for _ in range(count):
        _, at = _varint(payload, at)
        size, at = _varint(payload, at)
        at += size
    return memoryview(payload)[at:]


def _varint(payload: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while (byte := payload[at]) & 0x80:
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return value | byte << shift, at + 1
