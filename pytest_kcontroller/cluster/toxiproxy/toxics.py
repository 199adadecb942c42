"""Toxics: what happens to the bytes of one direction of a connection.

A toxic is a stage of a pipe: `await run(source, sink)` until `source` ends (b""), then ends `sink`. Stages are restarted
when a toxic is added, changed or removed, so none may keep bytes that it has taken: what it cannot pass on in time, it
passes on when it is cancelled (`latency`), as the real server does.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar


class Pipe:
    """Chunks between two stages. b"" is the end of the stream. Bounded, so that a slow reader slows its writer."""

    LIMIT = 4

    def __init__(self) -> None:
        self._chunks: deque[bytes] = deque()
        self._changed = asyncio.Event()

    async def put(self, chunk: bytes) -> None:
        """Waits while it is full. A cancelled caller's chunk is in it all the same: nobody else has it."""
        try:
            while len(self._chunks) >= self.LIMIT:
                self._changed.clear()
                await self._changed.wait()
        finally:
            self.push(chunk)

    async def get(self) -> bytes:
        while not self._chunks:
            self._changed.clear()
            await self._changed.wait()
        chunk = self._chunks.popleft()
        self._changed.set()
        return chunk

    def put_back(self, chunk: bytes) -> None:
        self._chunks.appendleft(chunk)
        self._changed.set()

    def push(self, chunk: bytes) -> None:
        """Past the limit: for what a cancelled stage has in its hands."""
        self._chunks.append(chunk)
        self._changed.set()

    async def drained(self) -> None:
        """Until the next stage has taken everything."""
        while self._chunks:
            self._changed.clear()
            await self._changed.wait()

    @property
    def empty(self) -> bool:
        return not self._chunks


class CloseConnection(Exception):
    """The toxic wants the whole connection closed; `reset`: with RST instead of FIN."""

    def __init__(self, *, reset: bool = False) -> None:
        self.reset = reset
        super().__init__()


@dataclass(slots=True)
class Toxic:
    """The base class is the stage without a toxic. Fields of subclasses are the attributes of the HTTP API (integers)."""

    kind: ClassVar[str] = "noop"
    closes_when_removed: ClassVar[bool] = False

    async def run(self, source: Pipe, sink: Pipe, state: dict[str, int], rng: random.Random) -> None:
        while chunk := await source.get():
            await sink.put(chunk)
        await sink.put(b"")

    def attributes(self) -> dict[str, int]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(slots=True)
class Latency(Toxic):
    """Each chunk is passed on `latency` +- `jitter` ms after it was read, in order."""

    kind = "latency"
    LIMIT: ClassVar[int] = 1024
    """So many chunks wait at once, as in the real server: a delay does not lower the throughput."""

    latency: int = 0
    jitter: int = 0

    async def run(self, source: Pipe, sink: Pipe, state: dict[str, int], rng: random.Random) -> None:
        loop = asyncio.get_running_loop()
        waiting: deque[tuple[float, bytes]] = deque()
        arrived, left = asyncio.Event(), asyncio.Event()

        async def take() -> None:
            while True:
                while len(waiting) >= self.LIMIT:
                    left.clear()
                    await left.wait()
                chunk = await source.get()
                spread = rng.uniform(-self.jitter, self.jitter) if self.jitter else 0.0
                waiting.append((loop.time() + (self.latency + spread) / 1000, chunk))
                arrived.set()
                if not chunk:
                    return

        taker = loop.create_task(take())
        try:
            while True:
                while not waiting:
                    arrived.clear()
                    await arrived.wait()
                await asyncio.sleep(max(0.0, waiting[0][0] - loop.time()))
                chunk = waiting.popleft()[1]
                left.set()
                await sink.put(chunk)
                if not chunk:
                    return
        finally:
            taker.cancel()
            for _, chunk in waiting:
                sink.push(chunk)


@dataclass(slots=True)
class Timeout(Toxic):
    """Drops everything; after `timeout` ms of silence the connection is closed (0: never)."""

    kind = "timeout"
    closes_when_removed = True
    timeout: int = 0

    async def run(self, source: Pipe, sink: Pipe, state: dict[str, int], rng: random.Random) -> None:
        while True:
            try:
                async with asyncio.timeout(self.timeout / 1000 if self.timeout > 0 else None):
                    if not await source.get():
                        raise CloseConnection
            except TimeoutError:
                raise CloseConnection from None


