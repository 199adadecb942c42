"""Connections of ours over a link that a fault is on: what passes, how fast, and how they end.

To a node they say ApiVersions requests, which change nothing, made longer by the client's name. To ZooKeeper they say a
four-letter word, or a connect request that it refuses because its sender has seen a later transaction than there is: no
session is made by it, and nothing is answered.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from kcontroller_chaos.faults._links import Pair
from kcontroller_chaos.injection import Injection
from pytest_kcontroller.cluster.capabilities import ZOOKEEPER_BYTES
from pytest_kcontroller.cluster.contract import ZOOKEEPER
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.model.toxics import Stream
from pytest_kcontroller.runtime.ports import ConnectionClosedError, Transport
from pytest_kcontroller.runtime.ports import Stream as Connection
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.wire.frames import read_frame
from pytest_kcontroller.wire.headers import framed_request
from pytest_kcontroller.wire.messages import ApiKey

FRAME = 4
"""Bytes of a frame's length."""
LONGEST_NAME = 8000
"""Of a client, in bytes; Kafka's protocol has room for 32,767."""
NONSENSE = b"\xff\xff\xff\xff"
"""No length of a frame: a node closes the connection."""
NOT_OF_THIS_SERVER = b"\x00" * 4 + b"\x7f" * 8
"""How a connect request begins: the protocol's version, and a transaction that no server has."""
SHORT_WORD, LONG_WORD, LONGEST_WORD = b"srvr", b"envi", b"mntr"
"""Four-letter words: ZooKeeper answers some hundred bytes, some thousand (fewer in a container, whose class path is short),
more than ten thousand, and closes the connection."""

Script = Callable[[Connection, "Seen"], Awaitable[None]]


@dataclass(slots=True)
class Seen:
    """What came of one connection: bytes, and microseconds since it was made."""

    said: int = 0
    heard: int = 0
    took_us: int | None = None
    """Until all that was asked had been answered; None: it was not, in the time of the look."""
    ended_us: int | None = None
    """When the connection ended; None: it did not."""


@dataclass(frozen=True, slots=True)
class Line:
    """A link, and the directions in which it is hit."""

    on: Injection
    pair: Pair
    streams: tuple[Stream, ...]

    @property
    def to_zookeeper(self) -> bool:
        return self.pair[1] == ZOOKEEPER

    async def trips(self, count: int, *, limit_us: int) -> list[int] | None:
        """How long each of so many questions and its answer took, one after the other."""
        took: list[int] = []
        if self.to_zookeeper:
            for _ in range(count):
                trip = await self.on.cluster.zookeeper_round_trip_us(self.on.node, limit_s=limit_us / 1e6)
                took += [] if trip is None else [trip]
            return took if len(took) == count else None

        async def script(link: Connection, seen: Seen) -> None:
            for _ in range(count):
                began_us = self.on.clock.now_us()
                link.write(_request(0))
                await read_frame(link)
                took.append(self.on.clock.now_us() - began_us)

        await self._talk(script, limit_us)
        return took if len(took) == count else None

    async def transfers(self, size: int, *, limit_us: int) -> list[tuple[int, int]] | None:
        """At least `size` bytes in each direction that is hit: how many, and in how long. None: not all of it came.

        What ZooKeeper says is as long as it is.
        """
        if not self.to_zookeeper:
            seen = await self._talk(partial(self._exchange, size=size), limit_us)
            if seen.took_us is None:
                return None
            return [(seen.said if stream == "upstream" else seen.heard, seen.took_us) for stream in self.streams]
        found: list[tuple[int, int]] = []
        for stream in self.streams:
            seen = await self.say(_refused(size) if stream == "upstream" else LONG_WORD, limit_us=limit_us)
            if seen.ended_us is None:
                return None
            found.append((seen.said if stream == "upstream" else seen.heard, seen.ended_us))
        return found

    async def _exchange(self, link: Connection, seen: Seen, size: int) -> None:
        """So many requests at once, and their answers; the first alone, for the length of its answer."""
        link.write(_request(0))
        answer = FRAME + len(await read_frame(link))
        count = -(-size // (answer if "downstream" in self.streams else LONGEST_NAME))
        request = _request(-(-size // count) if "upstream" in self.streams else 0)
        began_us = self.on.clock.now_us()
        for _ in range(count):
            link.write(request)
            seen.said += len(request)
        for _ in range(count):
            seen.heard += FRAME + len(await read_frame(link))
        seen.took_us = self.on.clock.now_us() - began_us

    async def until_it_ends(self, most: int, *, limit_us: int) -> Seen:
        """Asks node after node's answer until the connection ends, or more than `most` bytes have passed each way."""

        async def script(link: Connection, seen: Seen) -> None:
            request = _request(500)
            while min(seen.said, seen.heard) <= most:
                link.write(request)
                seen.heard += FRAME + len(await read_frame(link))
                seen.said += len(request)

        return await self._talk(script, limit_us)

    async def say(self, data: bytes, *, limit_us: int) -> Seen:
        """Says `data`, and hears what comes until the connection ends."""

        async def script(link: Connection, seen: Seen) -> None:
            link.write(data)
            seen.said = len(data)
            while True:
                await link.read_exactly(1)
                seen.heard += 1

        return await self._talk(script, limit_us)

    async def _talk(self, script: Script, limit_us: int) -> Seen:
        seen, clock, link = Seen(), self.on.clock, None
        began_us = clock.now_us()
        try:
            async with within(limit_us / 1e6):
                transport, address = self._route()
                link = await transport.connect(address)
                began_us = clock.now_us()
                await script(link, seen)
        except TimeoutError:
            pass
        except ConnectionClosedError:
            seen.ended_us = None if link is None else clock.now_us() - began_us
        finally:
            if link is not None:
                link.close()
        return seen

    def _route(self) -> tuple[Transport, Address]:
        if self.to_zookeeper:
            return self.on.cluster.capability(ZOOKEEPER_BYTES).zookeeper_route(self.on.node)
        return self.on.cluster.route(*self.pair)


def _request(name: int) -> bytes:
    """ApiVersions of a client whose name is so long; its version 0 is the same for every broker."""
    return framed_request(ApiKey.API_VERSIONS, 0, 0, b"k" * name, b"", tagged=False)


def _refused(size: int) -> bytes:
    """A connect request of so many bytes at least that makes no session."""
    said = NOT_OF_THIS_SERVER + b"\x00" * size
    return len(said).to_bytes(FRAME, "big") + said


def unfinished(size: int) -> bytes:
    """So many bytes at least of a frame that is longer: ZooKeeper waits for the rest."""
    return (2 * size + 8).to_bytes(FRAME, "big") + b"\x00" * size
