"""What a controller answers to a broker that asks for a controlled shutdown, and what it does.

The questions come from the test, so that the brokers go on living: only so can it be seen what stays forbidden meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from kcontroller_chaos.history.read import History
from kcontroller_chaos.history.transactions import txn_event
from kcontroller_chaos.invariants import named
from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.sim.cluster import SimCluster
from pytest_kcontroller.cluster.timing import unscaled
from pytest_kcontroller.cluster.tree import Tree
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.runtime.scheduler import Scheduler
from pytest_kcontroller.sim.world import World
from pytest_kcontroller.wire.client import RequestClient
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import ControlledShutdownRequest

TP = TopicPartition("t", 0)


def in_world(directory: Path, script: Callable[[SimCluster], Awaitable[None]]) -> History:
    """Runs `script` on three simulated nodes with one topic, all of whose replicas are in sync."""
    with Scheduler() as scheduler, unscaled():
        world, loop = World(scheduler, 1), scheduler.process("test")

        async def live() -> None:
            settings = ClusterSettings(nodes=3, session_timeout_ms=1000)
            cluster = await SimCluster.start(world, settings, directory, on_exit=lambda *_: None, loop=loop)
            await cluster.create_topic("t", assignment={0: (0, 1, 2)})
            await cluster.create_topic("single", assignment={0: (1,)})
            await cluster.wait_until_converged(timeout_s=10)
            await script(cluster)
            await cluster.stop()

        scheduler.run_until_complete(loop.create_task(live(), name="test"))
        txns = [txn_event(txn, seq, t_us) for seq, (t_us, txn) in enumerate(world.zookeeper.txns)]
    return History((*world.events, *txns))


async def ask(cluster: SimCluster, broker: int, *, epoch: int | None = None, of: int | None = None) -> Any:
    """The answer of the controller (or of node `of`) to `broker`, whose registration is the current one."""
    if epoch is None:
        status = await cluster.status(broker)
        assert status is not None
        epoch = int(status.raw["broker_epoch"])
    controller = await cluster.controller() if of is None else of
    client = RequestClient(*cluster.route("0" if controller else "1", str(controller)))
    try:
        return await client.request(
            ControlledShutdownRequest(broker_id=broker, broker_epoch=epoch), timeout_us=2_000_000
        )
    finally:
        client.close()


async def state(cluster: SimCluster) -> tuple[int, list[int]]:
    """Leader and ISR of t-0 in ZooKeeper."""
    now = (await cluster.tree()).partitions[TP].state
    assert now is not None
    return now.leader, sorted(now.isr)


def remaining(answer: Any) -> list[str]:
    assert answer.error_code == ErrorCode.NONE
    return [f"{tp.topic_name}-{tp.partition_index}" for tp in answer.remaining_partitions]


def test_followers_leave_the_isr_and_the_last_leader_remains(
    tmp_path: Path,
) -> None:  # ControllerIntegrationTest, testControlledShutdown
    async def script(cluster: SimCluster) -> None:
        assert remaining(await ask(cluster, 2)) == []
        assert await state(cluster) == (0, [0, 1])
        assert remaining(await ask(cluster, 1)) == []  # what has one replica only does not count
        assert await state(cluster) == (0, [0])
        assert remaining(await ask(cluster, 0)) == ["t-0"]
        assert await state(cluster) == (0, [0])

    history = in_world(tmp_path, script)
    assert [e["remaining"] for e in history.of("controller.controlled-shutdown")] == [[], [], ["t-0"]]
    assert named("relieved-stay-out-of-isr").check(history).verdict == "held"


def test_a_leader_is_relieved_by_the_first_that_is_in_sync(tmp_path: Path) -> None:
    async def script(cluster: SimCluster) -> None:
        assert remaining(await ask(cluster, 0)) == []
        assert await state(cluster) == (1, [1, 2])
        assert remaining(await ask(cluster, 0)) == []  # asked again, it is the same
        assert await state(cluster) == (1, [1, 2])

    elected = in_world(tmp_path, script).rows("leader.elected")
    assert [(e["leader"], e["leader_epoch"]) for e in elected if e["reason"] == "controlled_shutdown"] == [(1, 1)]


def test_it_stays_out_of_elections_and_isrs_until_it_registers_again(tmp_path: Path) -> None:
    async def script(cluster: SimCluster) -> None:
        await ask(cluster, 2)
        await asyncio.sleep(3)  # its leader asks for it all the time, since it still looks alive (KAFKA-14140)
        assert await state(cluster) == (0, [0, 1])
        await cluster.create_topic("new", assignment={0: (2, 1)})

        async def led() -> str | None:
            now = (await cluster.tree()).partitions[TopicPartition("new", 0)].state
            return None if now is not None and (now.leader, now.isr) == (1, (1,)) else f"{now}"

        await cluster.wait_until("1 leads alone", led, timeout_s=5)
        await cluster.kill(2)
        await cluster.restart(2)
        await cluster.wait_until_converged(timeout_s=10)
        assert await state(cluster) == (0, [0, 1, 2])

    assert named("relieved-stay-out-of-isr").check(in_world(tmp_path, script)).verdict == "held"


def test_what_a_controller_refuses(
    tmp_path: Path,
) -> None:  # ..., testControllerRejectControlledShutdownRequestWithStaleBrokerEpoch
    async def script(cluster: SimCluster) -> None:
        before: Tree = await cluster.tree()
        controller = await cluster.controller()
        other = next(node for node in cluster.nodes if node != controller)
        for answer, error in (
            (await ask(cluster, 2, epoch=1), ErrorCode.STALE_BROKER_EPOCH),
            (await ask(cluster, 9, epoch=1), ErrorCode.BROKER_NOT_AVAILABLE),
            (await ask(cluster, 2, of=other), ErrorCode.NOT_CONTROLLER),
        ):
            assert (answer.error_code, answer.remaining_partitions) == (error, [])
        assert (await cluster.tree()).partitions == before.partitions
        assert remaining(await ask(cluster, 2, epoch=-1)) == []  # from before KIP-380

    in_world(tmp_path, script)


def test_a_new_controller_knows_of_no_shutdown(tmp_path: Path) -> None:
    async def script(cluster: SimCluster) -> None:
        old = await cluster.controller()
        assert old is not None
        leaving = next(node for node in cluster.nodes if node != old)
        await ask(cluster, leaving)
        assert leaving not in (await state(cluster))[1]
        await cluster.expire_session_server(old)
        await cluster.wait_until_converged(timeout_s=10)
        assert await state(cluster) == ((await state(cluster))[0], [0, 1, 2])

    in_world(tmp_path, script)


@pytest.mark.parametrize("how", ["asked to end at once", "the session ended"])
def test_it_is_cut_short(tmp_path: Path, how: str) -> None:
    """By a second signal, and by the end of the session, which has nothing left that could be relieved."""

    async def script(cluster: SimCluster) -> None:
        controller = await cluster.controller()
        node = next(node for node in cluster.nodes if node != controller)
        await cluster.cut(str(node), str(controller), "control")
        await cluster.terminate(node)
        await asyncio.sleep(0.5)
        assert node in cluster.running
        if how == "the session ended":
            await cluster.expire_session_server(node)
        else:
            await cluster.terminate(node)
        await asyncio.sleep(0.2)
        assert node not in cluster.running

    (said,) = in_world(tmp_path, script).of("broker.controlled-shutdown")
    assert (said["done"], said["why"]) == (False, how)
