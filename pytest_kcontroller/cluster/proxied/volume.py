"""How long a number of bytes takes through a proxy, in each direction, to a ZooKeeper and from it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from kazoo.protocol.serialization import (
    CloseInstance,
    Connect,
    Create,
    GetData,
    ReplyHeader,
    int_int_struct,
)
from kazoo.security import OPEN_ACL_UNSAFE

from pytest_kcontroller.cluster.limits import LONGEST_SESSION_MS
from pytest_kcontroller.cluster.proxied.passing import Passing
from pytest_kcontroller.cluster.proxied.probe import Probe
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.access import Identity, connect_request, frame, read_frame
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.cluster import Address

MEASURE_S = 0.3
"""So long it takes; stretched, for a busy machine is slow itself."""
MOST_BYTES = 900_000
"""ZooKeeper takes a little more in one piece (jute.maxbuffer)."""
MOST_KB_PER_S = 10_000
"""More would take no longer than a machine that is busy."""
TIMEOUT_MS = LONGEST_SESSION_MS
"""A question and its answer may be as late. Servers of others grant 20 of their ticks, mostly 40 s."""
EPHEMERAL = 1
XID = 1


@dataclass(frozen=True, slots=True)
class Volume:
    """Through `proxy`, and without it by `relay`; `path` is a znode's that may be there for the time of it."""

    proxy: Address
    relay: Address
    passing: Passing
    path: str
    identity: Identity | None

    @staticmethod
    def size(kb_per_s: int) -> tuple[int, float]:
        """Bytes to send, and the seconds that they take at this rate."""
        size = min(MOST_BYTES, max(100, round(kb_per_s * 1000 * scaled(MEASURE_S))))
        return size, size / (kb_per_s * 1000)

    async def up_s(self, size: int) -> float:
        """Of a question with so long a password, for a session that nobody has."""
        async with Probe.at(self.proxy, self.passing) as probe:
            if not await probe.ask(b"\0" * size) or probe.way.heard_after_s is None:
                raise EnvironmentFailure("ZooKeeper has closed the connection instead", where=str(self.proxy))
            return probe.way.heard_after_s

    async def down_s(self, size: int) -> float:
        """Of reading a znode."""
        async with (
            _Session.at(self.proxy, self.passing, self.identity) as session,
            # Last, and closed first: it says nothing for one trip through the proxy, and not for all, and does not expire.
            _Session.at(self.relay, self.passing, self.identity) as straight,
        ):
            await straight.ask(Create.type, Create(self.path, b"\0" * size, OPEN_ACL_UNSAFE, EPHEMERAL).serialize())
            began_s = asyncio.get_running_loop().time()
            await session.ask(GetData.type, GetData(self.path, None).serialize())
            return asyncio.get_running_loop().time() - began_s


class _Session:
    """A session for one request at a time, without pings."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    @contextlib.asynccontextmanager
    async def at(cls, address: Address, passing: Passing, identity: Identity | None) -> AsyncIterator[_Session]:
        """`passing` forgets that it was there."""
        reader, writer = await asyncio.open_connection(address.host, address.port)
        session = cls(reader, writer)
        try:
            writer.write(connect_request(TIMEOUT_MS))
            granted, _ = Connect.deserialize(await read_frame(reader), 0)
            passing.hide(granted.session_id & ((1 << 64) - 1))
            if identity is not None:
                await identity.show((reader, writer))
            yield session
            await session.ask(CloseInstance.type, b"")
        except (OSError, asyncio.IncompleteReadError) as ended:
            raise EnvironmentFailure(f"ZooKeeper has closed a connection: {ended}", where=str(address)) from None
        finally:
            writer.transport.abort()

    async def ask(self, kind: int, body: bytes | bytearray) -> None:
        """Raises EnvironmentFailure if the answer is an error."""
        self._writer.write(frame(int_int_struct.pack(XID, kind) + body))
        header, _ = ReplyHeader.deserialize(await read_frame(self._reader), 0)
        if header.err:
            raise EnvironmentFailure(f"ZooKeeper refuses what is needed to measure a rate (error {header.err})")
