"""A scenario in simulated time: nodes, ZooKeeper and stub brokers in one world."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.sim.cluster import SimCluster
from pytest_kcontroller.cluster.timing import unscaled
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.runtime.ports import Transport
from pytest_kcontroller.runtime.scheduler import Scheduler, SimLoop
from pytest_kcontroller.sim.world import World
from pytest_kcontroller.stubs.broker import StubBroker
from pytest_kcontroller.zookeeper.session import Exists
from pytest_kcontroller.zookeeper.txn import Txn
from pytest_kcontroller.zookeeper.znodes import CONTROLLER
from tests.fidelity.scenarios.player import Player
from tests.fidelity.scenarios.records import Entry, Record
from tests.fidelity.scenarios.scene import SESSION_MS, STUB_SESSION_MS

T = TypeVar("T")

STUB_PORT = 9092
QUIET_US, GIVEN_UP_US = 800_000, 20_000_000
"""ZooKeeper and the stubs have to be quiet for so long; after so long a system does not come to rest."""
LOOK_S = 0.1


class SimulatedGround:
    """See scene.Ground."""

    def __init__(self, world: World, cluster: SimCluster, loop: SimLoop) -> None:
        self._world, self.cluster, self._loop = world, cluster, loop

    def stub(self, number: int) -> StubBroker:
        machine = f"stub-{number}"
        runtime = self._world.runtime(self._loop, machine, session_timeout_ms=STUB_SESSION_MS)
        return StubBroker(number, runtime, address=Address(machine, STUB_PORT))

    def address_of(self, node: int) -> tuple[Transport, Address]:
        return self.cluster.route("player", str(node))

    async def settle(self, stubs: Sequence[StubBroker]) -> bool:
        """As when scenarios are recorded: nobody is asked, and time costs nothing here."""
        clock, admin = self._world.clock, self.cluster.admin
        began = changed = clock.now_us()
        zxid = admin.last_zxid
        while True:
            await asyncio.sleep(LOOK_S)
            await admin.submit(Exists(CONTROLLER))
            now = clock.now_us()
            if admin.last_zxid != zxid:
                zxid, changed = admin.last_zxid, now
            if now - max(changed, *(stub.requests[-1].at_us for stub in stubs if stub.requests)) > QUIET_US:
                return True
            if now - began > GIVEN_UP_US:
                return False

    async def end_session(self, node: int) -> None:
        self._world.zookeeper.expire(self.cluster.sessions(node)[-1].session_id)

    async def txns(self) -> Sequence[Txn]:
        return [txn for _, txn in self._world.zookeeper.txns]


def run_simulated(
    act: Callable[[SimulatedGround], Awaitable[T]], directory: Path, *, config: Mapping[str, Any] | None = None
) -> T:
    """What `act` gives, on nodes with this configuration."""
    given: list[T] = []

    async def live() -> None:
        settings = ClusterSettings(nodes=2, session_timeout_ms=SESSION_MS, config=config or {})
        cluster = await SimCluster.start(world, settings, directory, on_exit=lambda *_: None, loop=loop)
        given.append(await act(SimulatedGround(world, cluster, loop)))
        await cluster.stop()

    with Scheduler() as scheduler, unscaled():
        world, loop = World(scheduler, seed=1), scheduler.process("player")
        scheduler.run_until_complete(loop.create_task(live(), name="player"))
    return given[0]


def play_simulated(record: Record, directory: Path) -> list[Entry]:
    """What ours did, as a record's log has it."""
    return run_simulated(lambda ground: Player(ground, record).play(), directory)
