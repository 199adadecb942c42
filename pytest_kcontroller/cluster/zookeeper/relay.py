"""A TCP relay to ZooKeeper: it can turn into a black hole, and somebody may hear what passes.

The first is how the fixture `zookeeper` lets a session expire by itself, the second how the sessions of nodes are known
(cluster/process/session_relays.py), and of programs that are not ours (cluster/proxied).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pytest_kcontroller.cluster.zookeeper.access import PLAIN, Access
from pytest_kcontroller.model.cluster import Address

LOOPBACK = "127.0.0.1"


class Witness:
    """Of one connection. This one takes no notice."""

    def ask(self, data: bytes) -> None:
        """The client says this; ZooKeeper has not got it yet."""

    def hear(self, data: bytes) -> None:
        """ZooKeeper says this; the client has not got it yet."""

    async def wait_passable(self) -> None:
        """What was said, in either direction, passes when this returns."""

    def end(self) -> None:
        """Both directions are over."""


class Relay:
    """Listens on a free port of `host` and passes everything on to `target`, until it is cut.

    `witness` makes one for each connection. Who speaks TLS to `target` is the relay, whoever connects to it does not.
    """

    def __init__(
        self,
        target: Address,
        witness: Callable[[], Witness] = Witness,
        *,
        access: Access = PLAIN,
        host: str = LOOPBACK,
    ) -> None:
        self._host = host
        self._target, self._witness, self._access = target, witness, access
        self._open = asyncio.Event()
        self._open.set()
        self._refusing = False
        self._server: asyncio.Server | None = None
        self._connections: list[asyncio.Task[None]] = []

    async def start(self) -> Address:
        self._server = await asyncio.start_server(self._accept, self._host, 0)
        host, port = self._server.sockets[0].getsockname()[:2]
        return Address(host, port)

    def cut(self) -> None:
        """Connections stay open (new ones are accepted), and nothing passes in either direction."""
        self._open.clear()

    def refuse(self) -> None:
        """Connections are closed, new ones at once: whoever has another way takes it."""
        self._refusing = True
        for connection in self._connections:
            connection.cancel()

    def heal(self) -> None:
        """What was written meanwhile passes now."""
        self._refusing = False
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
        if self._refusing:
            writer.close()
            return
        self._connections.append(task)
        witness = self._witness()
        try:
            await self._open.wait()
            try:
                far_reader, far_writer = await self._access.open(self._target)
            except OSError:
                return
            ends = [
                asyncio.ensure_future(self._pump(reader, far_writer, witness, witness.ask)),
                asyncio.ensure_future(self._pump(far_reader, writer, witness, witness.hear)),
            ]
            try:
                await asyncio.gather(*ends)
            except OSError:
                pass
            finally:
                for end in ends:
                    end.cancel()
                far_writer.close()
        except asyncio.CancelledError:
            pass  # only stop() and refuse() cancel: asyncio would log it for a connection's task
        finally:
            self._connections.remove(task)
            writer.close()
            witness.end()

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        witness: Witness,
        tell: Callable[[bytes], None],
    ) -> None:
        """Passes on until the end; the end itself closes both directions, as ZooKeeper's protocol expects."""
        while data := await reader.read(65536):
            tell(data)
            await self._open.wait()
            await witness.wait_passable()
            writer.write(data)
            await writer.drain()
        await self._open.wait()
        raise ConnectionResetError("one end has closed")
