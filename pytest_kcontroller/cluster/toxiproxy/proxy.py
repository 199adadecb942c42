"""Proxies: a listener, its connections, and the toxics that they have."""

from __future__ import annotations

import asyncio
import random
import socket
from functools import partial
from typing import cast

from pytest_kcontroller.cluster.toxiproxy.addresses import (
    BACKLOG,
    AddressError,
    bind,
    bound_to,
    dial,
    explain,
    resolve,
)
from pytest_kcontroller.cluster.toxiproxy.connection import STREAMS, Connection, End, Placed
from pytest_kcontroller.cluster.toxiproxy.toxics import Toxic
from pytest_kcontroller.runtime.timeouts import within

DIAL_S = 5.0
AGAIN_S = 1.0
"""So long nothing is accepted after the system could not."""


class ListenError(Exception):
    """The proxy cannot listen; in Go's words."""


class Proxy:
    """One proxy. Methods return when what they do is in effect on every open connection. `strict`: what it lets out of
    itself, and when toxicity is drawn, are the real server's."""

    def __init__(self, name: str, listen: str, upstream: str, rng: random.Random, *, strict: bool) -> None:
        self.name, self.listen, self.upstream, self.strict = name, listen, upstream, strict
        self.toxics: list[Placed] = []
        self._rng = rng
        self._listening: socket.socket | None = None
        self._dialling: dict[socket.socket, asyncio.Task[None]] = {}
        self._connections: dict[Connection, None] = {}
        # Two changes at once would each start the stages of a line, or a listener.
        self._toxic_changes, self._changes = asyncio.Lock(), asyncio.Lock()

    @property
    def enabled(self) -> bool:
        return self._listening is not None

    async def start(self) -> None:
        """Listens, if it does not. `listen` is then the address with its number. Raises ListenError."""
        async with self._changes:
            await self._start()

    async def _start(self) -> None:
        if self._listening is not None:
            return
        try:
            address = await resolve(self.listen)
        except AddressError as bad:
            raise ListenError(f"listen tcp: {bad}") from None
        try:
            listening = bind(address)
        except OSError as refused:
            raise ListenError(explain(address, refused)) from None
        self.listen = bound_to(listening)
        self._listening = listening
        self._accept_from(listening)

    async def stop(self) -> None:
        """Stops listening and closes every connection, with FIN unless it is younger than a reset_peer."""
        async with self._changes:
            self._stop()

    def _stop(self) -> None:
        if self._listening is not None:
            asyncio.get_running_loop().remove_reader(self._listening)
            self._listening.close()
            self._listening = None
        for task in self._dialling.values():
            task.cancel()
        for connection in self._connections:
            connection.abort()

    async def change(self, listen: str, upstream: str, enabled: bool) -> None:
        """Another address stops it, and its connections; toxics stay. Raises AddressError and has changed nothing then, and
        ListenError: it has the new addresses, and is stopped."""
        async with self._changes:
            if await self.differs(listen, upstream):
                self._stop()
                self.listen, self.upstream = listen, upstream
            if enabled:
                await self._start()
            else:
                self._stop()

    async def differs(self, listen: str, upstream: str) -> bool:
        """A name is the same as its number. Raises AddressError."""
        return self.listen != str(await resolve(listen)) or self.upstream != upstream

    # An asyncio.Server may have accepted a connection when it is closed, and then forgets it: open, and nobody's.

    def _accept_from(self, listening: socket.socket) -> None:
        if self._listening is listening:
            asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(BACKLOG):
            try:
                accepted, _ = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:  # of files, for example, there are no more now
                loop.remove_reader(listening)
                loop.call_later(AGAIN_S, self._accept_from, listening)
                return
            accepted.setblocking(False)
            self._dialling[accepted] = task = loop.create_task(self._connect(accepted))
            task.add_done_callback(partial(self._dialled, accepted))

    def _dialled(self, accepted: socket.socket, task: asyncio.Task[None]) -> None:
        del self._dialling[accepted]
        if task.cancelled():  # maybe before it began
            accepted.close()

    async def _connect(self, accepted: socket.socket) -> None:
        _, client = await asyncio.get_running_loop().connect_accepted_socket(End, accepted)
        try:
            async with within(DIAL_S):
                upstream = cast(End, await dial(self.upstream, End))
        except (OSError, AddressError):  # TimeoutError is one
            client.transport.close()
        except asyncio.CancelledError:
            client.transport.abort()
            raise
        else:
            connection = Connection(
                client, upstream, self.toxics, self._rng, self._connections.pop, redraws=self.strict
            )
            self._connections[connection] = None

    async def add(self, placed: Placed) -> None:
        self.toxics.append(placed)
        async with self._toxic_changes:
            for connection in list(self._connections):
                await connection.line(placed).add(placed)

    async def update(self, placed: Placed, toxic: Toxic, toxicity: float) -> None:
        placed.toxic, placed.toxicity = toxic, toxicity
        async with self._toxic_changes:
            for connection in list(self._connections):
                await connection.line(placed).update(placed)

    async def remove(self, placed: Placed) -> None:
        self.toxics.remove(placed)
        async with self._toxic_changes:
            for connection in list(self._connections):
                await connection.line(placed).remove(placed)

    def ordered_toxics(self) -> list[Placed]:
        """Those of upstream first, then in the order in which they were added."""
        return [placed for stream in STREAMS for placed in self.toxics if placed.direction == stream]
