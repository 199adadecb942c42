"""Bodies of messages to bytes and back. The layouts are compiled from the schemas (wire/generate).

The UpdateMetadata requests of one batch differ in nothing but the broker epoch, which has a fixed place. So where many
brokers share a Python process (simulated time), such a body is read once for all of them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar, cast

from pytest_kcontroller.wire.errors import MalformedMessageError
from pytest_kcontroller.wire.message import Entry, Message, Write
from pytest_kcontroller.wire.messages import UpdateMetadataRequest

E = TypeVar("E", bound=Entry)
M = TypeVar("M", bound=Message)

_EPOCH = struct.Struct(">q")
_EPOCH_AT = 4 + 1 + 4
"""In an UpdateMetadata's body of the newest version: behind the controller's id, isKRaftController and the controller's
epoch."""
_NEWEST_UPDATE = max(UpdateMetadataRequest.LAYOUTS)
_EPOCH_END = _EPOCH_AT + _EPOCH.size
_SHARED = 32
_SHARED_BYTES = 64 * 1024
"""So many decoded requests are remembered, and none that is longer: it would be memory for nothing in a real broker."""

_NEWEST: dict[type[Entry], Callable[[Any, Write], None]] = {}
"""Its encoder. To find the newest version anew for each entry would cost a tenth of its bytes."""


def encode(message: Message, version: int) -> bytes:
    """The body. `version` is one that is spoken."""
    parts: list[bytes] = []
    type(message).LAYOUTS[version].encode(message, parts.append)
    return b"".join(parts)


def encode_once(entry: E) -> E:
    """Gives `entry` its bytes, which are spliced into all requests that hold it. It must not be changed any more.

    Requests are sent in the newest version; in any other the bytes are not used.
    """
    parts: list[bytes] = []
    (_NEWEST.get(type(entry)) or _newest(type(entry)))(entry, parts.append)
    entry.encoded = b"".join(parts)
    return entry


def _newest(kind: type[Entry]) -> Callable[[Any, Write], None]:
    encoder = _NEWEST[kind] = kind.LAYOUTS[max(kind.LAYOUTS)].encode
    return encoder


def decode(kind: type[M], data: bytes, version: int, at: int = 0) -> M:
    """The message whose body begins at `at`. Raises MalformedMessageError.

    What follows a body is not looked at, as in Kafka. Parts of what is returned may be shared: do not change it.
    """
    try:
        shared = kind is UpdateMetadataRequest and version == _NEWEST_UPDATE
        if shared and _EPOCH_END <= len(data) - at <= _SHARED_BYTES:
            return cast(M, _decode_update_metadata(data[at:]))
        return kind.LAYOUTS[version].decode(data, at)[0]  # type: ignore[no-any-return]
    except (IndexError, struct.error, ValueError) as bad:
        raise MalformedMessageError(f"no {kind.__name__} version {version}: {bad}") from bad


def _decode_update_metadata(body: bytes) -> UpdateMetadataRequest:
    shared = _decode_shared(body[:_EPOCH_AT] + bytes(_EPOCH.size) + body[_EPOCH_END:])
    return replace(shared, broker_epoch=_EPOCH.unpack_from(body, _EPOCH_AT)[0])


@lru_cache(maxsize=_SHARED)
def _decode_shared(body: bytes) -> UpdateMetadataRequest:
    request: UpdateMetadataRequest
    request, _ = UpdateMetadataRequest.LAYOUTS[_NEWEST_UPDATE].decode(body, 0)
    return request
