"""Bodies of messages to bytes and back, by kafka-python's codec; what goes to every broker only once.

The UpdateMetadata requests of one batch differ in nothing but the broker epoch, which has a fixed place. So their bytes are
made once per batch, and read once where many brokers share a Python process (simulated time). The bytes are the codec's.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any

from pytest_kcontroller.wire.messages import UpdateMetadataRequest

_EPOCH = struct.Struct(">q")
_EPOCH_AT = 4 + 1 + 4
"""In an UpdateMetadata's body: behind the controller's id, isKRaftController and the controller's epoch."""
_EPOCH_END = _EPOCH_AT + _EPOCH.size
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
        return bytes(message.encode(version=version))
    if common.body is None:
        common.body = bytes(message.encode(version=version))
    body: bytes = common.body
    return body[:_EPOCH_AT] + _EPOCH.pack(message.broker_epoch) + body[_EPOCH_END:]


def decode(kind: Any, body: memoryview, version: int) -> Any:
    """Raises anything for bytes that are no such message. Parts of what it returns may be shared: do not change it."""
    if kind is not UpdateMetadataRequest or not _EPOCH_END <= len(body) <= _SHARED_BYTES:
        return kind.decode(body, version=version)
    shared = _decoded(bytes(body[:_EPOCH_AT]) + bytes(_EPOCH.size) + bytes(body[_EPOCH_END:]), version)
    if shared.tags or shared.unknown_tags:
        return kind.decode(body, version=version)
    request = UpdateMetadataRequest(
        version=version,
        controller_id=shared.controller_id,
        is_kraft_controller=shared.is_kraft_controller,
        controller_epoch=shared.controller_epoch,
        broker_epoch=_EPOCH.unpack_from(body, _EPOCH_AT)[0],
        topic_states=shared.topic_states,
        live_brokers=shared.live_brokers,
    )
    request.common = shared.common
    return request


@lru_cache(maxsize=_SHARED)
def _decoded(body: bytes, version: int) -> Any:
    request = UpdateMetadataRequest.decode(body, version=version)
    request.common = Common()
    return request
