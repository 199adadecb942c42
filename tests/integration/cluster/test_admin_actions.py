"""Admin actions on simulated nodes: what each makes of a running cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from kcontroller_chaos.admin import (
    AddNode,
    AddPartitions,
    AdminAction,
    DeleteTopic,
    ElectPreferred,
    ElectUnclean,
    SetConfig,
)
from pytest_kcontroller.cluster.observed import MOST_ADDED, ClusterSettings
from pytest_kcontroller.cluster.sim.cluster import SimCluster
from pytest_kcontroller.cluster.timing import unscaled
from pytest_kcontroller.errors import UsageError, WaitTimeoutError
from pytest_kcontroller.model.cluster import NO_LEADER, LeaderAndIsr, TopicPartition
from pytest_kcontroller.runtime.scheduler import Scheduler
from pytest_kcontroller.sim.world import World

LIMIT_S = 10
UNCLEAN = "unclean.leader.election.enable"


def on_cluster(directory: Path, script: Callable[[SimCluster], Awaitable[None]]) -> None:
    """Plays `script` on four nodes, with a topic `t` of one partition on nodes 0 and 1, led by 0."""
    with Scheduler() as scheduler, unscaled():
        world, loop = World(scheduler, 1), scheduler.process("test")

        async def played() -> None:
            settings = ClusterSettings(nodes=4, session_timeout_ms=1000)
            cluster = await SimCluster.start(world, settings, directory, on_exit=lambda *_: None, loop=loop)
            await cluster.wait_until_converged(timeout_s=LIMIT_S)
            await cluster.create_topic("t", assignment={0: (0, 1)})
            await cluster.wait_until_converged(timeout_s=LIMIT_S)
            await script(cluster)
            await cluster.stop()

        scheduler.run_until_complete(loop.create_task(played(), name="test"))


async def carry_out(cluster: SimCluster, action: AdminAction) -> None:
    """Until it has come about."""
    await action.carry_out(cluster)

    async def check() -> str | None:
        return action.undone(await cluster.tree())

    await cluster.wait_until(f"{action} has come about", check, timeout_s=LIMIT_S)


async def state(cluster: SimCluster, number: int = 0) -> LeaderAndIsr:
    found = (await cluster.tree()).partitions[TopicPartition("t", number)].state
    assert found is not None
    return found


async def wait_for(cluster: SimCluster, holds: Callable[[LeaderAndIsr], bool]) -> None:
    async def check() -> str | None:
        found = await state(cluster)
        return None if holds(found) else f"ZooKeeper holds {found}"

    await cluster.wait_until("the partition is as it should be", check, timeout_s=LIMIT_S)


def test_elect_preferred_gives_the_partitions_back(tmp_path: Path) -> None:
    async def script(cluster: SimCluster) -> None:
        await cluster.kill(0)
        await wait_for(cluster, lambda now: now.leader == 1)
        await cluster.restart(0)
        await cluster.wait_until_converged(timeout_s=LIMIT_S)
        await carry_out(cluster, ElectPreferred(topic="t"))
        assert (await state(cluster)).leader == 0
        with pytest.raises(UsageError, match="there is no topic 'u'"):
            await carry_out(cluster, ElectPreferred(topic="u"))

    on_cluster(tmp_path, script)


def test_set_config_lets_a_replica_lead_that_is_out_of_sync(tmp_path: Path) -> None:
    """For the topic; it is on in the moment when it is written, and off again when it is taken back."""

    async def lose_all_in_sync(cluster: SimCluster) -> None:
        await cluster.kill(1)
        await wait_for(cluster, lambda now: now.isr == (0,))
        await cluster.kill(0)
        await wait_for(cluster, lambda now: now.leader == NO_LEADER)
        await cluster.restart(1)

    async def script(cluster: SimCluster) -> None:
        with pytest.raises(UsageError, match="there is no topic 'u'"):
            await carry_out(cluster, SetConfig(setting=UNCLEAN, value="true", topic="u"))
        await lose_all_in_sync(cluster)
        await carry_out(cluster, SetConfig(setting=UNCLEAN, value="true", topic="t"))
        await wait_for(cluster, lambda now: now.leader == 1)
        await cluster.restart(0)
        await cluster.wait_until_converged(timeout_s=LIMIT_S)
        await carry_out(cluster, SetConfig(setting=UNCLEAN, value="", topic="t"))
        await carry_out(cluster, ElectPreferred())
        await lose_all_in_sync(cluster)
        await asyncio.sleep(LIMIT_S)  # of virtual time: the controller has seen node 1 long before
        assert (await state(cluster)).leader == NO_LEADER
        await carry_out(cluster, SetConfig(setting=UNCLEAN, value="true"))
        await wait_for(cluster, lambda now: now.leader == 1)

    on_cluster(tmp_path, script)


def test_elect_unclean_gives_a_leader_to_what_has_none(tmp_path: Path) -> None:
    async def script(cluster: SimCluster) -> None:
        await carry_out(cluster, ElectUnclean())
        assert (await state(cluster)).leader == 0  # somebody live leads
        await cluster.kill(1)
        await wait_for(cluster, lambda now: now.isr == (0,))
        await cluster.kill(0)
        await wait_for(cluster, lambda now: now.leader == NO_LEADER)
        with pytest.raises(UsageError, match="t-0 gets no leader: t-0: no replica may lead it"):
            await carry_out(cluster, ElectUnclean(topic="t"))
        await cluster.restart(1)
        await carry_out(cluster, ElectUnclean(topic="t"))
        found = await state(cluster)
        assert (found.leader, found.isr, found.recovering) == (1, (1,), True)

    on_cluster(tmp_path, script)


def test_add_partitions_are_led_and_placed_as_the_first_ones_are(tmp_path: Path) -> None:
    async def script(cluster: SimCluster) -> None:
        await carry_out(cluster, AddPartitions(topic="t", partitions=3))
        placed = {tp.partition: now.assignment.replicas for tp, now in (await cluster.tree()).partitions.items()}
        assert placed == {0: (0, 1), 1: (1, 2), 2: (2, 3), 3: (3, 0)}  # ring of four, from broker 0 on
        assert [(await state(cluster, number)).leader for number in range(4)] == [0, 1, 2, 3]
        await cluster.wait_until_converged(timeout_s=LIMIT_S)

    on_cluster(tmp_path, script)


def test_add_partitions_refuses_what_kafka_refuses(tmp_path: Path) -> None:
    async def script(cluster: SimCluster) -> None:
        for assignment, says in (
            ({}, "there are none"),
            ({0: (2, 3)}, "it placed the partitions 0, not 1"),
            ({1: (2,)}, "partition 1 has 1 replicas, not 2"),
            ({1: (2, 9)}, "partition 1 is on broker 9"),
        ):
            with pytest.raises(UsageError, match=says):
                await cluster.add_partitions("t", assignment=assignment)
        with pytest.raises(UsageError, match="there is no topic 'u'"):
            await cluster.add_partitions("u")
        await cluster.kill(1)
        await DeleteTopic(topic="t").carry_out(cluster)
        with pytest.raises(UsageError, match="the topic 't' is being deleted"):
            await cluster.add_partitions("t")

    on_cluster(tmp_path, script)


def test_a_deletion_says_whom_it_waits_for(tmp_path: Path) -> None:
    async def script(cluster: SimCluster) -> None:
        with pytest.raises(UsageError, match="there is no topic 'u'"):
            await DeleteTopic(topic="u").carry_out(cluster)
        await cluster.kill(1)
        await DeleteTopic(topic="t").carry_out(cluster)
        waits = "the deletion of 't' waits for node 1: replicas of it are there, and it is not registered"
        with pytest.raises(WaitTimeoutError, match=waits):
            await cluster.wait_until_converged(timeout_s=5)
        assert DeleteTopic(topic="t").undone(await cluster.tree()) == waits
        for refused in (DeleteTopic(topic="t").carry_out(cluster), cluster.create_topic("t")):
            with pytest.raises(UsageError, match="the topic 't' is being deleted"):
                await refused
        await cluster.restart(1)
        await cluster.wait_until_converged(timeout_s=LIMIT_S)
        assert not (await cluster.tree()).partitions
        await cluster.create_topic("t", assignment={0: (1, 2)})
        await cluster.wait_until_converged(timeout_s=LIMIT_S)
        assert (await state(cluster)).leader_epoch == 0, "it is another topic"

    on_cluster(tmp_path, script)


def test_add_node_makes_a_node_that_leads_and_can_be_the_controller(tmp_path: Path) -> None:
    async def script(cluster: SimCluster) -> None:
        await carry_out(cluster, AddNode())
        assert cluster.nodes == cluster.running == (0, 1, 2, 3, 4)
        await cluster.wait_until_converged(timeout_s=LIMIT_S)
        await cluster.add_partitions("t", assignment={1: (4, 0)})
        await cluster.wait_until_converged(timeout_s=LIMIT_S)
        assert (await state(cluster, 1)).leader == 4
        for node in (0, 1, 2, 3):
            await cluster.kill(node)
        assert await cluster.wait_for_controller(other_than=0, timeout_s=LIMIT_S) is not None
        await wait_for(cluster, lambda now: now.leader == NO_LEADER)
        assert await cluster.controller() == 4

    on_cluster(tmp_path, script)


def test_add_node_needs_all_who_are_to_be_told(tmp_path: Path) -> None:
    async def script(cluster: SimCluster) -> None:
        await cluster.pause(2)
        with pytest.raises(UsageError, match="node 2 is paused, so it cannot be told of a new node"):
            await carry_out(cluster, AddNode())
        await cluster.resume(2)
        for _ in range(MOST_ADDED):
            await carry_out(cluster, AddNode())
        with pytest.raises(UsageError, match="8 nodes have joined already"):
            await carry_out(cluster, AddNode())

    on_cluster(tmp_path, script)


@pytest.mark.parametrize(
    ("setting", "value", "says"),
    [
        ("controlled.shutdown.enable", "true", "cannot be changed while nodes run"),
        ("unclean.leader.election", "true", "nodes do not know Kafka's setting 'unclean.leader.election'"),
        (UNCLEAN, "perhaps", "is not true or false"),
    ],
)
def test_what_cannot_be_configured_is_wrong_in_the_file_already(setting: str, value: str, says: str) -> None:
    wrong = SetConfig(setting=setting, value=value).wrong_on(3)
    assert wrong is not None
    assert says in wrong[1]
