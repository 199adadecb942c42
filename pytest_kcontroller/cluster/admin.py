"""The harness's own ZooKeeper session: straight to the server, past every link, and opened anew if it is lost."""

from __future__ import annotations

from typing import Self

from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.zookeeper.kazoo_session import KazooConnector, KazooSession
from pytest_kcontroller.zookeeper.session import CLOSE_GRACE_S, Listener, SessionEvent, ZkSession

TIMEOUT_MS = 30_000
"""Long: a busy host must not cost the harness its eyes."""
OPEN_S = 30.0
"""For a session with a server that has answered a moment ago."""


async def open_session(connector: KazooConnector, servers: str, listener: Listener) -> KazooSession:
    """Raises EnvironmentFailure if there is none in time: no server need ever answer."""
    limit_s = scaled(OPEN_S)
    try:
        async with within(limit_s):
            return await connector.open(listener)
    except TimeoutError:
        what = f"ZooKeeper gave no session within {limit_s:g} s"
        raise EnvironmentFailure(what, where=servers, hint="has it ended, or was it stopped?") from None


class AdminSession:
    def __init__(self, connector: KazooConnector, servers: str, session: ZkSession) -> None:
        self._connector, self._servers, self.session = connector, servers, session
        self.ids: list[int] = [session.session_id]

    @classmethod
    async def open(cls, servers: str, user: str | None = None) -> Self:
        """`user`: whose it is, as USER:PASSWORD of the scheme `digest`; None: nobody's."""
        grace_s = scaled(CLOSE_GRACE_S)
        connector = KazooConnector(servers, timeout_ms=TIMEOUT_MS, close_grace_s=grace_s, user=user)
        return cls(connector, servers, await open_session(connector, servers, _ignore))

    async def renew(self) -> None:
        self.session = await open_session(self._connector, self._servers, _ignore)
        self.ids.append(self.session.session_id)

    async def close(self) -> None:
        await self.session.close()


def _ignore(event: SessionEvent) -> None:
    """The harness reads what it wants to know."""
