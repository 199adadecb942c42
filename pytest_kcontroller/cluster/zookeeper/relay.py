"""A TCP relay to ZooKeeper: it can turn into a black hole, and somebody may hear what passes.

The first is how the fixture `zookeeper` lets a session expire by itself, the second how the sessions of nodes are known
(cluster/process/session_relays.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from pytest_kcontroller.model.cluster import Address


class Witness(Protocol):
    """Of one connection."""

    def hear(self, data: bytes) -> None:
        """ZooKeeper says this; the client has not got it yet."""
        ...

    def end(self) -> None:
        """Both directions are over."""
        ...


class Relay:
    """Listens on a free port of the loopback and passes everything on to `target`, until it is cut.

    `witness` makes one for each connection.
    """

    def __init__(self, target: Address, witness: Callable[[], Witness] | None = None) -> None:
        self._target, self._witness = target, witness
        self._open = asyncio.Event()
        self._open.set()
        self._server: asyncio.Server | None = None
        self._connections: list[asyncio.Task[None]] = []

    async def start(self) -> Address:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()[:2]
        return Address(host, port)

    def cut(self) -> None:
        """Connections stay open (new ones are accepted), and nothing passes in either direction."""
        self._open.clear()

    def heal(self) -> None:
        """What was written meanwhile passes now."""
        self._open.set()

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        connections = list(self._connections)
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.append(task)
        try:
            await self._open.wait()
            try:
                far_reader, far_writer = await asyncio.open_connection(self._target.host, self._target.port)
            except OSError:
                return
            witness = None if self._witness is None else self._witness()
            ends = [
                asyncio.ensure_future(self._pump(reader, far_writer)),
                asyncio.ensure_future(self._pump(far_reader, writer, witness)),
            ]
            try:
                await asyncio.gather(*ends)
            except OSError:
                pass
            finally:
                for end in ends:
                    end.cancel()
                far_writer.close()
                if witness is not None:
                    witness.end()
        except asyncio.CancelledError:
            pass  # only stop() cancels: asyncio would log it for a connection's task
        finally:
            self._connections.remove(task)
            writer.close()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, witness: Witness | None = None
    ) -> None:
        """Passes on until the end; the end itself closes both directions, as ZooKeeper's protocol expects."""
        while data := await reader.read(65536):
            await self._open.wait()
            if witness is not None:
                witness.hear(data)
            writer.write(data)
            await writer.drain()
        await self._open.wait()
        raise ConnectionResetError("one end has closed")
