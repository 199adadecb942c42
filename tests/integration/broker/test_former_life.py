"""A broker that is started again before ZooKeeper has given up its former session."""

from __future__ import annotations

import asyncio
from pathlib import Path

from kcontroller_chaos.history.read import History
from kcontroller_chaos.history.transactions import txn_event
from kcontroller_chaos.invariants import named
from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.sim.cluster import SimCluster
from pytest_kcontroller.cluster.timing import unscaled
from pytest_kcontroller.runtime.scheduler import Scheduler
from pytest_kcontroller.sim.world import World


def test_a_node_that_is_not_registered_yet_takes_no_orders(tmp_path: Path) -> None:
    """Killed and started again at once: until its old session has ended it is told what was meant for its former life."""
    with Scheduler() as scheduler, unscaled():
        world, loop = World(scheduler, 1), scheduler.process("test")

        async def live() -> None:
            cluster = await SimCluster.start(
                world, ClusterSettings(nodes=2), tmp_path, on_exit=lambda *_: None, loop=loop
            )
            await cluster.wait_until_converged(timeout_s=10)
            controller = await cluster.controller()
            (other,) = [node for node in cluster.nodes if node != controller]
            await cluster.kill(other)
            restarting = asyncio.ensure_future(cluster.restart(other))
            await asyncio.sleep(0.1)
            await cluster.create_topic("late", partitions=2, assignment={0: (0, 1), 1: (1, 0)})
            await restarting
            await cluster.wait_until_converged(timeout_s=10)
            await cluster.stop()

        scheduler.run_until_complete(loop.create_task(live(), name="test"))
        txns = [txn_event(txn, seq, t_us) for seq, (t_us, txn) in enumerate(world.zookeeper.txns)]
    verdict = named("orders-of-this-life").check(History((*world.events, *txns)))
    assert verdict.verdict == "held", verdict
