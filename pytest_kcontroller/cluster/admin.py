"""The harness's own ZooKeeper session: straight to the server, past every link, and opened anew if it is lost."""

from __future__ import annotations

from typing import Self

from pytest_kcontroller.zookeeper.kazoo_session import KazooConnector
from pytest_kcontroller.zookeeper.session import SessionEvent, ZkSession

TIMEOUT_MS = 30_000
"""Long: a busy host must not cost the harness its eyes."""


class AdminSession:
    def __init__(self, connector: KazooConnector, session: ZkSession) -> None:
        self._connector, self.session = connector, session
        self.ids: list[int] = [session.session_id]

    @classmethod
    async def open(cls, servers: str) -> Self:
        connector = KazooConnector(servers, timeout_ms=TIMEOUT_MS)
        return cls(connector, await connector.open(_ignore))

    async def renew(self) -> None:
        self.session = await self._connector.open(_ignore)
        self.ids.append(self.session.session_id)

    async def close(self) -> None:
        await self.session.close()


def _ignore(event: SessionEvent) -> None:
    """The harness reads what it wants to know."""
