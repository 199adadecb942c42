"""What is done to a cluster's own ZooKeeper servers (capabilities.ZooKeepers), and how the harness itself reaches them."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from pytest_kcontroller.cluster.contract import NodeSession
from pytest_kcontroller.cluster.ending import end_all
from pytest_kcontroller.cluster.misuse import session_to_close
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.end_session import close_session
from pytest_kcontroller.cluster.zookeeper.ensemble import Ensemble
from pytest_kcontroller.cluster.zookeeper.relay import Relay
from pytest_kcontroller.cluster.zookeeper.server import serving

LOOK_S, STILL_S = 0.25, 5.0
"""Who is stopped by hand, and goes on, is no host that has failed."""


class OwnZooKeepers(ABC):
    """See capabilities.ZooKeepers. The harness's session lives long, and so would wait long for a server that is paused: its
    ways to an ensemble's are relays, which then refuse it, so that it takes another one."""

    _ways: Mapping[int, Relay] = {}
    _paused: frozenset[int] = frozenset()
    """The servers that stand still because we stopped them."""

    @property
    @abstractmethod
    def zookeeper(self) -> Ensemble:
        """Raises EnvironmentFailure: there is none."""

    async def open_ways(self) -> str:
        """HOST:PORT[,...] for the harness's session."""
        if len(self.zookeeper.servers) == 1:
            return self.zookeeper.connect_string
        self._ways = {number: Relay(server.address) for number, server in self.zookeeper.servers.items()}
        return ",".join([str(await way.start()) for way in self._ways.values()])

    async def close_ways(self) -> None:
        """Idempotent."""
        await end_all([way.stop for way in self._ways.values()])

    @abstractmethod
    def session(self, node: int) -> NodeSession | None:
        """See contract.Sessions."""

    @abstractmethod
    def sessions(self, node: int) -> tuple[NodeSession, ...]:
        """See contract.Sessions."""

    async def expire_session_server(self, node: int, session_id: int | None = None) -> int:
        """See contract.Sessions."""
        session = session_to_close(node, self.session(node), self.sessions(node), session_id)
        server = await serving(self.zookeeper.addresses)
        await close_session(server, session.session_id, session.password, timeout_s=scaled(5))
        return session.session_id

    async def zookeeper_modes(self, limit_s: float) -> Mapping[int, str | None]:
        return await self.zookeeper.modes(limit_s)

    def zookeeper_state(self, server: int) -> str | None:
        return self.zookeeper.server(server).process_state()

    async def wait_stopped(self) -> str:
        """Until somebody else has stopped all that there is of it, and it has stood still for a while: how long."""
        loop, limit_s = asyncio.get_running_loop(), scaled(STILL_S)
        since_s = loop.time()
        while loop.time() - since_s < limit_s:
            await asyncio.sleep(LOOK_S)
            if not self._stands_still:
                since_s = loop.time()
        return f"it has stood still for {limit_s:g} s"

    @property
    def _stands_still(self) -> bool:
        servers = self.zookeeper.servers.items()
        return all(server.process_state() == "T" and number not in self._paused for number, server in servers)

    async def kill_zookeeper(self, server: int) -> None:
        await self.zookeeper.kill(server)

    async def pause_zookeeper(self, server: int) -> None:
        self._paused |= {server}
        await self.zookeeper.pause(server)
        if server in self._ways:
            self._ways[server].refuse()

    async def mend_zookeeper(self, servers: Sequence[int]) -> None:
        await self.zookeeper.mend(servers)
        self._paused -= {*servers}
        for server in servers:
            if server in self._ways:
                self._ways[server].heal()
