"""TopicChange and PartitionModifications: new topics and partitions get a leader, and only what changed is read."""

from __future__ import annotations

import pytest

from pytest_kcontroller.model.cluster import LeaderAndIsr
from pytest_kcontroller.zookeeper.session import Delete, SetData
from tests.tools.controller_box import ControllerBox

FIRST = LeaderAndIsr(leader=1, leader_epoch=0, isr=(1, 2), controller_epoch=1, partition_epoch=0)


def test_the_first_live_replica_leads_a_new_partition_and_all_live_ones_are_in_sync(box: ControllerBox) -> None:
    """No selector is asked."""
    box.start()
    box.remove_broker(2)
    box.forget()
    box.create_topic("t", [[2, 3, 1]])
    state = LeaderAndIsr(leader=3, leader_epoch=0, isr=(3, 1), controller_epoch=1, partition_epoch=0)
    assert box.states_written() == [("t-0", state)]
    assert box.events("leader.elected")[0]["reason"] == "new"


def test_the_in_sync_replicas_hear_that_it_is_new_and_everybody_gets_metadata(box: ControllerBox) -> None:
    box.start()
    box.forget()
    box.create_topic("t", [[1, 2]])
    assert box.recipients("LeaderAndIsr") == {1: ["t-0"], 2: ["t-0"]}
    assert box.recipients("UpdateMetadata") == {1: ["t-0"], 2: ["t-0"], 3: ["t-0"]}
    assert all(sent.entries["t-0"].is_new for sent in box.sent("LeaderAndIsr"))
    assert box.recipients("StopReplica") == {}


def test_a_partition_that_nobody_can_lead_waits_for_a_broker(box: ControllerBox) -> None:
    box.start()
    box.create_topic("t", [[4, 5]])
    assert box.find_state("t-0") is None
    box.register_broker(5)
    assert box.state("t-0") == LeaderAndIsr(leader=5, leader_epoch=0, isr=(5,), controller_epoch=1, partition_epoch=0)


def test_new_partitions_of_a_topic_leave_the_others_alone(box: ControllerBox) -> None:
    box.create_topic("t", [[1, 2]])
    box.start()
    box.forget()
    box.change_topic("t", [[1, 2], [2, 3]])
    assert [name for name, _ in box.states_written()] == ["t-1"]
    assert box.recipients("LeaderAndIsr") == {2: ["t-1"], 3: ["t-1"]}


def test_a_state_that_is_there_already_is_not_overwritten(box: ControllerBox) -> None:
    """As in Kafka: whoever has made it knows more."""
    box.start()
    box.forget()
    theirs = LeaderAndIsr(leader=2, leader_epoch=5, isr=(2,), controller_epoch=1)
    box.create_topic("t", [[1, 2]], states={0: theirs})
    assert box.states_written() == []
    assert (box.state("t-0").leader, box.state("t-0").leader_epoch) == (2, 5)


def test_a_topic_that_has_gone_is_forgotten(box: ControllerBox) -> None:
    box.create_topic("t", [[1, 2]])
    box.start()
    box.write(
        *[Delete(f"/brokers/topics/t{path}") for path in ("/partitions/0/state", "/partitions/0", "/partitions", "")]
    )
    box.forget()
    box.remove_broker(1)
    assert box.states_written() == []
    assert box.recipients("LeaderAndIsr") == {}


def test_a_topic_that_has_been_made_again_starts_anew(box: ControllerBox) -> None:
    box.create_topic("t", [[1, 2]])
    box.start()
    box.write(
        *[Delete(f"/brokers/topics/t{path}") for path in ("/partitions/0/state", "/partitions/0", "/partitions", "")]
    )
    box.forget()
    box.create_topic("t", [[2, 1]])
    assert (box.state("t-0").leader, box.state("t-0").leader_epoch) == (2, 0)
    assert all(sent.entries["t-0"].is_new for sent in box.sent("LeaderAndIsr"))


def test_a_topic_that_is_made_again_before_anybody_looks_is_another_one(box: ControllerBox) -> None:
    """KIP-516: its id says so. The names of all topics are as before."""
    box.create_topic("t", [[1, 2]])
    box.start()
    with box.paused():
        box.write(
            *[
                Delete(f"/brokers/topics/t{path}")
                for path in ("/partitions/0/state", "/partitions/0", "/partitions", "")
            ]
        )
        box.create_topic("t", [[2, 1], [1, 3]], topic_id="AAAAAAAAAAAAAAAAAAAAAQ")
    assert (box.state("t-0").leader, box.state("t-0").leader_epoch) == (2, 0)
    assert (box.state("t-1").leader, box.state("t-1").isr) == (1, (1, 3))


