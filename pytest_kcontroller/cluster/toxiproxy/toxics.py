"""Toxics: what happens to the bytes of one direction of a connection. Behaviour and defaults are the real server's.

A toxic is settings alone, the attributes of the HTTP API; what belongs to one connection is in its Stub. `run` passes
chunks from `stub.source` to `stub.sink` until the stream ends, and is cancelled and started again when a toxic beside it is
added, changed or removed: what it has in its hands goes on (`push`) or back (`put_back`) then. A toxic that closes the
connection ends the stream: what it let pass before still arrives.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import ClassVar

from pytest_kcontroller.cluster.toxiproxy.pipes import Chunk, Pipe, Sink
from pytest_kcontroller.runtime.timeouts import within

LATE_S = 0.05
"""A rate is kept by the clock. By so much time the loop, or a reader, may be late and the rate is made up for afterwards."""


class ToxicError(Exception):
    """Attributes that cannot work."""


@dataclass(slots=True)
class Stub:
    """A toxic's place in one line. `passed`: bytes that a limit let through, kept over interruptions."""

    source: Pipe
    sink: Sink
    rng: random.Random
    passed: int = 0


@dataclass(slots=True)
class Toxic:
    """The base class is `noop`. Fields of subclasses are the attributes of the HTTP API."""

    kind: ClassVar[str] = "noop"
    go_name: ClassVar[str] = "NoopToxic"
    go_type: ClassVar[str] = "int64"
    buffer: ClassVar[int] = 16
    """So many chunks wait before it."""
    closes_when_removed: ClassVar[bool] = False

    def check(self) -> None:
        """Raises ToxicError."""

    async def run(self, stub: Stub) -> None:
        while (chunk := await stub.source.get()) is not None:
            await stub.sink.put(chunk)
        await stub.sink.put(None)

    def attributes(self) -> dict[str, int]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(slots=True)
class Latency(Toxic):
    """Each chunk is passed on `latency` +- `jitter` ms after it was read, in order."""

    kind = "latency"
    go_name = "LatencyToxic"
    buffer = 1024  # as in the real server: a delay does not lower the throughput
    latency: int = 0
    jitter: int = 0

    async def run(self, stub: Stub) -> None:
        loop = asyncio.get_running_loop()
        while (chunk := await stub.source.get()) is not None:
            due = chunk.at + self._delay_s(stub.rng)
            try:
                if (left := due - loop.time()) > 0:
                    await asyncio.sleep(left)
            except asyncio.CancelledError:
                stub.sink.push(chunk)
                raise
            await stub.sink.put(Chunk(chunk.data, due))  # the next latency counts from here
        await stub.sink.put(None)

    def _delay_s(self, rng: random.Random) -> float:
        spread = rng.randrange(-self.jitter, self.jitter) if self.jitter > 0 else 0
        return (self.latency + spread) / 1000


@dataclass(slots=True)
class Timeout(Toxic):
    """Drops everything; after `timeout` ms of silence the connection is closed (0: never)."""

    kind = "timeout"
    go_name = "TimeoutToxic"
    closes_when_removed = True
    timeout: int = 0

    async def run(self, stub: Stub) -> None:
        silence_s = self.timeout / 1000 if self.timeout > 0 else None
        try:
            while True:
                async with within(silence_s):
                    if await stub.source.get() is None:
                        break
        except TimeoutError:
            pass
        await stub.sink.put(None)


@dataclass(slots=True)
class ResetPeer(Toxic):
    """`timeout` ms after the first data in this direction the connection is closed; with RST, if it is younger than the
    toxic (proxy.py)."""

    kind = "reset_peer"
    go_name = "ResetToxic"
    timeout: int = 0

    async def run(self, stub: Stub) -> None:
        chunk = await stub.source.get()
        try:
            await asyncio.sleep(max(0, self.timeout) / 1000)
        except asyncio.CancelledError:
            stub.source.put_back(chunk)
            raise
        await stub.sink.put(None)


