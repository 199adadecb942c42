"""Frames: a message on a stream is its length in 4 bytes, big endian, and its bytes."""

from __future__ import annotations

import struct

from pytest_kcontroller.runtime.ports import ConnectionClosedError, Stream

MAX_FRAME = 100 * 1024 * 1024
"""Kafka's socket.request.max.bytes."""


async def read_frame(stream: Stream) -> bytes:
    """Raises ConnectionClosedError at the end of the stream, and for a length that cannot be one (it is closed then)."""
    (length,) = struct.unpack(">i", await stream.read_exactly(4))
    if not 0 <= length <= MAX_FRAME:
        stream.close()
        raise ConnectionClosedError(
            f"{stream.peer} announces a frame of {length} bytes: it does not speak this protocol"
        )
    return await stream.read_exactly(length)