def test_a_topic_that_can_be_read_at_last_is_a_new_one(box: ControllerBox) -> None:
    box.create_topic("t", [[1, 2]])
    good = box.data("/brokers/topics/t")
    assert good is not None
    box.write(SetData("/brokers/topics/t", b"{"))
    box.start()
    box.write(SetData("/brokers/topics/t", good))
    assert box.state("t-0") == FIRST


def test_a_topic_without_an_id_gets_one_once(box: ControllerBox) -> None:
    """KIP-516; tools of before Kafka 2.8 give none."""
    box.start()
    box.create_topic("t", [[1, 2]], topic_id=None)
    made = box.topic_id("t")
    assert made is not None
    box.change_topic("t", [[1, 2], [2, 1]])
    assert box.topic_id("t") == made


def test_a_topic_keeps_its_id_when_a_tool_of_before_kafka_2_8_adds_partitions(box: ControllerBox) -> None:
    """It is no other topic: its replicas would refuse whoever gives them another id (KAFKA-14190)."""
    box.create_topic("t", [[1, 2]])
    box.start()
    made = box.topic_id("t")
    box.forget()
    box.change_topic("t", [[1, 2], [2, 1]], topic_id=None)
    assert box.topic_id("t") == made
    assert box.recipients("LeaderAndIsr") == {1: ["t-1"], 2: ["t-1"]}
    box.expire_session()
    assert box.topic_id("t") == made


def test_a_corrupt_topic_costs_only_itself_and_is_not_taken_for_deleted(box: ControllerBox) -> None:
    box.create_topic("t", [[1, 2]])
    box.start()
    box.forget()
    box.write(SetData("/brokers/topics/t", b"{"))
    box.create_topic("u", [[1, 2]])
    assert box.state("u-0") == FIRST
    assert "/brokers/topics/t" in box.events("controller.event-failed")[0]["error"]
    box.remove_broker(1)
    assert box.state("t-0").leader == 2


def test_replicas_that_are_added_or_removed_are_passed_on(box: ControllerBox) -> None:
    box.create_topic("t", [[1, 2, 3]], adding={0: [3]}, removing={0: [1]})
    box.start()
    entry = box.entry("LeaderAndIsr", "t-0", to=1)
    assert tuple(map(list, (entry.replicas, entry.adding_replicas, entry.removing_replicas))) == ([1, 2, 3], [3], [1])


# --- what is read: a count of znodes, since that is what grows


@pytest.mark.parametrize("others", [1, 60])
def test_a_new_topic_costs_the_list_of_names_and_itself(box: ControllerBox, others: int) -> None:
    """However many there are: nothing of another topic is read, written or sent."""
    for number in range(others):
        box.create_topic(f"other{number}", [[1, 2], [2, 3]])
    box.start()
    box.forget()
    box.create_topic("t", [[1, 2]])
    assert sorted(set(box.reads())) == ["/brokers/topics", "/brokers/topics/t"]
    assert len(box.reads()) == 2
    assert {tuple(sent.entries) for sent in box.sent()} == {("t-0",)}
    assert len(box.sent()) == 2 + 3
    assert {op.path.split("/")[3] for op in box.written() if op.path} == {"t"}


@pytest.mark.parametrize("changed", [1, 5, 40])
def test_as_many_topics_are_read_as_have_changed(box: ControllerBox, changed: int) -> None:
    for number in range(40):
        box.create_topic(f"t{number:02d}", [[1, 2]])
    box.start()
    box.forget()
    with box.paused():
        for number in range(changed):
            box.change_topic(f"t{number:02d}", [[1, 2], [2, 1]])
    assert sorted(box.reads()) == [f"/brokers/topics/t{number:02d}" for number in range(changed)]
    assert len(box.states_written()) == changed


def test_topics_that_are_made_while_the_controller_is_busy_are_read_once_each(box: ControllerBox) -> None:
    box.start()
    box.forget()
    with box.paused():
        for number in range(10):
            box.create_topic(f"t{number}", [[1, 2]])
    topics = [path for path in box.reads() if path != "/brokers/topics"]
    assert sorted(topics) == [f"/brokers/topics/t{number}" for number in range(10)]
    assert len(box.states_written()) == 10
