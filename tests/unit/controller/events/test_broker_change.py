"""BrokerChange: who is new, bounced or dead, and what becomes of the replicas there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_kcontroller.model.cluster import LeaderAndIsr, TopicPartition
from pytest_kcontroller.zookeeper.session import Create
from pytest_kcontroller.zookeeper.znodes import state_path
from tests.tools.controller_box import ControllerBox


def running(box: ControllerBox, replicas: list[list[int]]) -> None:
    """Topic t, led by the first replica of each partition."""
    box.create_topic("t", replicas)
    box.start()
    box.forget()


def test_a_dead_leader_is_replaced_in_one_write(box: ControllerBox) -> None:
    running(box, [[1, 2, 3]])
    box.remove_broker(1)
    expected = LeaderAndIsr(leader=2, leader_epoch=1, isr=(2, 3), controller_epoch=1, partition_epoch=1)
    assert box.states_written() == [("t-0", expected)]
    assert sorted(box.recipients("LeaderAndIsr")) == [2, 3]
    assert box.entry("LeaderAndIsr", "t-0", to=2).leader == 2
    assert box.events("leader.elected")[0]["reason"] == "offline"


def test_a_dead_follower_leaves_the_isr_and_all_other_replicas_hear_of_it(box: ControllerBox) -> None:
    """KAFKA-1188: the leader epoch changes, so every replica needs it."""
    running(box, [[1, 2, 3]])
    box.remove_broker(3)
    expected = LeaderAndIsr(leader=1, leader_epoch=1, isr=(1, 2), controller_epoch=1, partition_epoch=1)
    assert box.states_written() == [("t-0", expected)]
    assert box.recipients("LeaderAndIsr") == {1: ["t-0"], 2: ["t-0"]}
    assert list(box.recipients("UpdateMetadata")) == [1, 2]


def test_a_leader_that_has_left_the_isr_itself_leads_on_when_a_follower_dies(box: ControllerBox) -> None:
    """Kafka does not look at it either: it is a replica, and lives."""
    running(box, [[1, 2, 3]])
    box.alter_partition("t-0", [2, 3])
    box.remove_broker(3)
    assert (box.state("t-0").leader, box.state("t-0").isr) == (1, (2,))


def test_the_last_of_the_isr_stays_in_it_without_a_leader(box: ControllerBox) -> None:
    """KAFKA-5083: nobody else could ever lead cleanly."""
    running(box, [[1]])
    box.remove_broker(1)
    assert box.state("t-0") == LeaderAndIsr(leader=-1, leader_epoch=1, isr=(1,), controller_epoch=1, partition_epoch=1)
    box.register_broker(1)
    assert (box.state("t-0").leader, box.state("t-0").leader_epoch) == (1, 2)


def test_a_broker_that_holds_nothing_is_missed_in_everybodys_metadata(box: ControllerBox) -> None:
    """KAFKA-13225: no election and no replica tells of it otherwise."""
    running(box, [[1, 2]])
    box.remove_broker(3)
    assert box.written() == []
    assert box.recipients("LeaderAndIsr") == {}
    assert [[broker.id for broker in sent.request.live_brokers] for sent in box.sent("UpdateMetadata")] == [[1, 2]] * 2


def test_a_new_broker_gets_everything_and_the_others_only_hear_of_it(box: ControllerBox) -> None:
    running(box, [[1, 2], [2, 1]])
    box.register_broker(4)
    assert box.recipients("LeaderAndIsr") == {}
    assert box.recipients("UpdateMetadata") == {1: [], 2: [], 3: [], 4: ["t-0", "t-1"]}
    assert box.written() == []


def test_a_broker_that_comes_back_is_told_its_replicas(box: ControllerBox) -> None:
    running(box, [[1, 2]])
    box.remove_broker(2)
    box.forget()
    box.register_broker(2)
    entry = box.entry("LeaderAndIsr", "t-0", to=2)
    assert (entry.leader, entry.isr, entry.leader_epoch, entry.is_new) == (1, (1,), 1, False)
    assert box.written() == []  # it joins the ISR when the leader asks for that


def test_a_bounced_broker_loses_its_leaderships_and_is_told_everything_again(box: ControllerBox) -> None:
    """KAFKA-7235: it may have forgotten all that it was told."""
    running(box, [[1, 2], [2, 1]])
    epoch = box.broker_epoch(1)
    box.bounce_broker(1)
    assert box.broker_epoch(1) > epoch
    assert [(box.state(name).leader, box.state(name).isr) for name in ("t-0", "t-1")] == [(2, (2,)), (2, (2,))]
    assert box.recipients("LeaderAndIsr")[1] == ["t-0", "t-1"]
    assert {sent.request.broker_epoch for sent in box.sent(to=1)} == {box.broker_epoch(1)}


def test_several_brokers_that_go_at_once_are_one_change(box: ControllerBox) -> None:
    running(box, [[1, 2, 3]])
    box.remove_broker(1, 2)
    assert box.state("t-0") == LeaderAndIsr(leader=3, leader_epoch=1, isr=(3,), controller_epoch=1, partition_epoch=1)


@pytest.mark.parametrize("unclean", [False, True])
def test_an_isr_that_its_leader_widened_unseen_counts_when_that_dies(unclean: bool) -> None:
    """A leader before Kafka 2.7 writes the state itself, and may die first. Source: doElectLeaderForPartitions."""
    with ControllerBox(brokers=(1, 2, 3), config={"unclean.leader.election.enable": unclean}) as box:
        running(box, [[1, 3, 2], [1, 2]])
        box.alter_partition("t-0", [1])
        box.alter_partition("t-1", [1])
        widened = replace(box.state("t-0"), isr=(1, 2))
        box.set_state("t-0", widened)
        box.forget()
        box.remove_broker(1)
        assert (box.state("t-0").leader, box.state("t-0").isr) == (2, (2,))
        assert not box.state("t-0").recovering
        assert box.state("t-0").leader_epoch == widened.leader_epoch + 1
        assert (box.state("t-1").leader, box.state("t-1").isr) == ((2, (2,)) if unclean else (-1, (1,)))


def test_a_state_is_read_again_only_where_nobody_can_lead(box: ControllerBox) -> None:
    running(box, [[1, 2], [1]])
    box.remove_broker(1)
    assert [box.reads().count(state_path(TopicPartition("t", number))) for number in (0, 1)] == [0, 1]


def test_nobody_of_the_isr_is_left_and_unclean_election_is_off(box: ControllerBox) -> None:
    running(box, [[1, 2]])
    box.remove_broker(2)
    box.remove_broker(1)
    box.register_broker(2)
    assert (box.state("t-0").leader, box.state("t-0").isr) == (-1, (1,))


def test_unclean_election_makes_the_first_live_replica_the_leader_of_a_partition_that_recovers() -> None:
    with ControllerBox(brokers=(1, 2), config={"unclean.leader.election.enable": True}) as box:
        running(box, [[1, 2]])
        box.remove_broker(2)
        box.remove_broker(1)
        box.register_broker(2)
        state = box.state("t-0")
        assert (state.leader, state.isr, state.recovering) == (2, (2,), True)
        assert box.entry("LeaderAndIsr", "t-0", to=2).leader_recovery_state == 1


def test_a_corrupt_registration_costs_only_itself(box: ControllerBox) -> None:
    running(box, [[1, 2]])
    box.write(Create("/brokers/ids/7", b"{", ephemeral=True))
    box.remove_broker(1)
    assert box.state("t-0").leader == 2
    assert "/brokers/ids/7" in box.events("controller.event-failed")[0]["error"]


@pytest.mark.parametrize("count", [1, 7])
def test_reads_of_a_change_are_of_the_brokers_and_not_of_topics(box: ControllerBox, count: int) -> None:
    running(box, [[1, 2]])
    for number in range(count):
        box.create_topic(f"other{number}", [[1, 3]])
    box.forget()
    box.remove_broker(2)
    assert not [path for path in box.reads() if path.startswith("/brokers/topics") and not path.endswith("/state")]
