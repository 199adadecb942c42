"""Bodies of messages to bytes and back, by kafka-python's codec; what goes to every broker only once.

The UpdateMetadata requests of one batch differ in nothing but the broker epoch, which has a fixed place. So their bytes are
made once per batch, and read once where many brokers share a Python process (simulated time). The bytes are the codec's.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from pytest_kcontroller.wire.messages import ApiVersionsResponse, EncodeBuffer, UpdateMetadataRequest

_EPOCH = struct.Struct(">q")
_EPOCH_AT = 4 + 1 + 4
"""In an UpdateMetadata's body: behind the controller's id, isKRaftController and the controller's epoch."""
_EPOCH_END = _EPOCH_AT + _EPOCH.size
_FIRST_BYTES = 1024
_FIELDS = ("_version", "tags", "unknown_tags", *UpdateMetadataRequest.fields, "common")
_SHARED = 32
_SHARED_BYTES = 64 * 1024
"""So many decoded requests are remembered, and none that is longer: it would be memory for nothing in a real broker."""


class Common:
    """What UpdateMetadata requests have in common that differ in their broker epoch only: those of one batch.

    A request that has it in `common` is not changed any more, but for its broker epoch.
    """

    __slots__ = ("body", "told")

    def __init__(self) -> None:
        self.body: bytes | None = None
        """All the bytes, once the first of them was encoded."""
        self.told: Any = None
        """What the first receiver has read out of it, for the others: values that nobody changes."""


def encode(message: Any, version: int) -> bytes:
    """The body."""
    common = getattr(message, "common", None) if type(message) is UpdateMetadataRequest else None
    if common is None:
        return _encoded(message, version)
    if common.body is None:
        common.body = _encoded(message, version)
    body: bytes = common.body
    return body[:_EPOCH_AT] + _EPOCH.pack(message.broker_epoch) + body[_EPOCH_END:]


def decode(kind: Any, body: memoryview, version: int) -> Any:
    """Raises anything for bytes that are no such message. Parts of what it returns may be shared: do not change it."""
    if kind is ApiVersionsResponse:  # an error is always in version 0
        return kind.decode(body, version=version)
    if kind is not UpdateMetadataRequest or not _EPOCH_END <= len(body) <= _SHARED_BYTES:
        return _decoder(kind, version)(body, 0)[0]
    shared = _decoded(bytes(body[:_EPOCH_AT]) + bytes(_EPOCH.size) + bytes(body[_EPOCH_END:]), version)
    request: Any = object.__new__(UpdateMetadataRequest)
    for name in _FIELDS:
        setattr(request, name, getattr(shared, name))
    request.broker_epoch = _EPOCH.unpack_from(body, _EPOCH_AT)[0]
    return request


@lru_cache(maxsize=_SHARED)
def _decoded(body: bytes, version: int) -> Any:
    request = _decoder(UpdateMetadataRequest, version)(body, 0)[0]
    request.common = Common()
    return request


def _encoded(message: Any, version: int) -> bytes:
    buffer = EncodeBuffer(_FIRST_BYTES)
    kind: Any = type(message)
    _encoder(kind, version)(message, buffer)
    return bytes(buffer.result())


# The codec compiles one function for each message and version. To ask it for them costs as much as a small body.


@cache
def _encoder(kind: Any, version: int) -> Callable[[Any, EncodeBuffer], None]:
    flexible = kind.flexible_version_q(version)
    compiled: Callable[[Any, EncodeBuffer], None]
    compiled = kind._struct.compiled_encode_into(version, compact=flexible, tagged=flexible)
    return compiled


@cache
def _decoder(kind: Any, version: int) -> Callable[[bytes | memoryview, int], tuple[Any, int]]:
    flexible = kind.flexible_version_q(version)
    compiled: Callable[[bytes | memoryview, int], tuple[Any, int]]
    compiled = kind._struct.compiled_decode_from(version, compact=flexible, tagged=flexible, data_class=kind)
    return compiled
