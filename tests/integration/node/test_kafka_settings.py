"""Each of Kafka's settings that nodes know has an effect: the same script, once without it and once with it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.sim.cluster import SimCluster
from pytest_kcontroller.cluster.timing import unscaled
from pytest_kcontroller.cluster.topics import mark_deleted
from pytest_kcontroller.errors import StartError
from pytest_kcontroller.model.cluster import NO_LEADER, LeaderAndIsr, TopicPartition
from pytest_kcontroller.model.kafka_config import KAFKA_CONFIG
from pytest_kcontroller.runtime.scheduler import Scheduler
from pytest_kcontroller.sim.world import World
from pytest_kcontroller.wire.client import RequestClient
from pytest_kcontroller.wire.messages import CreatableTopic, CreateTopicsRequest

TP = TopicPartition("t", 0)
SESSION_MS = 4000
Seen = TypeVar("Seen")


def in_world(directory: Path, config: dict[str, Any], script: Callable[[SimCluster, World], Awaitable[Seen]]) -> Seen:
    """What `script` answers, on three simulated nodes."""
    with Scheduler() as scheduler, unscaled():
        world, loop = World(scheduler, 1), scheduler.process("test")

        async def played() -> Seen:
            settings = ClusterSettings(nodes=3, session_timeout_ms=SESSION_MS, config=config)
            cluster = await SimCluster.start(world, settings, directory, on_exit=lambda *_: None, loop=loop)
            await cluster.wait_until_converged(timeout_s=10)
            seen = await script(cluster, world)
            await cluster.stop()
            return seen

        return scheduler.run_until_complete(loop.create_task(played(), name="test"))


async def two_followers(cluster: SimCluster) -> tuple[int, int]:
    """The nodes that are not the controller."""
    controller = await cluster.controller()
    first, second = (node for node in cluster.nodes if node != controller)
    return first, second


async def wait_for_state(cluster: SimCluster, what: str, holds: Callable[[LeaderAndIsr], bool]) -> None:
    async def check() -> str | None:
        state = (await cluster.tree()).partitions[TP].state
        return None if state is not None and holds(state) else f"ZooKeeper holds {state}"

    await cluster.wait_until(what, check, timeout_s=10)


async def leads_out_of_sync(cluster: SimCluster, world: World) -> bool:
    """Whether a replica leads that was dead when the leader became the only one in sync."""
    first, second = await two_followers(cluster)
    await cluster.create_topic("t", assignment={0: (first, second)})
    await cluster.wait_until_converged(timeout_s=10)
    await cluster.kill(second)
    await wait_for_state(cluster, "only the leader is in sync", lambda state: tuple(state.isr) == (first,))
    await cluster.kill(first)
    await wait_for_state(cluster, "nobody leads", lambda state: state.leader == NO_LEADER)
    await cluster.restart(second)
    await world.clock.sleep_us(SESSION_MS * 1000)  # of virtual time: the controller has seen the node long before
    state = (await cluster.tree()).partitions[TP].state
    return state is not None and state.leader == second


async def leads_again(cluster: SimCluster, world: World) -> bool:
    """Whether the first replica leads again, ten seconds after it has come back; the controller is elected long before."""
    first, second = await two_followers(cluster)
    await cluster.create_topic("t", assignment={0: (first, second)})
    await world.clock.sleep_us(6_000_000)
    await cluster.kill(first)
    await wait_for_state(cluster, "the other one leads", lambda state: state.leader == second)
    await cluster.restart(first)
    await cluster.wait_until_converged(timeout_s=10)
    await world.clock.sleep_us(10_000_000)
    state = (await cluster.tree()).partitions[TP].state
    return state is not None and state.leader == first


async def shutdown_of_a_last_replica(cluster: SimCluster, world: World) -> dict[str, Any] | None:
    """What a node that nobody can take over from records of its orderly end, with the time that it took (us)."""
    _, node = await two_followers(cluster)
    await cluster.cut(str(node), str(await cluster.controller()), "control")
    began_us = world.clock.now_us()
    await cluster.stop_node(node)
    ends = [event for event in world.events if event["kind"] == "broker.controlled-shutdown"]
    return {**ends[0], "took_us": world.clock.now_us() - began_us} if ends else None


async def knows_a_topic_over_a_slow_link(cluster: SimCluster, world: World) -> bool:
    """Whether a node whose answers take 1.2 s has heard of a topic after five: UpdateMetadata is sent when the request
    before it has been answered."""
    first, second = await two_followers(cluster)
    await cluster.slow(str(await cluster.controller()), str(second), "control", delay_ms=600)
    await cluster.create_topic("t", assignment={0: (first, second)})
    await world.clock.sleep_us(5_000_000)
    return '"t-0"' in json.dumps(await cluster.metadata(second))


async def seconds_until_a_start_is_given_up(cluster: SimCluster, world: World) -> float:
    first, _ = await two_followers(cluster)
    await cluster.kill(first)
    await cluster.cut(str(first), "zookeeper", "zk")
    with pytest.raises(StartError, match="it ended with status") as given_up:
        await cluster.restart(first)
    return given_up.value.seconds


async def seconds_until_a_full_disk_is_noticed(cluster: SimCluster, world: World) -> float:
    """From the registration of a node that has started on it, which needs no room, to its end."""
    first, _ = await two_followers(cluster)
    await cluster.kill(first)
    await cluster.fill_disk(first)
    await cluster.restart(first)
    began_us = world.clock.now_us()

    async def check() -> str | None:
        return "it runs" if first in cluster.running else None

    await cluster.wait_until("it halts", check, timeout_s=10)
    (said,) = (event for event in world.events if event["kind"] == "broker.log-dir-failed")
    assert (said["writer"], said["code"]) == (f"node-{first}.2", "ENOSPC")
    return (int(said["t_us"]) - began_us) / 1e6


async def shape_of_a_new_topic(cluster: SimCluster, world: World) -> tuple[int, int]:
    """Partitions and replicas of a topic that a client creates without saying how many."""
    controller = await cluster.controller()
    client = RequestClient(*cluster.route("0" if controller else "1", str(controller)))
    topic = CreatableTopic(name="t", num_partitions=-1, replication_factor=-1, assignments=[], configs=[])
    answer = await client.request(CreateTopicsRequest(topics=[topic]), timeout_us=10_000_000)
    client.close()
    return answer.topics[0].num_partitions, answer.topics[0].replication_factor


async def is_gone_after_a_deletion(cluster: SimCluster, world: World) -> bool:
    await cluster.create_topic("t", assignment={0: (0, 1)})
    await cluster.write("the topic was marked for deletion", partial(mark_deleted, name="t"))
    await cluster.wait_until_converged(timeout_s=10)
    return TP not in (await cluster.tree()).partitions


def test_unclean_election(tmp_path: Path) -> None:
    assert not in_world(tmp_path, {}, leads_out_of_sync)
    assert in_world(tmp_path, {"unclean.leader.election.enable": True}, leads_out_of_sync)


def test_leaders_go_back_by_themselves(tmp_path: Path) -> None:
    config: dict[str, Any] = {"auto.leader.rebalance.enable": True, "leader.imbalance.check.interval.seconds": 8}
    assert in_world(tmp_path, config, leads_again)
    assert not in_world(tmp_path, config | {"auto.leader.rebalance.enable": False}, leads_again)
    assert not in_world(tmp_path, config | {"leader.imbalance.check.interval.seconds": 60}, leads_again)
    assert not in_world(tmp_path, config | {"leader.imbalance.per.broker.percentage": 100}, leads_again)


def test_controlled_shutdown_can_be_switched_off(tmp_path: Path) -> None:
    assert in_world(tmp_path, {}, shutdown_of_a_last_replica) is not None
    assert in_world(tmp_path, {"controlled.shutdown.enable": False}, shutdown_of_a_last_replica) is None


def test_the_tries_of_a_controlled_shutdown(tmp_path: Path) -> None:
    for config, tries in (({}, 3), ({"controlled.shutdown.max.retries": 5}, 5)):
        seen = in_world(tmp_path, config, shutdown_of_a_last_replica)
        assert seen is not None
        assert (seen["done"], seen["tries"]) == (False, tries)


def test_the_pause_between_two_tries_of_a_controlled_shutdown(tmp_path: Path) -> None:
    stock, longer = (
        in_world(tmp_path, config, shutdown_of_a_last_replica)
        for config in ({}, {"controlled.shutdown.retry.backoff.ms": 1300})
    )
    assert stock is not None and longer is not None
    assert longer["took_us"] - stock["took_us"] == pytest.approx(2 * 1_000_000, abs=100_000)


def test_the_time_limit_of_a_request(tmp_path: Path) -> None:
    assert in_world(tmp_path, {}, knows_a_topic_over_a_slow_link)
    assert not in_world(tmp_path, {"controller.socket.timeout.ms": 300}, knows_a_topic_over_a_slow_link)


def test_the_wait_for_a_first_session(tmp_path: Path) -> None:
    config = {"zookeeper.connection.timeout.ms": 700}
    assert in_world(tmp_path, config, seconds_until_a_start_is_given_up) == pytest.approx(0.7, abs=0.1)
    assert in_world(tmp_path, {}, seconds_until_a_start_is_given_up) == pytest.approx(18, abs=0.1)


def test_the_interval_of_checkpoints(tmp_path: Path) -> None:
    config = {"replica.high.watermark.checkpoint.interval.ms": 700}
    assert in_world(tmp_path, config, seconds_until_a_full_disk_is_noticed) == pytest.approx(0.7, abs=0.1)
    assert in_world(tmp_path, {}, seconds_until_a_full_disk_is_noticed) == pytest.approx(5, abs=0.1)


def test_deletion_can_be_switched_off(tmp_path: Path) -> None:
    assert in_world(tmp_path, {}, is_gone_after_a_deletion)
    assert not in_world(tmp_path, {"delete.topic.enable": False}, is_gone_after_a_deletion)


def test_the_shape_of_a_new_topic(tmp_path: Path) -> None:
    assert in_world(tmp_path, {}, shape_of_a_new_topic) == (1, 1)
    config = {"num.partitions": 3, "default.replication.factor": 2}
    assert in_world(tmp_path, config, shape_of_a_new_topic) == (3, 2)


def test_each_setting_has_a_test_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert [setting.name for setting in KAFKA_CONFIG if f'"{setting.name}":' not in text] == []
