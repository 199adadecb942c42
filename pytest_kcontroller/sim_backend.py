"""The backend `sim` of `kcluster`: one world of one seed, and its history in memory until somebody asks for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcontroller_chaos.simulation import ENGINE, START, SeenEvents, SeenTxns, write_history
from pytest_kcontroller.cluster.admin import TIMEOUT_MS
from pytest_kcontroller.cluster.base import ClusterSettings
from pytest_kcontroller.errors import NotOnThisBackend
from pytest_kcontroller.plugin_manager import load_plugins
from pytest_kcontroller.runtime.scheduler import Scheduler
from pytest_kcontroller.sim.cluster import SimCluster
from pytest_kcontroller.sim.world import World
from pytest_kcontroller.sim.zookeeper_session import SimConnector
from pytest_kcontroller.sim_driver import WAY_OUT, SimDriver
from pytest_kcontroller.zookeeper.session import Create, SessionEvent

if TYPE_CHECKING:
    from kazoo.client import KazooClient

    from kcontroller_chaos.feed import Feed
    from kcontroller_chaos.history import History

__tracebackhide__ = True  # pytest: a failing call is shown where the test makes it

MUTANTS = "kcontroller_chaos.mutants"
TEST_CHROOT = "/kc-test"
"""What the fixture `zk` has for its own."""


class Simulation:
    """The world of one test: what its `kcluster` and its `zk` have in common."""

    def __init__(self, settings: ClusterSettings) -> None:
        """Of `settings` the seed and the mutant."""
        mutant = load_plugins((*settings.plugins, MUTANTS)).mutant(settings.mutant)
        self._scheduler = Scheduler()
        self.world = World(self._scheduler, settings.seed)
        self.loop = self._scheduler.process(ENGINE)
        self.driver = SimDriver(self.loop, mutant)
        self._clients = 0

    def client(self, chroot: str = "") -> KazooClient:
        """Its link is its own, so that no fault hits it."""
        from pytest_kcontroller.sim_kazoo import SimKazooClient

        self._clients += 1
        return SimKazooClient(self.driver, self._connector(f"test-{self._clients}"), chroot)

    def client_of_the_test(self) -> KazooClient:
        """In a chroot, as on a server that others use too."""
        self.driver.call(self._make_chroot())
        return self.client(TEST_CHROOT)

    async def _make_chroot(self) -> None:
        session = await self._connector("test").open(_ignore)
        await session.submit(Create(TEST_CHROOT))
        await session.close()

    def _connector(self, link: str) -> SimConnector:
        return SimConnector(self.world.zookeeper, self.loop, timeout_ms=TIMEOUT_MS, link=link)

    def close(self) -> None:
        self._scheduler.close()


class SimBackend:
    """See Backend. The world goes on to live until whoever made it closes it."""

    def __init__(self, simulation: Simulation, settings: ClusterSettings, directory: Path) -> None:
        """Raises StartError."""
        self._simulation, self.settings, self.directory = simulation, settings, directory
        self.start, self.ending = START, set[int]()
        self.driver, self._world = simulation.driver, simulation.world
        self.clock = self._world.clock
        self._seq = 0
        (directory / "history").mkdir(parents=True, exist_ok=True)
        self.cluster = self.driver.call(self._begin())

    async def _begin(self) -> SimCluster:
        return await SimCluster.start(
            self._world, self.settings, self.directory, on_exit=self._exited, loop=self._simulation.loop
        )

    def _exited(self, node: int, status: int) -> None:
        if node not in self.ending:  # by itself, and not by the test
            self.record("process.exited", node=node, status=status)

    def record(self, kind: str, **fields: Any) -> None:
        now_us = self.clock.now_us()
        self._world.events.append({"writer": ENGINE, "seq": self._seq, "t_us": now_us, "kind": kind, **fields})
        self._seq += 1

    def history(self) -> History:
        from kcontroller_chaos.history import in_order

        return in_order(json.loads(json.dumps(self._events())))  # as lines are read: a tuple is a list

    def _events(self) -> list[dict[str, Any]]:
        return [*self._world.events, *SeenTxns(self._world.zookeeper.txns).poll()]

    def feed(self) -> Feed:
        from kcontroller_chaos.feed import Feed

        return Feed(SeenEvents(self._world.events), SeenTxns(self._world.zookeeper.txns))

    def client(self) -> KazooClient:
        return self._simulation.client()

    def bootstrap_servers(self) -> str:
        raise NotOnThisBackend(
            "the nodes of a simulated cluster have no sockets that a client could connect with",
            hint=WAY_OUT,
        )

    async def session_timeouts_ms(self) -> dict[int, int]:
        return {session.id: session.timeout_ms for session in self._world.zookeeper.sessions.values()}

    def close(self) -> None:
        self.driver.call(self.cluster.stop())
        write_history(self.directory / "history", self._events())


def _ignore(event: SessionEvent) -> None:
    """Nobody watches."""
