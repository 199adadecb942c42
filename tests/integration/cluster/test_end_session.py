"""A session is closed by a second client, whatever its owner does meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.end_session import close_session
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.fixtures.zookeeper import TestZooKeeper
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.zookeeper.kazoo_session import KazooConnector, KazooSession
from pytest_kcontroller.zookeeper.session import Create, SessionState

CLOSE_SESSION = -11
LIMIT_S = 10


async def opened(zookeeper: TestZooKeeper) -> tuple[KazooSession, asyncio.Event]:
    """A session, and what is set when its owner has been told that it expired."""
    over = asyncio.Event()
    connector = KazooConnector(zookeeper.connect_string, timeout_ms=30_000)
    session = await connector.open(lambda _: over.set() if session.state == SessionState.EXPIRED else None)
    await session.submit(Create("/of-this-session", ephemeral=True))
    return session, over


@pytest.mark.parametrize(
    ("phase", "what"),
    [("request", "is cut off before it has asked"), ("reply", "is cut off before it hears the answer")],
)
def test_a_second_client_that_loses_its_connection_closes_the_session_all_the_same(
    zookeeper: TestZooKeeper, cutting_proxy: Any, phase: str, what: str
) -> None:
    """What the session's owner does when it resumes it first: ZooKeeper closes the other one's connection. On a busy machine
    the owner may do so besides: then there is one more."""

    async def main() -> None:
        session, over = await opened(zookeeper)
        try:
            async with cutting_proxy(zookeeper.server) as proxy, within(scaled(LIMIT_S)):
                proxy.cut_at(phase, CLOSE_SESSION)
                await close_session(proxy.address, session.session_id, session.password, timeout_s=scaled(LIMIT_S))
                assert proxy.cuts == 1, what
                assert len(proxy.handshakes) > 1
                assert {*proxy.handshakes} == {session.session_id}
                await over.wait()
        finally:
            await session.close()

    asyncio.run(main())


def test_a_session_that_has_ended_before_is_an_error(zookeeper: TestZooKeeper) -> None:
    async def main() -> None:
        session, _over = await opened(zookeeper)
        await session.close()
        with pytest.raises(EnvironmentFailure, match="it had ended before the second client could resume it"):
            await close_session(zookeeper.server, session.session_id, session.password, timeout_s=scaled(LIMIT_S))

    asyncio.run(main())


def test_a_server_that_closes_each_connection_is_an_error_in_time() -> None:
    async def main() -> None:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        async with server:
            with pytest.raises(EnvironmentFailure, match=r"could not close it within 0.2 s"):
                await close_session(Address(*server.sockets[0].getsockname()[:2]), 7, b"x" * 16, timeout_s=0.2)

    asyncio.run(main())
