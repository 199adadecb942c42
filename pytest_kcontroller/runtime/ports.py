"""What a runtime gives to `async def main(runtime)`. Times are integers in microseconds unless the name says otherwise."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import Protocol

from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.model.history import Record
from pytest_kcontroller.runtime.holds import Holds
from pytest_kcontroller.zookeeper.session import ZkConnector


class Clock(Protocol):
    """Time of a run. `asyncio.timeout` and `loop.call_later` agree with it."""

    def now_us(self) -> int:
        """Microseconds since the run began; never goes back; the same clock in all processes of a run."""
        ...

    def wall_ms(self) -> int:
        """Milliseconds since 1970, for what is written into znodes."""
        ...

    def jump(self, by_ms: int) -> None:
        """The wall clock, as this process sees it, is so much later from now on, or earlier; all else goes on as it did."""
        ...

    async def sleep_us(self, duration_us: int) -> None: ...


class Rng(Protocol):
    """Child streams by stable names (`net/1-2/control`): adding one does not shift the others."""

    def stream(self, name: str) -> random.Random:
        """Always the same sequence for one seed and name; each call starts it anew."""
        ...


class ConnectionClosedError(Exception):
    """The peer, the network or we closed this stream."""


class Stream(Protocol):
    """One TCP connection."""

    @property
    def peer(self) -> str:
        """The other end, for messages."""
        ...

    async def read_exactly(self, count: int) -> bytes:
        """Raises ConnectionClosedError if the stream ends before `count` bytes."""
        ...

    def write(self, data: bytes) -> None:
        """Queues; never blocks. After the end it does nothing: the reader learns of it."""
        ...

    async def drain(self) -> None:
        """Waits until what was written has left. Raises ConnectionClosedError."""
        ...

    def close(self) -> None: ...


class Listening(Protocol):
    """A server socket."""

    @property
    def address(self) -> Address:
        """The real address, also when port 0 was asked for."""
        ...

    async def close(self) -> None:
        """Stops accepting and closes the accepted streams."""
        ...


class Transport(Protocol):
    async def connect(self, address: Address) -> Stream:
        """Raises ConnectionClosedError if nobody listens there."""
        ...

    async def listen(self, address: Address, serve: Callable[[Stream], Awaitable[None]]) -> Listening:
        """`serve` runs once per accepted stream, which is closed when it returns. Raises OSError if the port is taken."""
        ...


class Disk(Protocol):
    """A node's own directory; names are relative, with `/`. What fails raises OSError."""

    def read(self, name: str) -> bytes | None:
        """None if there is no such file."""
        ...

    def write(self, name: str, data: bytes) -> None:
        """Replaces the whole file, atomically and durably."""
        ...


class Runtime(Protocol):
    """Everything that a node may touch. Tasks are started with `nursery.Nursery`, which needs no runtime."""

    @property
    def clock(self) -> Clock: ...
    @property
    def rng(self) -> Rng: ...
    @property
    def zookeeper(self) -> ZkConnector: ...
    @property
    def transport(self) -> Transport: ...
    @property
    def disk(self) -> Disk: ...
    @property
    def holds(self) -> Holds: ...

    @property
    def record(self) -> Record:
        """Appends one event to this process's history."""
        ...
