"""What chunks flow through: pipes between the stages of a line, and the outlet to the socket at its end.

None is the end of the stream. A stage that is interrupted may not lose what it has in its hands, so both take a chunk past
their limit: from a caller that is cancelled while it waits for room (`put`), and by `push`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol


class Chunk(NamedTuple):
    """Bytes, and the loop's time at which they were read from the socket."""

    data: bytes
    at: float


class Sink(Protocol):
    """Where a stage puts what it passes on."""

    async def put(self, chunk: Chunk | None) -> None:
        """Waits for room. The chunk is in it in any case, also when the caller is cancelled."""

    def push(self, chunk: Chunk | None) -> None:
        """Does not wait for room."""


class Pipe:
    """Chunks before a stage, `limit` at most: a slow reader slows its writer. `on_room` is called when it has room again."""

    def __init__(self, limit: int, on_room: Callable[[], None] | None = None) -> None:
        self._chunks: deque[Chunk | None] = deque()
        self._limit, self._on_room = limit, on_room
        self._changed = asyncio.Event()

    @property
    def is_full(self) -> bool:
        return len(self._chunks) >= self._limit

    @property
    def is_empty(self) -> bool:
        return not self._chunks

    async def put(self, chunk: Chunk | None) -> None:
        try:
            while self.is_full:
                self._changed.clear()
                await self._changed.wait()
        finally:
            self.push(chunk)

    def push(self, chunk: Chunk | None) -> None:
        self._chunks.append(chunk)
        self._changed.set()

    def put_back(self, chunk: Chunk | None) -> None:
        """Of the one who took it: it is the next again."""
        self._chunks.appendleft(chunk)
        self._changed.set()

    async def get(self) -> Chunk | None:
        while not self._chunks:
            self._changed.clear()
            await self._changed.wait()
        was_full = self.is_full
        chunk = self._chunks.popleft()
        self._changed.set()
        if was_full and self._on_room is not None:
            self._on_room()
        return chunk

    def flush(self, sink: Sink) -> None:
        """Everything goes on at once."""
        while self._chunks:
            sink.push(self._chunks.popleft())
