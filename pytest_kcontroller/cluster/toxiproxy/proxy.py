"""Proxies: a listener, its connections, and the toxics that they have."""

from __future__ import annotations

import asyncio
import random
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


class ListenError(Exception):
    """The proxy cannot listen; in Go's words."""


class Proxy:
    """One proxy. Methods return when what they do is in effect on every open connection. `strict`: what it lets out of
    itself, and when toxicity is drawn, are the real server's."""

    def __init__(self, name: str, listen: str, upstream: str, rng: random.Random, *, strict: bool) -> None:
        self.name, self.listen, self.upstream, self.strict = name, listen, upstream, strict
        self.toxics: list[Placed] = []
        self._rng = rng
        self._server: asyncio.Server | None = None
        self._dialling: dict[End, asyncio.Task[None]] = {}
        self._connections: dict[Connection, None] = {}
        # Two changes at once would each start the stages of a line, or a listener.
        self._toxic_changes, self._changes = asyncio.Lock(), asyncio.Lock()

    @property
    def enabled(self) -> bool:
        return self._server is not None

    async def start(self) -> None:
        """Listens, if it does not. `listen` is then the address with its number. Raises ListenError."""
        async with self._changes:
            await self._start()

    async def _start(self) -> None:
        if self._server is not None:
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
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: End(self._accepted), sock=listening, backlog=BACKLOG)

    async def stop(self) -> None:
        """Stops listening and closes every connection, with FIN unless it is younger than a reset_peer."""
        async with self._changes:
            self._stop()

    def _stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for client, task in self._dialling.items():
            task.cancel()
            client.transport.abort()
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

    def _accepted(self, client: End) -> None:
        if self._server is None:  # it was stopped after the system had accepted, and before we heard of it
            client.transport.abort()
            return
        self._dialling[client] = asyncio.create_task(self._connect(client))

    async def _connect(self, client: End) -> None:
        try:
            async with within(DIAL_S):
                upstream = cast(End, await dial(self.upstream, End))
        except (OSError, AddressError):  # TimeoutError is one
            client.transport.close()
        else:
            connection = Connection(
                client, upstream, self.toxics, self._rng, self._connections.pop, redraws=self.strict
            )
            self._connections[connection] = None
        finally:
            del self._dialling[client]

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
