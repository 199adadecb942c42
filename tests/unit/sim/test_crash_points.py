"""Crash points: a node stands still exactly at its N-th write or request, and what was about to leave follows its fate."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.sim.cluster import SimCluster
from pytest_kcontroller.cluster.timing import unscaled
from pytest_kcontroller.runtime.scheduler import Scheduler
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.sim.world import World
from pytest_kcontroller.zookeeper.session import Create, SetData
from pytest_kcontroller.zookeeper.txn import Txn

SESSION_MS = 1000


class Playing:
    """A cluster of three whose controller is about to make a topic; `node` is the controller, and stands at the point."""

    def __init__(self, world: World, cluster: SimCluster) -> None:
        self.world, self.cluster = world, cluster
        self.node = self.session = -1

    async def reach(self, point: str, count: int) -> None:
        self.node = await self.cluster.wait_for_controller(timeout_s=5)
        await self.cluster.wait_until_converged(timeout_s=5)
        status = await self.cluster.status(self.node)
        assert status is not None
        self.session = status.session
        reaching = asyncio.create_task(self.cluster.reach(self.cluster.nodes, point, count))
        await asyncio.sleep(0)
        await self.cluster.create_topic("t", partitions=3, replication_factor=3)
        assert await reaching == self.node

    def writes(self) -> list[Txn]:
        """What the controller's session wrote of the topic."""
        txns = [txn for _, txn in self.world.zookeeper.txns if txn.session == self.session]
        return [txn for txn in txns if any("/topics/t" in (op.path or "") for op in txn.ops)]

    def roles(self) -> list[dict[str, Any]]:
        return [event for event in self.world.events if event["kind"].startswith("broker.become-")]


def play(directory: Path, work: Callable[[Playing], Awaitable[None]]) -> None:
    with Scheduler() as scheduler, unscaled():
        world, loop = World(scheduler, 1), scheduler.process("engine")

        async def run() -> None:
            settings = ClusterSettings(nodes=3, session_timeout_ms=SESSION_MS)
            cluster = await SimCluster.start(world, settings, directory, on_exit=lambda *_: None, loop=loop)
            try:
                await work(Playing(world, cluster))
            finally:
                await cluster.stop()

        scheduler.run_until_complete(loop.create_task(run()))


@pytest.mark.parametrize(("point", "effects"), [("write", 1), ("written", 2)])
def test_a_kill_at_the_second_write_comes_before_or_after_its_effect(tmp_path: Path, point: str, effects: int) -> None:
    async def work(playing: Playing) -> None:
        await playing.reach(point, 2)
        await playing.cluster.kill(playing.node)
        await playing.cluster.thaw(playing.node)
        await playing.cluster.wait_for_controller(other_than=playing.node, timeout_s=5)
        assert len(playing.writes()) == effects

    play(tmp_path, work)


def test_a_rare_write_is_one_that_hardly_came_before(tmp_path: Path) -> None:
    async def work(playing: Playing) -> None:
        cluster = playing.cluster
        await cluster.create_topic("s")
        await cluster.wait_until_converged(timeout_s=5)
        reaching = asyncio.create_task(cluster.reach(cluster.nodes, "rare-written", 1))
        await asyncio.sleep(0)
        await cluster.create_topic("t")
        await cluster.wait_until_converged(timeout_s=5)
        assert not reaching.done(), "the same has been written for s"
        await cluster.admin.submit(Create("/admin/delete_topics/s"))
        assert await reaching == await cluster.controller()
        await cluster.thaw(await reaching)
        reaching = asyncio.create_task(cluster.reach(cluster.nodes, "rare-write", 1))
        await cluster.thaw(await reaching)
        await cluster.wait_until_converged(timeout_s=5)

    play(tmp_path, work)


def test_a_pause_before_a_write_keeps_it_back_until_the_node_goes_on(tmp_path: Path) -> None:
    async def work(playing: Playing) -> None:
        await playing.reach("write", 1)
        await playing.cluster.pause(playing.node)
        await playing.cluster.thaw(playing.node)
        await asyncio.sleep(0.3)
        assert playing.writes() == []
        await playing.cluster.resume(playing.node)
        await playing.cluster.wait_until_converged(timeout_s=5)
        assert playing.writes()
        assert await playing.cluster.controller() == playing.node

    play(tmp_path, work)


def test_a_write_that_was_kept_back_past_the_session_never_has_an_effect(tmp_path: Path) -> None:
    async def work(playing: Playing) -> None:
        await playing.reach("write", 1)
        await playing.cluster.pause(playing.node)
        await playing.cluster.thaw(playing.node)
        await playing.cluster.wait_for_controller(other_than=playing.node, timeout_s=5)
        await playing.cluster.resume(playing.node)
        await playing.cluster.wait_until_converged(timeout_s=5)
        assert playing.writes() == []

    play(tmp_path, work)


def test_a_kill_at_a_request_keeps_it_from_everybody(tmp_path: Path) -> None:
    async def work(playing: Playing) -> None:
        await playing.reach("request", 1)
        assert playing.writes()
        await playing.cluster.kill(playing.node)
        await playing.cluster.thaw(playing.node)
        await asyncio.sleep(SESSION_MS / 2000)
        assert playing.roles() == [], "nobody has another controller yet"
        await playing.cluster.restart(playing.node)
        await playing.cluster.wait_until_converged(timeout_s=5)
        assert playing.roles()

    play(tmp_path, work)


def test_after_a_thaw_without_a_fault_nothing_was_lost(tmp_path: Path) -> None:
    async def work(playing: Playing) -> None:
        for number, point in enumerate(("write", "written", "request")):
            await playing.cluster.wait_until_converged(timeout_s=5)
            reaching = asyncio.create_task(playing.cluster.reach(playing.cluster.nodes, point, 1))
            await asyncio.sleep(0)
            await playing.cluster.create_topic(f"t{number}")
            node = await reaching
            assert playing.cluster.process_state(node) == "S", "whoever asks is told that nobody has paused it"
            await playing.cluster.thaw(node)
        await playing.cluster.wait_until_converged(timeout_s=5)

    play(tmp_path, work)


def test_the_harness_itself_is_never_at_a_point_and_waiting_can_be_given_up(tmp_path: Path) -> None:
    async def work(playing: Playing) -> None:
        await playing.cluster.wait_until_converged(timeout_s=5)
        with pytest.raises(TimeoutError):
            async with within(1):
                reaching = asyncio.create_task(playing.cluster.reach(playing.cluster.nodes, "write", 1))
                await playing.cluster.admin.submit(SetData("/brokers", b""))
                await reaching
        await playing.cluster.create_topic("t")
        await playing.cluster.wait_until_converged(timeout_s=5)

    play(tmp_path, work)