@dataclass(slots=True)
class Bandwidth(Toxic):
    """`rate` KB/s (1 KB: 1000 bytes). 0 passes nothing, not even the end of the stream behind a chunk."""

    kind = "bandwidth"
    go_name = "BandwidthToxic"
    rate: int = 0

    async def run(self, stub: Stub) -> None:
        loop = asyncio.get_running_loop()
        free = 0.0  # when the line has nothing more to carry
        while True:
            was_idle = stub.source.is_empty
            chunk = await stub.source.get()
            if chunk is None:
                break
            free = max(free, chunk.at if was_idle else loop.time() - LATE_S)
            free = await self._carry(stub, chunk, free)
        await stub.sink.put(None)

    async def _carry(self, stub: Stub, chunk: Chunk, free: float) -> float:
        """In steps of 100 ms. The time at which the line is free again."""
        loop = asyncio.get_running_loop()
        data, step = chunk.data, max(1, self.rate * 100)
        while data:
            try:
                if self.rate <= 0:
                    await asyncio.Event().wait()
                part = data[:step]
                free += len(part) / (self.rate * 1000)
                if (left := free - loop.time()) > 0:
                    await asyncio.sleep(left)
            except asyncio.CancelledError:
                stub.source.put_back(Chunk(data, chunk.at))
                raise
            data = data[step:]
            await _pass(stub, Chunk(part, chunk.at), Chunk(data, chunk.at))
        return free


@dataclass(slots=True)
class SlowClose(Toxic):
    """The end of the stream is passed on after `delay` ms."""

    kind = "slow_close"
    go_name = "SlowCloseToxic"
    delay: int = 0

    async def run(self, stub: Stub) -> None:
        while (chunk := await stub.source.get()) is not None:
            await stub.sink.put(chunk)
        try:
            await asyncio.sleep(max(0, self.delay) / 1000)
        except asyncio.CancelledError:
            stub.source.put_back(None)
            raise
        await stub.sink.put(None)


@dataclass(slots=True)
class LimitData(Toxic):
    """Passes `bytes`, then closes; counted for each connection, from when it has the toxic, over changes of it."""

    kind = "limit_data"
    go_name = "LimitDataToxic"
    bytes: int = 0

    async def run(self, stub: Stub) -> None:
        while (chunk := await stub.source.get()) is not None:
            if part := chunk.data[: max(0, self.bytes - stub.passed)]:
                stub.passed += len(part)
                await stub.sink.put(Chunk(part, chunk.at))
            if stub.passed >= self.bytes:
                break
        await stub.sink.put(None)


@dataclass(slots=True)
class Slicer(Toxic):
    """Chunks are halved, +- `size_variation` bytes, until no part is above `average_size` + `size_variation`; `delay`
    microseconds after each part."""

    kind = "slicer"
    go_name = "SlicerToxic"
    go_type = "int"
    average_size: int = 0
    size_variation: int = 0
    delay: int = 0

    def check(self) -> None:
        # The real server takes them, and ends with a stack overflow or a bad slice at the first byte.
        if self.average_size + self.size_variation < 1 or self.size_variation > self.average_size + 1:
            raise ToxicError("slicer needs average_size + size_variation >= 1 and size_variation <= average_size + 1")

    async def run(self, stub: Stub) -> None:
        while (chunk := await stub.source.get()) is not None:
            begin = 0
            for end in self._cuts(len(chunk.data), stub.rng):
                rest = Chunk(chunk.data[end:], chunk.at)
                await _pass(stub, Chunk(chunk.data[begin:end], chunk.at), rest)
                begin = end
                if self.delay > 0:
                    try:
                        await asyncio.sleep(self.delay / 1e6)
                    except asyncio.CancelledError:
                        _give_back(stub, rest)
                        raise
        await stub.sink.put(None)

    def _cuts(self, size: int, rng: random.Random) -> Iterator[int]:
        """Where the parts of a chunk end, in order; none is empty."""
        spread, begin, ends = self.size_variation, 0, [size]
        while ends:
            length = ends[-1] - begin
            if length - self.average_size > spread:
                middle = begin + length // 2
                ends.append(middle + rng.randrange(-spread, spread) if spread > 0 else middle)
            elif length > 0:
                begin = ends.pop()
                yield begin
            else:
                ends.pop()


async def _pass(stub: Stub, part: Chunk, rest: Chunk) -> None:
    """Puts `part`; if the stage is cancelled meanwhile, `rest` waits in the source for the next one."""
    try:
        await stub.sink.put(part)
    except asyncio.CancelledError:
        _give_back(stub, rest)
        raise


def _give_back(stub: Stub, rest: Chunk) -> None:
    if rest.data:
        stub.source.put_back(rest)


KINDS: Mapping[str, type[Toxic]] = {
    kind.kind: kind for kind in (Toxic, Latency, Timeout, ResetPeer, Bandwidth, SlowClose, LimitData, Slicer)
}
