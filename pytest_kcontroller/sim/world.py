"""One simulated world: a scheduler, a network, a ZooKeeper and the history that all of its processes share."""

from __future__ import annotations

from typing import Any

from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.runtime.scheduler import Scheduler, SimClock, SimLoop, SimRuntime
from pytest_kcontroller.sim.disk import SimDisk
from pytest_kcontroller.sim.network import SimNetwork
from pytest_kcontroller.sim.zookeeper.server import SimZooKeeper
from pytest_kcontroller.sim.zookeeper.session import SimConnector


class World:
    """Everything in it is a function of `seed` and of what is done to it."""

    def __init__(self, scheduler: Scheduler, seed: int) -> None:
        self.scheduler, self.seed = scheduler, seed
        self.events: list[dict[str, Any]] = []
        """The history in the order in which it happened."""
        rng = NamedRng(seed)
        self.zookeeper = SimZooKeeper(scheduler, rng)
        self.network = SimNetwork(scheduler, rng)
        self.clock = SimClock(scheduler)
        self._disks: dict[str, SimDisk] = {}
        self._rng = rng

    def disk(self, name: str) -> SimDisk:
        """What the machine of this name keeps, whichever process runs on it."""
        if (disk := self._disks.get(name)) is None:
            disk = self._disks[name] = SimDisk(self._rng, name)
        return disk

    def runtime(self, loop: SimLoop, machine: str, *, session_timeout_ms: int) -> SimRuntime:
        """What a process on `machine` may touch; its links are the machine's."""
        return SimRuntime(
            loop,
            self.seed,
            self.events,
            zookeeper=SimConnector(self.zookeeper, loop, timeout_ms=session_timeout_ms, link=machine),
            transport=self.network.transport(loop, machine),
            disk=self.disk(machine),
        )
