"""The real runtime: asyncio's loop, kazoo, sockets and files."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.model.history import HistoryEvent, Record, encoded, line_of
from pytest_kcontroller.runtime.holds import Holds
from pytest_kcontroller.runtime.ports import ConnectionClosedError, Listening, Stream
from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.zookeeper.session import ZkConnector

LOOKS, NEAR_NS, TOO_FAR_NS = 10, 20_000, 1_000_000
"""So often both clocks are read, until the readings lie so near to each other; so far apart they say nothing."""


@dataclass(frozen=True, slots=True)
class RunStart:
    """The instant that a run's times count from, by both clocks; handed to every process of the run."""

    wall_ns: int
    monotonic_ns: int

    @classmethod
    def now(cls) -> RunStart:
        _, wall_ns, monotonic_ns = _side_by_side()
        return cls(wall_ns, monotonic_ns)

    def encode(self) -> str:
        return f"{self.wall_ns}:{self.monotonic_ns}"

    @classmethod
    def decode(cls, text: str) -> RunStart:
        wall, _, monotonic = text.partition(":")
        return cls(int(wall), int(monotonic))


def _side_by_side() -> tuple[int, int, int]:
    """How far apart the readings are, then the wall clock and the monotonic one at one instant, all in ns: the closest of
    several looks, since a thread may lose its turn between two readings."""
    looks: list[tuple[int, int, int]] = []
    while len(looks) < LOOKS and (not looks or min(looks)[0] > NEAR_NS):
        before = time.monotonic_ns()
        wall = time.time_ns()
        after = time.monotonic_ns()
        looks.append((after - before, wall, (before + after) // 2))
    return min(looks)


class RealClock:
    def __init__(self, start: RunStart) -> None:
        self._start, self._ahead_ms = start, 0

    def now_us(self) -> int:
        return (time.monotonic_ns() - self._start.monotonic_ns) // 1000

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000 + self._ahead_ms

    def jump(self, by_ms: int) -> None:
        self._ahead_ms += by_ms

    def wall_ahead_us(self) -> int | None:
        """How far the wall clock has moved ahead of this one since the run began; None: they could not be read together.

        NTP slews both alike. What moves them against each other is a step: somebody sets the clock, or the machine was
        suspended, which only the wall clock counts.
        """
        apart_ns, wall_ns, monotonic_ns = _side_by_side()
        if apart_ns > TOO_FAR_NS:
            return None
        return ((wall_ns - self._start.wall_ns) - (monotonic_ns - self._start.monotonic_ns)) // 1000

    async def sleep_us(self, duration_us: int) -> None:
        await asyncio.sleep(duration_us / 1e6)


class Recorder:
    """One writer's part of a history: JSON lines, each written at once, so that a killed writer loses at most a line."""

    def __init__(self, path: Path, writer: str, clock: RealClock) -> None:
        self._file = path.open("ab", buffering=0)
        self._writer, self._clock, self._seq = writer, clock, 0

    def __call__(self, event: HistoryEvent, /) -> None:
        line = line_of(event, self._writer, self._seq, self._clock.now_us())
        rest = memoryview(encoded(line).encode())
        while rest:  # a file that is not buffered may take a part
            rest = rest[self._file.write(rest) :]
        self._seq += 1

    def close(self) -> None:
        self._file.close()


class SocketStream:
    """A TCP connection on asyncio's streams."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        peer = writer.get_extra_info("peername")
        self._peer = f"{peer[0]}:{peer[1]}" if peer else "?"

    @property
    def peer(self) -> str:
        return self._peer

    async def read_exactly(self, count: int) -> bytes:
        try:
            return await self._reader.readexactly(count)
        except (asyncio.IncompleteReadError, OSError) as ended:
            raise ConnectionClosedError(f"connection with {self._peer} ended: {ended}") from None

    def write(self, data: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(data)

    async def drain(self) -> None:
        try:
            await self._writer.drain()
        except OSError as ended:
            raise ConnectionClosedError(f"connection with {self._peer} ended: {ended}") from None

    def close(self) -> None:
        self._writer.close()


class SocketListening:
    def __init__(self, serve: Callable[[Stream], Awaitable[None]]) -> None:
        self._serve = serve
        self._server: asyncio.Server | None = None
        self._open: list[SocketStream] = []

    async def start(self, address: Address) -> None:
        self._server = await asyncio.start_server(self._accept, address.host, address.port)

    @property
    def address(self) -> Address:
        assert self._server is not None
        host, port = self._server.sockets[0].getsockname()[:2]
        return Address(host, port)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        stream = SocketStream(reader, writer)
        self._open.append(stream)
        try:
            await self._serve(stream)
        except ConnectionClosedError:
            return
        finally:
            self._open.remove(stream)
            stream.close()

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for stream in list(self._open):
            stream.close()


class SocketTransport:
    async def connect(self, address: Address) -> Stream:
        try:
            return SocketStream(*await asyncio.open_connection(address.host, address.port))
        except OSError as refused:
            raise ConnectionClosedError(f"no connection to {address}: {refused}") from None

    async def listen(self, address: Address, serve: Callable[[Stream], Awaitable[None]]) -> Listening:
        listening = SocketListening(serve)
        await listening.start(address)
        return listening


class DirectoryDisk:
    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, name: str) -> bytes | None:
        try:
            return (self._root / name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        path = self._root / name
        part = path.with_name(path.name + ".part")
        try:
            file = part.open("wb")
        except FileNotFoundError:  # it is the first one there
            path.parent.mkdir(parents=True, exist_ok=True)
            file = part.open("wb")
        with file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)


@dataclass(slots=True)
class RealRuntime:
    """See ports.Runtime. `record` is a Recorder, or what takes its place."""

    clock: RealClock
    rng: NamedRng
    zookeeper: ZkConnector
    transport: SocketTransport
    disk: DirectoryDisk
    record: Record
    holds: Holds


__all__ = [
    "DirectoryDisk",
    "RealClock",
    "RealRuntime",
    "Recorder",
    "RunStart",
    "SocketTransport",
]
