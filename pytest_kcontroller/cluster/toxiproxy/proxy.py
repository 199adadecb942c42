"""Proxies: a listener, its connections, and for each direction of each connection a chain of stages.

client ──> Pipe ──> toxic ──> Pipe ──> ... ──> Pipe ──> upstream       (and the same the other way)
"""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from dataclasses import dataclass, field
from typing import Literal

from pytest_kcontroller.cluster.toxiproxy.toxics import CloseConnection, Pipe, Toxic

Stream = Literal["upstream", "downstream"]
STREAMS: tuple[Stream, ...] = ("upstream", "downstream")
CHUNK = 32 * 1024
DIAL_S = 5.0


@dataclass(slots=True)
class Placed:
    """A toxic on a proxy. `toxicity` is the share of connections (and directions) that it has an effect on."""

    name: str
    stream: str
    toxicity: float
    toxic: Toxic

    @property
    def direction(self) -> Stream:
        return "upstream" if self.stream.lower() == "upstream" else "downstream"


class Proxy:
    """One proxy. Methods return when what they do is in effect on every open connection."""

    def __init__(self, name: str, listen: str, upstream: str, rng: random.Random) -> None:
        self.name, self.listen, self.upstream = name, listen, upstream
        self.toxics: list[Placed] = []
        self._rng = rng
        self._server: asyncio.Server | None = None
        self._connections: list[_Connection] = []
        self._changes = asyncio.Lock()  # two changes at once would each start the stages of a chain

    @property
    def enabled(self) -> bool:
        return self._server is not None

    async def start(self) -> None:
        """Listens. Raises OSError, and ValueError for an address that is none."""
        if self._server is not None:
            return
        host, colon, port = self.listen.rpartition(":")
        if not colon:
            raise ValueError(f"listen tcp: address {self.listen}: missing port in address")
        self._server = await asyncio.start_server(self._accept, host.strip("[]") or None, int(port or 0))
        if not port or int(port) == 0:
            bound = self._server.sockets[0].getsockname()
            self.listen = f"{host or '[::]'}:{bound[1]}"

    async def stop(self) -> None:
        """Stops listening and closes every connection with FIN."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for connection in list(self._connections):
            connection.close()

    async def add(self, placed: Placed) -> None:
        self.toxics.append(placed)
        async with self._changes:
            await self._rebuild(placed.direction)

    async def update(self, placed: Placed, toxic: Toxic, toxicity: float) -> None:
        placed.toxic, placed.toxicity = toxic, toxicity
        async with self._changes:
            await self._rebuild(placed.direction)

    async def remove(self, placed: Placed) -> None:
        self.toxics.remove(placed)
        if placed.toxic.closes_when_removed:
            for connection in list(self._connections):
                if connection.affected(placed):
                    connection.close()
        async with self._changes:
            await self._rebuild(placed.direction)

    def placed(self, stream: Stream) -> list[Placed]:
        return [placed for placed in self.toxics if placed.direction == stream]

    async def _rebuild(self, stream: Stream) -> None:
        for connection in list(self._connections):
            await connection.rebuild(stream)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, _, port = self.upstream.rpartition(":")
        try:
            async with asyncio.timeout(DIAL_S):
                up_reader, up_writer = await asyncio.open_connection(host.strip("[]"), int(port))
        except (OSError, ValueError, TimeoutError):
            writer.close()
            return
        if self._server is None:
            writer.close()
            up_writer.close()
            return
        connection = _Connection(self, (reader, writer), (up_reader, up_writer), self._rng)
        self._connections.append(connection)
        try:
            await connection.run()
        finally:
            self._connections.remove(connection)


@dataclass(slots=True)
class _Chain:
    """One direction: from a socket through the stages to the other socket."""

    pipes: list[Pipe] = field(default_factory=lambda: [Pipe(), Pipe()])
    stages: list[asyncio.Task[None]] = field(default_factory=list)


class _Connection:
    def __init__(
        self,
        proxy: Proxy,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        rng: random.Random,
    ) -> None:
        self._proxy, self._rng = proxy, rng
        self._ends = {"upstream": (client[0], upstream[1]), "downstream": (upstream[0], client[1])}
        self._writers = (client[1], upstream[1])
        self._chains: dict[Stream, _Chain] = {stream: _Chain() for stream in STREAMS}
        # Drawn once per connection and toxic: adding another toxic does not turn this one's coin again.
        self._drawn: dict[int, bool] = {}
        self._state: dict[int, dict[str, int]] = {}
        self._closed = asyncio.Event()
        # Only a connection that was accepted under a reset_peer toxic ends with RST.
        self._linger = any(placed.toxic.kind == "reset_peer" for placed in proxy.toxics)

    async def run(self) -> None:
        tasks = []
        for stream in STREAMS:
            self._start_stages(stream)
            reader, writer = self._ends[stream]
            tasks.append(asyncio.create_task(self._read(reader, self._chains[stream].pipes[0])))
            tasks.append(asyncio.create_task(self._write(self._chains[stream], writer)))
        try:
            await self._closed.wait()
        finally:
            for task in tasks + [stage for chain in self._chains.values() for stage in chain.stages]:
                task.cancel()
            for writer in self._writers:
                writer.close()

    def close(self, *, reset: bool = False) -> None:
        if reset and self._linger:
            for writer in self._writers:
                raw = writer.get_extra_info("socket")
                if raw is not None:
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._closed.set()

    def affected(self, placed: Placed) -> bool:
        if id(placed) not in self._drawn:
            self._drawn[id(placed)] = self._rng.random() < placed.toxicity
        return self._drawn[id(placed)]

    async def rebuild(self, stream: Stream) -> None:
        """Ends the stages of a direction, and starts those that it should have; no byte is lost between."""
        chain = self._chains[stream]
        for stage in chain.stages:
            stage.cancel()
        for stage in chain.stages:
            try:
                await stage
            except (asyncio.CancelledError, CloseConnection):
                continue
        held: list[bytes] = []
        for pipe in reversed(chain.pipes[:-1]):
            while not pipe.empty:
                held.append(await pipe.get())
        for chunk in held:
            chain.pipes[0].push(chunk)
        chain.pipes[1:-1] = []
        self._start_stages(stream)

    def _start_stages(self, stream: Stream) -> None:
        chain = self._chains[stream]
        active = [placed for placed in self._proxy.placed(stream) if self.affected(placed)]
        stages = [(placed.toxic, self._state.setdefault(id(placed), {})) for placed in active] or [(Toxic(), {})]
        chain.pipes[1:-1] = [Pipe() for _ in stages[1:]]
        chain.stages = [
            asyncio.create_task(self._stage(toxic, chain.pipes[at], chain.pipes[at + 1], state))
            for at, (toxic, state) in enumerate(stages)
        ]

    async def _stage(self, toxic: Toxic, source: Pipe, sink: Pipe, state: dict[str, int]) -> None:
        try:
            await toxic.run(source, sink, state, self._rng)
        except CloseConnection as order:
            self.close(reset=order.reset)

    async def _read(self, reader: asyncio.StreamReader, pipe: Pipe) -> None:
        try:
            while chunk := await reader.read(CHUNK):
                await pipe.put(chunk)
        except OSError:
            pass
        await pipe.put(b"")

    async def _write(self, chain: _Chain, writer: asyncio.StreamWriter) -> None:
        try:
            while chunk := await chain.pipes[-1].get():
                writer.write(chunk)
                await writer.drain()
        except OSError:
            pass
        self.close()
