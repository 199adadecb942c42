"""A question through a proxy, and how far it came: what shows that a fault is in effect, or that it is healed.

The question is for a session that nobody has (a random id): ZooKeeper answers it at once, with a time-out of 0, and makes no
session. The relay behind the proxy sees it come and sees the answer go, so that the two directions are told apart.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Self

from pytest_kcontroller.cluster.proxied.passing import Passing
from pytest_kcontroller.cluster.zookeeper.access import connect_request, read_frame
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.runtime.timeouts import within

TIMEOUT_MS = 10_000
"""Of the session that is asked for, and not granted."""


@dataclass(frozen=True, slots=True)
class Way:
    """How far a question came."""

    asked: bool
    """It has passed the proxy to ZooKeeper."""
    answered: bool
    """ZooKeeper has answered it."""
    heard_after_s: float | None
    """The answer has passed the proxy too; None: it has not."""

    def __str__(self) -> str:
        if self.heard_after_s is not None:
            return f"a question through the proxy was answered after {self.heard_after_s * 1000:.0f} ms"
        if self.answered:
            return "a question through the proxy reached ZooKeeper, and its answer did not come back"
        if self.asked:
            return "a question through the proxy was passed on to ZooKeeper, which did not answer"
        return "a question through the proxy did not reach ZooKeeper"


class Probe:
    """One connection to `address`; its question is asked once. `passing` hears it if it comes so far."""

    def __init__(self, passing: Passing, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._passing, self._reader, self._writer = passing, reader, writer
        self._session_id = secrets.randbits(62) | 1 << 62
        self._trace = passing.trace(self._session_id)
        self._heard_after_s: float | None = None

    @classmethod
    @contextlib.asynccontextmanager
    async def at(cls, address: Address, passing: Passing) -> AsyncIterator[Self]:
        """Raises OSError: no connection is made."""
        reader, writer = await asyncio.open_connection(address.host, address.port)
        probe = cls(passing, reader, writer)
        try:
            yield probe
        finally:
            passing.forget(probe._session_id)
            writer.transport.abort()

    async def ask(self, password: bytes = b"\0" * 16) -> bool:
        """Whether it was answered; False: the connection has ended instead. Waits for one of the two."""
        began_s = asyncio.get_running_loop().time()
        try:
            self._writer.write(connect_request(TIMEOUT_MS, self._session_id, password))
            await read_frame(self._reader)
        except (OSError, asyncio.IncompleteReadError):
            return False
        self._heard_after_s = asyncio.get_running_loop().time() - began_s
        return True

    @property
    def way(self) -> Way:
        """Until now."""
        return Way(self._trace.asked.is_set(), self._trace.answered.is_set(), self._heard_after_s)

    async def wait_answered(self) -> None:
        """Until ZooKeeper has answered, whether that comes back or not."""
        await self._trace.answered.wait()


async def ask(address: Address, passing: Passing, *, limit_s: float) -> Way:
    """On a new connection: how far it came within `limit_s`."""
    try:
        async with Probe.at(address, passing) as probe:
            with contextlib.suppress(TimeoutError):
                async with within(limit_s):
                    await probe.ask()
            return probe.way
    except OSError:
        return Way(asked=False, answered=False, heard_after_s=None)
