"""Brokers with several log directories: one fails, and the broker lives; what was there is led by others meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from kcontroller_chaos.admin.reassign import Reassign
from kcontroller_chaos.faults._links import cut
from kcontroller_chaos.history.read import History
from kcontroller_chaos.history.transactions import txn_event
from kcontroller_chaos.invariants import check_all
from pytest_kcontroller.broker.log_dir import CHECKPOINT
from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.sim.cluster import SimCluster
from pytest_kcontroller.cluster.timing import unscaled
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.model.history import BrokerBecomeFollower, BrokerLogDirFailed, BrokerLogDirOffline
from pytest_kcontroller.model.toxics import STREAMS
from pytest_kcontroller.runtime.scheduler import Scheduler
from pytest_kcontroller.sim.world import World
from pytest_kcontroller.zookeeper.znodes import LOG_DIR_EVENT

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
FIRST, SECOND = "log-dir-0", "log-dir-1"


def in_world(
    directory: Path,
    script: Callable[[SimCluster], Awaitable[None]],
    *,
    every_ms: int = 200,
    exits: Callable[[tuple[int, int]], None] = lambda _: None,
) -> History:
    """Runs `script` on three simulated nodes with two directories each: of `t`, which node 1 leads, partition 0 is in the
    first one there, and partition 1 in the second. `every_ms` they write down what they have; `exits` is told of each
    process that ends: its node, and its status."""
    with Scheduler() as scheduler, unscaled():
        world, loop = World(scheduler, 1), scheduler.process("test")

        async def live() -> None:
            config = {"replica.high.watermark.checkpoint.interval.ms": every_ms}
            settings = ClusterSettings(nodes=3, log_dirs=2, session_timeout_ms=1000, config=config)
            cluster = await SimCluster.start(world, settings, directory, on_exit=lambda *end: exits(end), loop=loop)
            await cluster.wait_until_converged(timeout_s=10)
            await cluster.create_topic("t", assignment={0: (1, 0, 2), 1: (1, 2, 0)})
            await cluster.wait_until_converged(timeout_s=10)
            assert {name: list(kept) for name, kept in cluster.log_dirs_of(1).items()} == {
                FIRST: ["t-0"],
                SECOND: ["t-1"],
            }
            await script(cluster)
            await cluster.stop()

        scheduler.run_until_complete(loop.create_task(live(), name="test"))
        txns = [txn_event(txn, seq, t_us) for seq, (t_us, txn) in enumerate(world.zookeeper.txns)]
    return History(tuple(json.loads(json.dumps((*world.events, *txns)))))  # as it is read from files


async def wait_led(cluster: SimCluster, tp: TopicPartition, leader: int, isr: set[int]) -> None:
    async def check() -> str | None:
        state = (await cluster.tree()).partitions[tp].state
        return None if state is not None and (state.leader, {*state.isr}) == (leader, isr) else str(state)

    await cluster.wait_until(f"{tp} is led by {leader}", check, timeout_s=10)


async def stay(cluster: SimCluster, tp: TopicPartition, leader: int, isr: set[int]) -> None:
    """It is so, and nobody asks for anything else for a second."""
    await wait_led(cluster, tp, leader, isr)
    before = (await cluster.tree()).partitions[tp].state
    await asyncio.sleep(1.0)
    assert (await cluster.tree()).partitions[tp].state == before


async def wait_ended(cluster: SimCluster, node: int) -> None:
    async def check() -> str | None:
        return "it runs" if node in cluster.running else None

    await cluster.wait_until(f"node {node} halts", check, timeout_s=5)


def told(history: History) -> list[Any]:
    return [
        op["data"]
        for txn in history.txns
        for op in txn.get("ops") or ()
        if op.get("path", "").startswith(LOG_DIR_EVENT) and op["type"].startswith("create")
    ]


def violated(history: History) -> dict[str, Any]:
    return {entry["name"]: entry["seen"] for entry in check_all(history) if entry["verdict"] == "violated"}


def test_a_leader_moves_although_its_broker_lives(tmp_path: Path) -> None:
    async def script(cluster: SimCluster) -> None:
        session = cluster.session(1)
        cluster.fail_log_dir(1, FIRST)
        await stay(cluster, T0, 0, {0, 2})
        await stay(cluster, T1, 1, {0, 1, 2})
        metadata = await cluster.metadata(2)
        assert metadata is not None
        assert [metadata["partitions"][f"t-{n}"]["offline_replicas"] for n in (0, 1)] == [[1], []]
        await cluster.create_topic("later", assignment={0: (1, 2)})
        await wait_led(cluster, TopicPartition("later", 0), 1, {1, 2})
        assert list(cluster.log_dirs_of(1)[SECOND]) == ["t-1", "later-0"]
        assert cluster.session(1) == session

    history = in_world(tmp_path, script)
    assert told(history) == ['{"version":1,"broker":1,"event":1}']
    assert violated(history) == {}


def test_a_follower_in_a_failed_directory_leaves_the_isr_and_stays_out(tmp_path: Path) -> None:
    async def script(cluster: SimCluster) -> None:
        (name,) = [name for name, kept in cluster.log_dirs_of(2).items() if "t-0" in kept]
        cluster.fail_log_dir(2, name)
        await stay(cluster, T0, 1, {1, 0})

    assert violated(in_world(tmp_path, script)) == {}


def test_who_starts_with_a_failed_directory_has_the_others_and_with_a_mended_one_all(tmp_path: Path) -> None:
    async def script(cluster: SimCluster) -> None:
        cluster.fail_log_dir(1, FIRST)
        await wait_led(cluster, T0, 0, {0, 2})
        await cluster.stop_node(1)
        await cluster.restart(1)
        await stay(cluster, T0, 0, {0, 2})
        await wait_led(cluster, T1, 2, {0, 1, 2})
        cluster.mend_log_dir(1, FIRST)
        await cluster.stop_node(1)
        await cluster.restart(1)
        await wait_led(cluster, T0, 0, {0, 1, 2})
        await cluster.wait_until_converged(timeout_s=10)

    assert violated(in_world(tmp_path, script)) == {}


def test_a_replica_that_was_moved_away_may_come_back_although_its_directory_has_failed(tmp_path: Path) -> None:
    """Nobody tells a broker that was down: its log is there still, and the replica that comes back is a new one."""

    async def script(cluster: SimCluster) -> None:
        await cluster.stop_node(1)
        await Reassign(topic="t", partition=0, replicas=(0, 2)).carry_out(cluster)
        await wait_led(cluster, T0, 0, {0, 2})
        await cluster.restart(1)
        await cluster.wait_until_converged(timeout_s=10)
        assert list(cluster.log_dirs_of(1)[FIRST]) == ["t-0"]
        cluster.fail_log_dir(1, FIRST)
        await cluster.create_topic("finds-it", assignment={0: (1,)})
        await Reassign(topic="t", partition=0, replicas=(0, 1)).carry_out(cluster)
        await wait_led(cluster, T0, 0, {0, 1})

    history = in_world(tmp_path, script)
    (offline,) = history.of(BrokerLogDirOffline)
    assert (offline["directory"], offline["partitions"]) == (FIRST, [])
    assert violated(history) == {}


def test_a_new_controller_hears_of_it_too(tmp_path: Path) -> None:
    async def script(cluster: SimCluster) -> None:
        cluster.fail_log_dir(1, FIRST)
        await wait_led(cluster, T0, 0, {0, 2})
        old = await cluster.controller()
        assert old is not None
        await cluster.expire_session_server(old)
        await cluster.wait_for_controller(other_than=old, timeout_s=10)
        await asyncio.sleep(2.0)
        state = (await cluster.tree()).partitions[T0].state
        assert state is not None
        assert 1 not in (state.leader, *state.isr)

    assert violated(in_world(tmp_path, script)) == {}


def test_with_the_last_directory_and_on_a_full_disk_it_halts(tmp_path: Path) -> None:
    exits: list[tuple[int, int]] = []

    async def script(cluster: SimCluster) -> None:
        for name in (FIRST, SECOND):
            cluster.fail_log_dir(1, name)
        await cluster.fill_disk(2)
        for node in (1, 2):
            await wait_ended(cluster, node)
        assert sorted(exits) == [(1, 1), (2, 1)]
        cluster.wipe(1)
        assert cluster.files(1) == {}
        cluster.free_disk(2)
        for node in (1, 2):
            await cluster.restart(node)
        await cluster.wait_until_converged(timeout_s=10)

    history = in_world(tmp_path, script, exits=exits.append)
    for kind, name in ((BrokerLogDirOffline, FIRST), (BrokerLogDirFailed, SECOND)):
        said = sorted((event["writer"], event["file"], event["code"]) for event in history.of(kind))
        assert said == [
            ("node-1", f"{name}/{CHECKPOINT}", "EIO"),
            ("node-2", f"{name}/{CHECKPOINT}", "ENOSPC"),
        ]
    assert told(history) == []  # it halts before it could
    assert violated(history) == {}


def test_who_cannot_tell_of_the_first_halts_with_the_last(tmp_path: Path) -> None:
    """Found by a request of the controller's, which ZooKeeper is not needed for."""
    exits: list[tuple[int, int]] = []

    async def script(cluster: SimCluster) -> None:
        async def found() -> str | None:
            kept = cluster.log_dirs_of(1)[SECOND]
            return None if "elsewhere-0" in kept else str(kept)

        for stream in STREAMS:
            await cluster.impair("1", "zookeeper", "zk", cut(stream))
        cluster.fail_log_dir(1, FIRST)
        await cluster.create_topic("elsewhere", assignment={0: (0, 1, 2)})
        await cluster.wait_until("the first one is found to have failed", found, timeout_s=5)
        cluster.fail_log_dir(1, SECOND)
        await cluster.create_topic("nowhere", assignment={0: (0, 1, 2)})
        await wait_ended(cluster, 1)
        assert exits == [(1, 1)]
        for name in (FIRST, SECOND):
            cluster.mend_log_dir(1, name)
        for stream in STREAMS:
            await cluster.restore("1", "zookeeper", "zk", cut(stream))
        await cluster.restart(1)
        await cluster.wait_until_converged(timeout_s=10)

    history = in_world(tmp_path, script, every_ms=60_000, exits=exits.append)
    assert [event["directory"] for event in history.of(BrokerLogDirOffline)] == [FIRST]
    (failed,) = history.of(BrokerLogDirFailed)
    assert failed["file"].startswith(SECOND)
    followed = [event["topic"] for event in history.rows(BrokerBecomeFollower) if event["writer"] == "node-1"]
    assert followed == ["elsewhere"]
    assert violated(history) == {}
