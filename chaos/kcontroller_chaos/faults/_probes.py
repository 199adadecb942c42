"""Connections of ours over a link that a fault is on: what passes, how fast, and how they end.

To a node they say ApiVersions requests, which change nothing, made longer by the client's name. To ZooKeeper they say a
four-letter word, or a connect request that it refuses because its sender has seen a later transaction than there is: no
session is made by it, and nothing is answered.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

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
SHORT_WORD, LONGEST_WORD = b"srvr", b"mntr"
"""Four-letter words: ZooKeeper answers some hundred bytes, or more than LEAST_HEARD, and closes the connection."""
LEAST_HEARD = 10_000
MOST_SAID = 900_000
"""In one piece ZooKeeper takes a little more (jute.maxbuffer)."""
PATIENCE_MS = 9_000
"""ZooKeeper closes a connection without a session after 10 to 20 s of silence: what one is to show it shows before."""
AT_ONCE = 50
"""So many requests are made before their answers are read: each by itself would take its way to the node and back."""

Script = Callable[[Connection, "Seen"], Awaitable[None]]


@dataclass(slots=True)
class Seen:
    """What came of one connection: bytes, and microseconds since it was made."""

    said: int = 0
    heard: int = 0
    took_us: int | None = None
    """Until all had passed that was to; None: it had not, in the time of the look."""
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
        """How many bytes passed in each direction that is hit, and in how long: `size` or a few more that we said, and so
        many that we heard, of ZooKeeper's answer no more than it has. None: they did not, in the time of a look."""
        found: list[tuple[int, int]] = []
        for stream in self.streams:
            seen = await (self._saying if stream == "upstream" else self._hearing)(size, limit_us)
            took_us = seen.took_us if seen.ended_us is None else seen.ended_us
            if took_us is None:
                return None
            found.append((seen.said if stream == "upstream" else seen.heard, took_us))
        return found

    async def _saying(self, size: int, limit_us: int) -> Seen:
        """That all of it is there shows the end of the connection, or the first byte of the last answer."""
        if self.to_zookeeper:
            return await self.say(_refused(min(size, MOST_SAID)), limit_us=limit_us)

        async def script(link: Connection, seen: Seen) -> None:
            began_us, count = self.on.clock.now_us(), -(-size // LONGEST_NAME)
            requests = _request(-(-size // count)) * count
            link.write(requests)
            for _ in range(count - 1):
                await read_frame(link)
            await link.read_exactly(1)
            seen.said, seen.took_us = len(requests), self.on.clock.now_us() - began_us

        return await self._talk(script, limit_us)

    async def _hearing(self, size: int, limit_us: int) -> Seen:
        """The beginning of a long answer, or of as many as it takes: by the length of the first one."""
        if self.to_zookeeper:
            return await self.say(LONGEST_WORD, limit_us=limit_us, enough=size)

        async def script(link: Connection, seen: Seen) -> None:
            began_us = self.on.clock.now_us()
            link.write(_request(0))
            answer = FRAME + int.from_bytes(await link.read_exactly(FRAME), "big")
            link.write(_request(0) * (-(-size // answer) - 1))
            await link.read_exactly(max(0, size - FRAME))
            seen.heard, seen.took_us = max(size, FRAME), self.on.clock.now_us() - began_us

        return await self._talk(script, limit_us)

    async def until_it_ends(self, most: int, *, limit_us: int) -> Seen:
        """Asks node after node's answer until the connection ends, or more than `most` bytes have passed each way."""

        async def script(link: Connection, seen: Seen) -> None:
            request = _request(500)
            while min(seen.said, seen.heard) <= most:
                link.write(request * AT_ONCE)
                for _ in range(AT_ONCE):
                    seen.heard += FRAME + len(await read_frame(link))
                    seen.said += len(request)

        return await self._talk(script, limit_us)

    async def say(self, data: bytes, *, limit_us: int, enough: int | None = None) -> Seen:
        """Says `data`, and hears what comes until the connection ends, or it is `enough`."""

        async def script(link: Connection, seen: Seen) -> None:
            began_us = self.on.clock.now_us()
            link.write(data)
            seen.said = len(data)
            while seen.heard != enough:
                await link.read_exactly(1)
                seen.heard += 1
            seen.took_us = self.on.clock.now_us() - began_us

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
