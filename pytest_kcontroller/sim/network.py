"""The simulated network: streams of real bytes between simulated processes, in virtual time.

`SimNetwork` is the wires and everybody's kernel: connections are accepted and bytes arrive while a process is paused, and
wait for it. A killed process's kernel ends its connections: what was written still arrives, then the peer's stream ends.
Buffers have no end: `drain` never waits.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Awaitable, Callable
from typing import Any

from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.runtime.ports import ConnectionClosedError, Listening, Rng, Stream
from pytest_kcontroller.runtime.scheduler import Scheduler, SimLoop
from pytest_kcontroller.sim.link import Channel, Link

PROCESS = "network"
"""The name of the simulated process that runs the arrivals."""
FIRST_FREE_PORT = 32768
"""Port 0 asks for the next one from here on, as on Linux; none is given twice."""


class SimNetwork:
    """The network of one world. `link(source, target)` is where its faults are."""

    def __init__(self, scheduler: Scheduler, rng: Rng) -> None:
        self.on_send: Callable[[Link, int], None] | None = None
        """Called before the link's n-th request (from 1) leaves its source, which may be killed, paused or held by it."""
        self._loop, self._rng = scheduler.process(PROCESS), rng
        self._loop.set_exception_handler(_raise)
        self._links: dict[tuple[str, str], Link] = {}
        self._listening: dict[Address, SimListening] = {}
        self._owners: dict[Address, str] = {}
        self._next_port = FIRST_FREE_PORT

    def transport(self, loop: SimLoop, machine: str | None = None) -> SimTransport:
        """What the process of `loop` gets. It ends with that process; its links are those of `machine` (or its name)."""
        return SimTransport(self, loop, machine or loop.name)

    def link(self, source: str, target: str) -> Link:
        """By the names of the two processes; whoever connects is the source."""
        if (link := self._links.get((source, target))) is None:
            link = self._links[source, target] = Link(source, target, self._loop, self._rng)
        return link

    @property
    def links(self) -> tuple[Link, ...]:
        """Every link that was used or asked for, in that order."""
        return tuple(self._links.values())

    def link_to(self, source: str, address: Address) -> Link:
        """To whoever listens or listened last at `address`; to the address itself if nobody ever did."""
        return self.link(source, self._owners.get(address, str(address)))

    def bind(self, listening: SimListening, address: Address, owner: str) -> Address:
        """Raises OSError if the port is taken."""
        if address.port == 0:
            address = Address(address.host, self._free_port(address.host))
        if address in self._listening:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        self._listening[address], self._owners[address] = listening, owner
        return address

    def _free_port(self, host: str) -> int:
        while Address(host, self._next_port) in self._listening:
            self._next_port += 1
        self._next_port += 1
        return self._next_port - 1

    def unbind(self, address: Address) -> None:
        del self._listening[address]

    def listening(self, address: Address) -> SimListening | None:
        return self._listening.get(address)


class SimTransport:
    """The network as one process sees it. See ports.Transport."""

    def __init__(self, network: SimNetwork, loop: SimLoop, machine: str) -> None:
        self.network, self.loop, self.machine = network, loop, machine
        self.streams: dict[SimStream, None] = {}
        """Open ends, oldest first."""
        self.listenings: dict[SimListening, None] = {}
        loop.when_killed.append(self._killed)

    async def connect(self, address: Address) -> Stream:
        connection = _Connection(self, address, self.network.link_to(self.machine, address))
        try:
            await connection.opened
        except asyncio.CancelledError:
            connection.near.close()
            raise
        return connection.near

    async def listen(self, address: Address, serve: Callable[[Stream], Awaitable[None]]) -> Listening:
        return SimListening(self, address, serve)

    def _killed(self) -> None:
        for listening in list(self.listenings):
            listening.stop()
        for stream in list(self.streams):
            stream.close()


class SimListening:
    """See ports.Listening."""

    def __init__(self, transport: SimTransport, address: Address, serve: Callable[[Stream], Awaitable[None]]) -> None:
        self.transport = transport
        self._serve = serve
        self._accepted: dict[SimStream, None] = {}
        self._address = transport.network.bind(self, address, transport.machine)
        transport.listenings[self] = None

    @property
    def address(self) -> Address:
        return self._address

    def accept(self, stream: SimStream) -> None:
        """The kernel has accepted: the process serves it as soon as it runs."""
        self._accepted[stream] = None
        self.transport.loop.create_task(self._serve_one(stream), name=f"serving {stream.peer}")

    async def _serve_one(self, stream: SimStream) -> None:
        try:
            await self._serve(stream)
        except ConnectionClosedError:
            return
        except Exception as failure:  # noqa: BLE001 - told as asyncio's servers tell it
            context = {"message": f"serving {stream.peer} failed", "exception": failure}
            self.transport.loop.call_exception_handler(context)
        finally:
            self._accepted.pop(stream, None)
            stream.close()

    def stop(self) -> None:
        """Accepts nobody any more. Idempotent."""
        if self in self.transport.listenings:
            del self.transport.listenings[self]
            self.transport.network.unbind(self._address)

    async def close(self) -> None:
        self.stop()
        for stream in list(self._accepted):
            stream.close()


