"""When a cluster counts as converged: nothing is left that will change by itself."""

from __future__ import annotations

from pathlib import Path

from pytest_kcontroller.cluster.contract import ZOOKEEPER
from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.sim.cluster import SimCluster
from pytest_kcontroller.cluster.timing import unscaled
from pytest_kcontroller.runtime.scheduler import Scheduler
from pytest_kcontroller.sim.world import World


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
