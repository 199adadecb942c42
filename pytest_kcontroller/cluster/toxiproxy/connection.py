"""Connections: two sockets, and between them a line for each direction with a stage for each toxic.

client ──> Pipe ──> stage ──> Pipe ──> stage ──> Outlet ──> upstream       (and the same the other way)

A line without toxics has no stages: what one socket reads is written to the other at once. There is no half-closed state:
the end of a line closes its socket as a whole, and that ends the other line in turn, behind what it still holds.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

from pytest_kcontroller.cluster.toxiproxy.pipes import Chunk, Pipe
from pytest_kcontroller.cluster.toxiproxy.toxics import ResetPeer, Stub, Toxic

Stream = Literal["upstream", "downstream"]
STREAMS: tuple[Stream, ...] = ("upstream", "downstream")
CHUNK = 32 * 1024
"""A toxic is given no more bytes at once, as in the real server."""
NO_LINGER = struct.pack("ii", 1, 0)


@dataclass(slots=True, eq=False)
class Placed:
    """A toxic on a proxy. `toxicity` is the share of lines that it has an effect on."""

    name: str
    stream: str
    toxicity: float
    toxic: Toxic

    @property
    def direction(self) -> Stream:
        return "upstream" if self.stream.lower() == "upstream" else "downstream"


class End(asyncio.Protocol):
    """One socket. `outgoing` takes what it reads, `incoming` writes to it; before it has them it reads nothing."""

    def __init__(self) -> None:
        self.outgoing: Line | None = None
        self.incoming: Line | None = None
        self.has_room = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.pause_reading()
        asyncio.get_running_loop().call_soon(self._stay_paused)

    def _stay_paused(self) -> None:
        """Python before 3.11.4 begins to read after `connection_made`, whatever that has said."""
        if self.outgoing is None and not self.transport.is_closing():
            self.transport.resume_reading()
            self.transport.pause_reading()

    def data_received(self, data: bytes) -> None:
        assert self.outgoing is not None
        self.outgoing.feed(data)

    def eof_received(self) -> bool:
        assert self.outgoing is not None
        self.outgoing.end()
        return True  # the socket is closed when the other line ends

    def connection_lost(self, exc: Exception | None) -> None:
        self.has_room = True  # for what nobody reads any more
        if self.outgoing is not None and self.incoming is not None:
            self.incoming.pause_or_resume()
            self.outgoing.end()
            self.outgoing.connection.lost(self)

    def pause_writing(self) -> None:
        self.has_room = False
        if self.incoming is not None:
            self.incoming.pause_or_resume()

    def resume_writing(self) -> None:
        self.has_room = True
        if self.incoming is not None:
            self.incoming.pause_or_resume()

    def reset_when_closed(self) -> None:
        """Whatever closes it, it ends with RST."""
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)


class Outlet:
    """The end of a line with stages: chunks are written to its socket."""

    def __init__(self, end: End) -> None:
        self._end = end
        self._room = asyncio.Event()

    def wake(self) -> None:
        """The socket has room again."""
        self._room.set()

    async def put(self, chunk: Chunk | None) -> None:
        try:
            while not self._end.has_room:
                self._room.clear()
                await self._room.wait()
        finally:
            self.push(chunk)

    def push(self, chunk: Chunk | None) -> None:
        if chunk is None:
            self._end.transport.close()
        elif not self._end.transport.is_closing():
            self._end.transport.write(chunk.data)


@dataclass(slots=True, eq=False)
class Stage:
    """A toxic at work on one line. `drawn` is this line's number for the whole life of the toxic, if its connection does not
    draw again: it has an effect where that is below its toxicity."""

    placed: Placed
    stub: Stub
    drawn: float
    task: asyncio.Task[None] = field(init=False)

    def start(self) -> None:
        toxic = self.placed.toxic if self.drawn < self.placed.toxicity else Toxic()
        self.task = asyncio.create_task(toxic.run(self.stub))

    @property
    def has_ended(self) -> bool:
        """By itself: it has passed the end of the stream on."""
        return self.task.done() and not self.task.cancelled()

    async def interrupt(self) -> None:
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.task


class Line:
    """One direction of a connection. Its reader is paused until `pause_or_resume`."""

    def __init__(self, connection: Connection, source: End, sink: End, toxics: Sequence[Placed]) -> None:
        self.connection = connection
        self._source, self._sink = source, sink
        self._outlet = Outlet(sink)
        self._stages: list[Stage] = []
        self._has_ended = self._is_stopped = False
        self._loop = asyncio.get_running_loop()
        source.outgoing = sink.incoming = self
        for placed in toxics:
            self._append(placed)
        for stage in self._stages:
            stage.start()

    def _append(self, placed: Placed) -> Stage:
        pipe = Pipe(placed.toxic.buffer, self.pause_or_resume)
        if self._stages:
            self._stages[-1].stub.sink = pipe
        rng = self.connection.rng
        stage = Stage(placed, Stub(pipe, self._outlet, rng), rng.random())
        self._stages.append(stage)
        return stage

    def feed(self, data: bytes) -> None:
        """What the source has read."""
        if self._has_ended or self._sink.transport.is_closing():
            return
        if not self._stages:
            self._sink.transport.write(data)
            return
        first, now = self._stages[0].stub.source, self._loop.time()
        for at in range(0, len(data), CHUNK):
            first.push(Chunk(data[at : at + CHUNK], now))
        if first.is_full:
            self.pause_or_resume()

    def end(self) -> None:
        """The source has no more. Idempotent."""
        if self._has_ended:
            return
        self._has_ended = True
        if self._stages:
            self._stages[0].stub.source.push(None)
        else:
            self._outlet.push(None)

    def pause_or_resume(self) -> None:
        """The source reads while there is room for it, and nothing after its end."""
        if self._sink.has_room:
            self._outlet.wake()
        is_full = self._stages[0].stub.source.is_full if self._stages else not self._sink.has_room
        if is_full or self._has_ended:
            self._source.transport.pause_reading()
        else:
            self._source.transport.resume_reading()

    async def add(self, placed: Placed) -> None:
        """At the end of the line. A line made since the toxic is on the proxy has it already."""
        if self._at(placed) is not None:
            return
        last = self._stages[-1] if self._stages else None
        if last is not None:
            await last.interrupt()
        stage = self._append(placed)
        if self._has_ended if last is None else last.has_ended:
            stage.stub.source.push(None)
        elif last is not None:
            self._start(last)
        self._start(stage)
        self.pause_or_resume()

    async def update(self, placed: Placed) -> None:
        at = self._at(placed)
        if at is not None and not self._stages[at].has_ended:
            await self._stages[at].interrupt()
            self._start(self._stages[at])

    async def remove(self, placed: Placed) -> None:
        """What waits before it goes on at once, past it."""
        at = self._at(placed)
        if at is None:
            return
        stage, before = self._stages[at], self._stages[at - 1] if at else None
        await stage.interrupt()
        if placed.toxic.closes_when_removed and not stage.has_ended:
            stage.stub.sink.push(None)
        if placed.toxic.closes_when_removed or stage.has_ended:
            self._has_ended = True  # nothing that is before it passes any more
            del self._stages[at]
            return
        if before is not None:
            await before.interrupt()
            before.stub.sink = stage.stub.sink
        stage.stub.source.flush(stage.stub.sink)
        del self._stages[at]
        if before is not None and not before.has_ended:
            self._start(before)
        self.pause_or_resume()

    def _at(self, placed: Placed) -> int | None:
        return next((at for at, stage in enumerate(self._stages) if stage.placed is placed), None)

    def _start(self, stage: Stage) -> None:
        if not self._is_stopped:
            if self.connection.redraws:
                stage.drawn = self.connection.rng.random()
            stage.start()

    def stop(self) -> None:
        """Both ends are closed."""
        self._is_stopped = True
        for stage in self._stages:
            stage.task.cancel()


class Connection:
    """A client's socket and the one to the upstream. `over` is called when both are closed; `redraws`: whenever a toxic is
    changed, or one beside it is added or removed, it is drawn again whether it has an effect (the real server's rule)."""

    def __init__(
        self,
        client: End,
        upstream: End,
        toxics: Sequence[Placed],
        rng: random.Random,
        over: Callable[[Connection], None],
        *,
        redraws: bool,
    ) -> None:
        self.rng, self.redraws, self._over = rng, redraws, over
        self._open = [client, upstream]
        if any(isinstance(placed.toxic, ResetPeer) for placed in toxics):
            for end in self._open:
                end.reset_when_closed()
        at = {stream: [placed for placed in toxics if placed.direction == stream] for stream in STREAMS}
        self._lines = {
            "upstream": Line(self, client, upstream, at["upstream"]),
            "downstream": Line(self, upstream, client, at["downstream"]),
        }
        for line in self._lines.values():
            line.pause_or_resume()

    def line(self, placed: Placed) -> Line:
        """The one that the toxic is on."""
        return self._lines[placed.direction]

    def lost(self, end: End) -> None:
        self._open.remove(end)
        if not self._open:
            for line in self._lines.values():
                line.stop()
            self._over(self)

    def abort(self) -> None:
        """Closes both sockets at once, whatever waits to be written."""
        for end in self._open:
            end.transport.abort()
