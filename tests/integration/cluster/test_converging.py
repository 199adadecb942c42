"""When a cluster counts as converged: nothing is left that will change by itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kcontroller_chaos.backends.run import record_state
from pytest_kcontroller.cluster.capabilities import REPORTS
from pytest_kcontroller.cluster.contract import ZOOKEEPER, Cluster
from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.sim.cluster import SimCluster
from pytest_kcontroller.cluster.timing import scaled, unscaled
from pytest_kcontroller.model.cluster import Address, Broker
from pytest_kcontroller.model.history import HistoryEvent, NodeMetadata, ZkTree
from pytest_kcontroller.runtime.scheduler import Scheduler
from pytest_kcontroller.sim.world import World
from pytest_kcontroller.zookeeper.session import Create, Delete
from pytest_kcontroller.zookeeper.znodes import broker_path, encode_broker
from tests.integration.cluster.conftest import OnBackend, not_in_containers


async def zookeeper_state(cluster: SimCluster, node: int) -> str:
    status = await cluster.status(node)
    assert status is not None
    return str(status.raw["session_state"])


def test_a_node_that_has_lost_zookeeper_is_waited_for_though_its_session_still_lives(tmp_path: Path) -> None:
    """It may expire any moment: found by explore.toml with replication factor 7, seed 70017."""
    states: list[str] = []

    async def live() -> None:
        settings = ClusterSettings(nodes=3, session_timeout_ms=1000)
        cluster = await SimCluster.start(world, settings, tmp_path, on_exit=lambda *_: None, loop=loop)
        await cluster.create_topic("t", assignment={0: (0, 1, 2)})
        await cluster.wait_until_converged(timeout_s=10)
        await cluster.cut("2", ZOOKEEPER, "zk")

        async def still() -> str | None:
            states.append(await zookeeper_state(cluster, 2))
            return "it has not noticed yet" if states[-1] == "connected" else None

        await cluster.wait_until("node 2 loses ZooKeeper", still, timeout_s=10)
        await cluster.heal("2", ZOOKEEPER, "zk")
        assert await cluster.broker_owner(2)
        await cluster.wait_until_converged(timeout_s=10)
        states.append(await zookeeper_state(cluster, 2))
        await cluster.stop()

    with Scheduler() as scheduler, unscaled():
        world, loop = World(scheduler, 1), scheduler.process("test")
        scheduler.run_until_complete(loop.create_task(live(), name="test"))
    assert states[-2:] == ["suspended", "connected"]


def test_what_the_controller_has_yet_to_tell_is_waited_for(tmp_path: Path) -> None:
    """A broker that registers and goes again: ZooKeeper's tree and the nodes agree before the last has heard of it."""
    heard_later: list[bool] = []

    async def heard(cluster: SimCluster) -> bool:
        return "99" in json.dumps([await cluster.metadata(node) for node in cluster.nodes])

    async def live() -> None:
        cluster = await SimCluster.start(world, ClusterSettings(nodes=3), tmp_path, on_exit=lambda *_: None, loop=loop)
        await cluster.wait_until_converged(timeout_s=10)
        controller = await cluster.controller()
        assert controller is not None
        for node in cluster.nodes:
            if node != controller:
                await cluster.slow(str(controller), str(node), "control", delay_ms=300)
        ghost = Broker(id=99, address=Address("127.0.0.1", 1), rack=None, epoch=0)
        await cluster.admin.submit(Create(broker_path(99), encode_broker(ghost, 0)))

        async def untold() -> str | None:
            return None if await heard(cluster) else "nobody has heard of the ghost"

        await cluster.wait_until("the controller tells itself of the ghost", untold, timeout_s=10)
        await cluster.admin.submit(Delete(broker_path(99)))
        await cluster.wait_until_converged(timeout_s=10)
        for _ in range(100):
            heard_later.append(await heard(cluster))
            await asyncio.sleep(0.02)
        await cluster.stop()

    with Scheduler() as scheduler, unscaled():
        world, loop = World(scheduler, 1), scheduler.process("test")
        scheduler.run_until_complete(loop.create_task(live(), name="test"))
    assert heard_later == [False] * 100


@not_in_containers([REPORTS])
def test_a_watch_that_is_on_its_way_to_the_controller_is_waited_for(on_backend: OnBackend) -> None:
    """It has fired, and the controller has not heard of it: nothing else shows that there is anything to do."""
    late: list[int] = []

    async def script(cluster: Cluster) -> None:
        controller = await cluster.controller()
        assert controller is not None
        await cluster.slow(str(controller), ZOOKEEPER, "zk", delay_ms=round(scaled(0.7) * 1000))
        ghost = Broker(id=99, address=Address("127.0.0.1", 1), rack=None, epoch=0)
        await cluster.admin.submit(Create(broker_path(99), encode_broker(ghost, 0)))
        await cluster.admin.submit(Delete(broker_path(99)))
        for look in (cluster.capability(REPORTS).status, cluster.capability(REPORTS).caught_up):
            status = await look(controller)
            assert status is not None
            late.append(status.pending)
        await cluster.slow(str(controller), ZOOKEEPER, "zk", delay_ms=300)
        await cluster.wait_until_converged(timeout_s=scaled(60))
        status = await cluster.capability(REPORTS).caught_up(controller)
        assert status is not None
        late.append(status.pending)

    on_backend(script, session_timeout_ms=10_000)
    before, on_the_way, after = late
    assert (before, after) == (0, 0)
    assert on_the_way > 0


class Restless(SimCluster):
    """When it has converged while `restless`, something happens behind the next report of a node, once."""

    restless = happens = False

    async def wait_until_converged(self, *, timeout_s: float) -> None:
        await super().wait_until_converged(timeout_s=timeout_s)
        self.restless, self.happens = False, self.restless

    async def metadata(self, node: int) -> Mapping[str, Any] | None:
        told = await super().metadata(node)
        if self.happens:
            self.happens = False
            await self.create_topic("late", assignment={0: (0,)})
            await self.wait_until_converged(timeout_s=10)
        return told


def test_what_happens_while_the_end_is_read_is_read_by_all(tmp_path: Path) -> None:
    """Found by explore.toml, seed 5524: leaders went back by the controller's timer, between ZooKeeper and the last node."""
    seen: list[HistoryEvent] = []

    async def live() -> None:
        cluster = await Restless.start(world, ClusterSettings(nodes=3), tmp_path, on_exit=lambda *_: None, loop=loop)
        assert isinstance(cluster, Restless)
        await cluster.wait_until_converged(timeout_s=10)
        cluster.restless = True
        await record_state(cluster, seen.append)
        await cluster.stop()

    with Scheduler() as scheduler, unscaled():
        world, loop = World(scheduler, 1), scheduler.process("test")
        scheduler.run_until_complete(loop.create_task(live(), name="test"))
    (tree,) = (event for event in seen if isinstance(event, ZkTree))
    told = [event.metadata for event in seen if isinstance(event, NodeMetadata)]
    assert "late" in json.dumps(tree.fields()) and len(told) == 3
    assert all("late" in json.dumps(metadata) for metadata in told)