class _Connection:
    """The two ends of one connection and what is on its way between them. The far end exists from its acceptance on."""

    def __init__(self, transport: SimTransport, address: Address, link: Link) -> None:
        self.link, self._network, self._address = link, transport.network, address
        self.upstream = Channel(link.upstream, self._to_far, self.break_off)
        self.downstream = Channel(link.downstream, self._to_near, self.break_off)
        self.near = SimStream(self, transport, str(address), self.upstream)
        self.far: SimStream | None = None
        self.opened: asyncio.Future[None] = transport.loop.create_future()
        link.open[self] = None
        self.upstream.say(self._reach_target)

    def _reach_target(self) -> None:
        listening = self._network.listening(self._address)
        if listening is None or not self.link.enabled:
            self.downstream.say(self._refuse)
            return
        self.far = SimStream(self, listening.transport, self.link.source, self.downstream)
        self.downstream.say(self._open)
        listening.accept(self.far)

    def _open(self) -> None:
        if not self.opened.done():
            self.opened.set_result(None)

    def _refuse(self) -> None:
        self.break_off("connection refused")

    def _to_far(self, data: bytes) -> None:
        if self.far is not None:
            self.far.receive(data)

    def _to_near(self, data: bytes) -> None:
        self.near.receive(data)

    def hear_end(self, of: SimStream) -> None:
        """`of` was closed, and its peer learns of it."""
        peer = self.far if of is self.near else self.near
        if peer is not None:
            peer.end("the other end closed it")
        self.link.open.pop(self, None)

    def break_off(self, why: str) -> None:
        """For both ends at once; what is on its way is lost."""
        self.upstream.drop()
        self.downstream.drop()
        self.near.end(why)
        if self.far is not None:
            self.far.end(why)
        if not self.opened.done():
            self.opened.set_exception(ConnectionClosedError(f"no connection to {self._address}: {why}"))
        self.link.open.pop(self, None)


class SimStream:
    """One end of a connection. See ports.Stream."""

    def __init__(self, connection: _Connection, transport: SimTransport, peer: str, out: Channel) -> None:
        self._connection, self._transport, self._peer, self._out = connection, transport, peer, out
        self._is_source = out is connection.upstream
        self._way = connection.link.upstream if self._is_source else connection.link.downstream
        self._buffer = bytearray()
        self._ended: str | None = None
        self._arrived: asyncio.Future[None] | None = None
        """While somebody reads: done when there is as much as is wanted, or the end."""
        self._wanted = 0
        transport.streams[self] = None

    @property
    def peer(self) -> str:
        return self._peer

    async def read_exactly(self, count: int) -> bytes:
        while len(self._buffer) < count:
            if self._ended is not None:
                raise self._closed()
            if self._arrived is not None:
                raise RuntimeError(f"two tasks read from the connection with {self._peer}")
            self._arrived, self._wanted = self._transport.loop.create_future(), count
            try:
                await self._arrived
            finally:
                self._arrived = None
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    def write(self, data: bytes) -> None:
        if self._ended is not None:
            return
        if self._is_source:
            link, network = self._connection.link, self._transport.network
            link.requests += 1
            if network.on_send is not None:
                network.on_send(
                    link, link.requests
                )  # if it ends this stream, these bytes come behind the end: to nobody
        if self._way.resets:
            self._connection.break_off("connection reset")
            return
        self._out.say(bytes(data))

    async def drain(self) -> None:
        if self._ended is not None:
            raise self._closed()

    def close(self) -> None:
        if self._ended is None:
            self.end("it was closed here")
            self._buffer.clear()
            self._out.say_end(self._tell_peer)

    def receive(self, data: bytes) -> None:
        if self._ended is None:
            self._buffer += data
            if len(self._buffer) >= self._wanted:
                self._wake()

    def end(self, why: str) -> None:
        """What has arrived can still be read."""
        if self._ended is None:
            self._ended = why
            del self._transport.streams[self]
            self._wake()

    def _tell_peer(self) -> None:
        self._connection.hear_end(self)

    def _wake(self) -> None:
        if self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)

    def _closed(self) -> ConnectionClosedError:
        return ConnectionClosedError(f"connection with {self._peer} ended: {self._ended}")


def _raise(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """An arrival fails only by a fault of ours: it ends the run, where asyncio would log it and go on."""
    raise context["exception"]