@dataclass(slots=True)
class ResetPeer(Toxic):
    """After the first data in this direction and `timeout` ms more, the connection is reset."""

    kind = "reset_peer"
    timeout: int = 0

    async def run(self, source: Pipe, sink: Pipe, state: dict[str, int], rng: random.Random) -> None:
        await source.get()
        await asyncio.sleep(self.timeout / 1000)
        raise CloseConnection(reset=True)


@dataclass(slots=True)
class Bandwidth(Toxic):
    """`rate` KB/s; 0 passes nothing, as the real server does."""

    kind = "bandwidth"
    rate: int = 0

    async def run(self, source: Pipe, sink: Pipe, state: dict[str, int], rng: random.Random) -> None:
        while chunk := await source.get():
            step = max(1, self.rate * 100)
            while chunk:
                part = chunk[:step]
                try:
                    if self.rate <= 0:
                        await asyncio.Event().wait()
                    await asyncio.sleep(len(part) / (self.rate * 1000))
                except asyncio.CancelledError:
                    source.put_back(chunk)
                    raise
                chunk = chunk[step:]
                await _put(sink, part, source, chunk)
        await sink.put(b"")


@dataclass(slots=True)
class SlowClose(Toxic):
    """The end of the stream is passed on after `delay` ms."""

    kind = "slow_close"
    delay: int = 0

    async def run(self, source: Pipe, sink: Pipe, state: dict[str, int], rng: random.Random) -> None:
        while chunk := await source.get():
            await sink.put(chunk)
        try:
            await asyncio.sleep(self.delay / 1000)
        except asyncio.CancelledError:
            source.put_back(b"")
            raise
        await sink.put(b"")


@dataclass(slots=True)
class LimitData(Toxic):
    """Passes `bytes`, then closes; counted per connection, over changes of the toxics."""

    kind = "limit_data"
    bytes: int = 0

    async def run(self, source: Pipe, sink: Pipe, state: dict[str, int], rng: random.Random) -> None:
        while chunk := await source.get():
            left = self.bytes - state.get("passed", 0)
            if part := chunk[: max(0, left)]:
                await sink.put(part)
                state["passed"] = state.get("passed", 0) + len(part)
            if len(chunk) >= left:
                await sink.drained()
                raise CloseConnection
        await sink.put(b"")


@dataclass(slots=True)
class Slicer(Toxic):
    """Chunks are passed on in parts of `average_size` +- `size_variation` bytes, `delay` microseconds after each."""

    kind = "slicer"
    average_size: int = 0
    size_variation: int = 0
    delay: int = 0

    def __post_init__(self) -> None:
        # The real server takes them and ends with a stack overflow at the first byte.
        if self.average_size < 1 or not 0 <= self.size_variation < self.average_size:
            raise ValueError("slicer needs average_size >= 1 and 0 <= size_variation < average_size")

    async def run(self, source: Pipe, sink: Pipe, state: dict[str, int], rng: random.Random) -> None:
        while chunk := await source.get():
            while chunk:
                size = self.average_size + rng.randint(-self.size_variation, self.size_variation)
                part, chunk = chunk[:size], chunk[size:]
                await _put(sink, part, source, chunk)
                if self.delay > 0:
                    try:
                        await asyncio.sleep(self.delay / 1e6)
                    except asyncio.CancelledError:
                        _give_back(source, chunk)
                        raise
        await sink.put(b"")


async def _put(sink: Pipe, part: bytes, source: Pipe, rest: bytes) -> None:
    """Passes `part` on; if the stage is cancelled meanwhile, `rest` waits in `source` for the next one."""
    try:
        await sink.put(part)
    except asyncio.CancelledError:
        _give_back(source, rest)
        raise


def _give_back(source: Pipe, rest: bytes) -> None:
    if rest:
        source.put_back(rest)


KINDS: Mapping[str, type[Toxic]] = {
    kind.kind: kind for kind in (Toxic, Latency, Timeout, ResetPeer, Bandwidth, SlowClose, LimitData, Slicer)
}


def make(kind: str, attributes: Mapping[str, Any] | None) -> Toxic | None:
    """None: there is no such kind. Missing attributes are 0, unknown ones are ignored. Raises ValueError for bad ones."""
    if (found := KINDS.get(kind)) is None:
        return None
    given = {}
    for field in fields(found):
        value = (attributes or {}).get(field.name, 0)
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"json: cannot unmarshal {value!r} into {kind}.{field.name} of type int")
        given[field.name] = value
    return found(**given)
