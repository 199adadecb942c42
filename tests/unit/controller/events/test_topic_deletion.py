"""Topic deletion: from the marker until nothing is left, whatever happens on the way (TopicDeletionManager, 3.9)."""

from __future__ import annotations

import pytest

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.controller.transitions import PartitionState, ReplicaState
from pytest_kcontroller.model.cluster import LeaderAndIsr, TopicPartition
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.zookeeper.session import Create, Delete, SetData
from pytest_kcontroller.zookeeper.znodes import encode_reassignments
from tests.tools.controller_box import ControllerBox
from tests.tools.recording_channels import Sent

ALL = [[1, 2, 3]]


def context(box: ControllerBox) -> Context:
    term = box.controller.term
    assert term is not None
    return term.context


def stops(box: ControllerBox, *, to: int | None = None) -> list[Sent]:
    """The StopReplicas that delete, since the last `forget`."""
    sent = box.sent("StopReplica", to=to)
    return [one for one in sent if all(entry.delete_partition for entry in one.entries.values())]


def states(box: ControllerBox, name: str = "t") -> dict[int, ReplicaState]:
    """Of the replicas of partition 0."""
    known = context(box)
    return {broker: known.replica_state(TopicPartition(name, 0), broker) for broker in (1, 2, 3)}


def is_gone(box: ControllerBox, name: str = "t") -> bool:
    left = [box.data(path) for path in (f"/brokers/topics/{name}", f"/config/topics/{name}", marker(name))]
    return left == [None, None, None] and not context(box).has_topic(name)


def marker(name: str) -> str:
    return f"/admin/delete_topics/{name}"


def deletes(box: ControllerBox) -> list[str]:
    return [str(op.path) for op in box.written() if op.type == "delete"]


def with_config(box: ControllerBox, name: str = "t") -> None:
    box.write(Create(f"/config/topics/{name}", b'{"version":1,"config":{}}'))


@pytest.fixture
def started(box: ControllerBox) -> ControllerBox:
    """Topic t, of one partition on brokers 1, 2, 3, and u are there; nothing has been sent since."""
    with_config(box)
    for name in "tu":
        box.create_topic(name, ALL)
    box.start()
    box.forget()
    return box


def test_all_replicas_are_stopped_then_deleted_then_the_znodes_go_in_three_steps(started: ControllerBox) -> None:
    box = started
    box.delete_topic("t")
    assert context(box).deletions.started.keys() == {"t"}
    assert context(box).partition_state(TopicPartition("t", 0)) is PartitionState.NON_EXISTENT
    assert states(box) == dict.fromkeys((1, 2, 3), ReplicaState.DELETION_STARTED)
    for broker in (1, 2, 3):
        sent = [
            (one.entries["t-0"].leader_epoch, one.entries["t-0"].delete_partition)
            for one in box.sent("StopReplica", to=broker)
        ]
        assert sent == [(-2, False), (-2, True)]
        told = box.entry("UpdateMetadata", "t-0", to=broker)
        assert (told.leader, told.leader_epoch, told.zk_version, list(told.isr)) == (-2, 0, 0, [1, 2, 3])
    assert box.recipients("LeaderAndIsr") == {}
    assert not deletes(box)
    box.answer(*stops(box))
    assert is_gone(box)
    topic = "/brokers/topics/t"
    below = [f"{topic}/partitions/0/state", f"{topic}/partitions/0", f"{topic}/partitions"]
    assert deletes(box) == [*below, topic, "/config/topics/t", marker("t")]
    assert len([txn for txn in box.txns() if any(op.type == "delete" for op in txn.ops)]) == 3
    assert box.events("topic-deletion.complete") == [{"epoch": 1, "topics": ["t"], "replicas": {"t-0": [1, 2, 3]}}]
    assert [event["broker"] for event in box.events("replicas.deleted")] == [1, 2, 3]
    assert box.state("u-0").leader == 1, "another topic"


def test_a_replica_that_the_answer_does_not_name_is_not_deleted_yet(started: ControllerBox) -> None:
    """As in Kafka, whose callback goes through what is answered, not through what was asked."""
    box = started
    box.delete_topic("t")
    *named, last = stops(box)
    box.answer(*named)
    box.answer(last, unnamed=["t-0"])
    assert not deletes(box)
    assert [states(box)[one.broker] for one in (*named, last)] == [
        *[ReplicaState.DELETION_SUCCESSFUL] * 2,
        ReplicaState.DELETION_STARTED,
    ]
    assert [event["broker"] for event in box.events("replicas.deleted")] == [one.broker for one in named]
    box.answer(last)
    assert is_gone(box)


def test_every_delete_is_fenced(started: ControllerBox) -> None:
    box = started
    box.delete_topic("t")
    box.hold("controller.before-topic-delete")
    box.answer(*stops(box))
    box.depose()
    box.release("controller.before-topic-delete")
    assert box.data("/brokers/topics/t/partitions/0/state") is not None
    assert not box.controller.active


def test_an_answer_to_a_stop_deletes_nothing(started: ControllerBox) -> None:
    """KAFKA-9946: nobody has deleted anything until the StopReplica that deletes has been answered."""
    box = started
    box.delete_topic("t")
    box.answer(*[one for one in box.sent("StopReplica") if one not in stops(box)])
    assert states(box) == dict.fromkeys((1, 2, 3), ReplicaState.DELETION_STARTED)


def test_a_replica_whose_broker_is_away_is_waited_for(started: ControllerBox) -> None:
    box = started
    box.remove_broker(2)
    box.forget()
    box.delete_topic("t")
    assert context(box).deletions.ineligible.keys() == {"t"}
    assert states(box)[2] is ReplicaState.DELETION_INELIGIBLE
    box.answer(*stops(box))
    assert states(box) == {
        1: ReplicaState.DELETION_SUCCESSFUL,
        2: ReplicaState.OFFLINE,
        3: ReplicaState.DELETION_SUCCESSFUL,
    }
    assert box.data(marker("t")) is not None
    box.forget()
    box.register_broker(2)
    assert {one.broker for one in stops(box)} == {2}, "the others have done it already"
    box.answer(*stops(box))
    assert is_gone(box)


def test_a_broker_that_fails_while_it_deletes_is_waited_for(started: ControllerBox) -> None:
    """No retry while another replica is at work."""
    box = started
    box.delete_topic("t")
    asked = stops(box)
    box.remove_broker(2)
    assert states(box)[2] is ReplicaState.DELETION_INELIGIBLE
    assert context(box).deletions.ineligible.keys() == {"t"}
    box.forget()
    box.register_broker(2)
    assert not context(box).deletions.ineligible
    assert stops(box) == []
    box.answer(*[one for one in asked if one.broker != 2])
    assert states(box)[2] is ReplicaState.DELETION_STARTED
    box.answer(*stops(box))
    assert is_gone(box)


@pytest.mark.parametrize(
    ("failed", "error"),
    [({"t-0": ErrorCode.KAFKA_STORAGE_ERROR}, ErrorCode.NONE), ({}, ErrorCode.STALE_BROKER_EPOCH)],
)
def test_a_replica_that_could_not_be_deleted_waits_for_its_broker(
    started: ControllerBox, failed: dict[str, ErrorCode], error: ErrorCode
) -> None:
    box = started
    box.delete_topic("t")
    one, *others = stops(box)
    box.answer(one, failed=failed, error=error)
    assert states(box)[1] is ReplicaState.DELETION_INELIGIBLE
    assert context(box).deletions.ineligible.keys() == {"t"}
    box.answer(*others)
    box.forget()
    box.bounce_broker(1)
    assert {one.broker for one in stops(box)} == {1}
    box.answer(*stops(box))
    assert is_gone(box)


def test_of_one_answer_failures_come_first(box: ControllerBox) -> None:
    box.create_topic("t", [[1], [1]])
    box.start()
    box.delete_topic("t")
    (asked,) = stops(box)
    box.answer(asked, failed={"t-1": ErrorCode.KAFKA_STORAGE_ERROR})
    known = context(box)
    assert known.replica_state(TopicPartition("t", 0), 1) is ReplicaState.DELETION_SUCCESSFUL
    assert known.replica_state(TopicPartition("t", 1), 1) is ReplicaState.OFFLINE, "to be tried again"
    assert known.deletions.ineligible.keys() == {"t"}


def test_a_deletion_is_taken_over_by_the_next_controller(started: ControllerBox) -> None:
    """KAFKA-1681."""
    box = started
    box.delete_topic("t")
    box.expire_session()
    assert context(box).epoch == 2
    assert states(box) == dict.fromkeys((1, 2, 3), ReplicaState.DELETION_STARTED)
    asked = [one for one in stops(box) if one.request.controller_epoch == 2]
    assert [one.broker for one in asked] == [1, 2, 3]
    box.answer(*asked)
    assert is_gone(box)


@pytest.mark.parametrize(
    "left",
    [
        ("/brokers/topics/t/partitions/0/state", "/brokers/topics/t/partitions/0"),
        ("/brokers/topics/t/partitions/0/state", "/brokers/topics/t/partitions/0", "/brokers/topics/t/partitions"),
    ],
)
def test_a_topic_that_is_half_deleted_is_finished(box: ControllerBox, left: tuple[str, ...]) -> None:
    """KAFKA-6650: an earlier controller got so far, and died."""
    state = LeaderAndIsr(leader=1, leader_epoch=0, isr=(1, 2, 3), controller_epoch=0)
    box.create_topic("t", ALL, states={0: state})
    box.write(*[Delete(path) for path in left])
    box.delete_topic("t")
    box.start()
    box.answer(*stops(box))
    assert is_gone(box)


def test_only_the_config_and_the_marker_are_left(box: ControllerBox) -> None:
    with_config(box)
    box.delete_topic("t")
    box.start()
    assert is_gone(box)


def test_a_topic_whose_state_vanishes_while_it_is_deleted_goes_on(started: ControllerBox) -> None:
    """Kafka leaves the replica where it is, and the deletion never ends."""
    box = started
    with box.paused():
        box.delete_topic("t")
        box.write(Delete("/brokers/topics/t/partitions/0/state"))
    box.answer(*stops(box))
    assert is_gone(box)


def test_a_topic_that_does_not_exist_is_no_matter(started: ControllerBox) -> None:
    box = started
    box.delete_topic("nothing")
    assert box.data(marker("nothing")) is None
    assert box.sent() == []


def test_a_topic_whose_znode_is_corrupt_can_be_deleted(started: ControllerBox) -> None:
    box = started
    box.create_topic("v", ALL)
    box.write(SetData("/brokers/topics/v", b"{"))
    box.expire_session()
    box.delete_topic("v")
    assert is_gone(box, "v")


def test_a_topic_that_is_made_and_deleted_at_once_is_deleted(started: ControllerBox) -> None:
    box = started
    with box.paused():
        box.create_topic("v", ALL)
        box.delete_topic("v")
    box.answer(*stops(box))
    assert is_gone(box, "v")


@pytest.mark.parametrize("at_failover", [False, True])
def test_where_deletion_is_switched_off_markers_go_and_topics_stay(at_failover: bool) -> None:
    with ControllerBox(config={"delete.topic.enable": False}) as box:
        box.create_topic("t", ALL)
        if at_failover:
            box.delete_topic("t")
        box.start()
        if not at_failover:
            box.delete_topic("t")
        assert box.data(marker("t")) is None
        assert box.state("t-0").leader == 1
        assert not context(box).deletions.queued


def test_it_gets_no_more_partitions(started: ControllerBox) -> None:
    """KAFKA-6612: else the next controller would make them."""
    box = started
    box.delete_topic("t")
    before = box.topic_id("t")
    box.forget()
    box.change_topic("t", [[1, 2, 3], [2, 3, 1]])
    assert b'"partitions":{"0":[1,2,3]}' in (box.data("/brokers/topics/t") or b"")
    assert box.topic_id("t") == before
    assert box.sent() == []


def test_it_is_elected_no_leader(box: ControllerBox) -> None:
    """Not when its leader dies, not when somebody asks, not when the broker of its leader stops."""
    box.create_topic("t", [[3, 1], [3]])
    box.start()
    box.delete_topic("t")
    box.forget()
    answer = box.shut_down(3).result()
    assert (answer.error_code, list(answer.remaining_partitions)) == (0, [])
    box.remove_broker(3)
    assert box.states_written() == []
    assert box.recipients("LeaderAndIsr") == {}


def test_made_again_it_is_another_topic(started: ControllerBox) -> None:
    box = started
    box.delete_topic("t")
    with box.paused():
        box.answer(*stops(box))
    box.forget()
    box.create_topic("t", [[3, 2]], topic_id="AAAAAAAAAAAAAAAAAAAAAQ")
    assert (box.state("t-0").leader, box.state("t-0").leader_epoch) == (3, 0)
    assert all(sent.entries["t-0"].is_new for sent in box.sent("LeaderAndIsr"))
    assert box.entry("UpdateMetadata", "t-0", to=1).leader == 3


def test_many_topics_go_together(box: ControllerBox) -> None:
    names = [f"t{number}" for number in range(20)]
    for name in names:
        box.create_topic(name, [[1, 2], [2, 1]])
    box.start()
    box.forget()
    with box.paused():
        box.delete_topic(*names)
    asked = stops(box)
    assert [one.broker for one in asked] == [1, 2]
    box.answer(*asked)
    assert box.children("/brokers/topics") == []
    (ended,) = box.events("topic-deletion.complete")
    assert ended["topics"] == sorted(names)


def test_an_answer_to_an_earlier_term_counts_for_nothing(started: ControllerBox) -> None:
    box = started
    box.delete_topic("t")
    old = stops(box)
    box.expire_session()
    box.answer(*old)
    assert states(box) == dict.fromkeys((1, 2, 3), ReplicaState.DELETION_STARTED)


def test_what_a_broker_has_refused_before_it_bounced_holds_nothing(started: ControllerBox) -> None:
    """Else the topic waits for a broker that has come back already (explore.toml, seed 432)."""
    box = started
    box.delete_topic("t")
    one, *others = stops(box)
    box.answer(*others)
    box.forget()
    box.bounce_broker(1)
    box.answer(one, error=ErrorCode.STALE_BROKER_EPOCH)
    box.answer(*stops(box))
    assert is_gone(box)


def test_replicas_of_a_reassignment_that_has_failed_are_deleted_too(box: ControllerBox) -> None:
    """The new one is assigned, and has no state: Kafka waits for it for ever."""
    box.create_topic("t", [[4]])  # nobody can lead it
    box.start()
    box.write(Create("/admin/reassign_partitions", encode_reassignments({TopicPartition("t", 0): (2,)})))
    assert context(box).assignments[TopicPartition("t", 0)].replicas == (2, 4)
    box.delete_topic("t")
    assert [one.broker for one in stops(box)] == [2]
    box.answer(*stops(box))
    box.forget()
    box.register_broker(4)
    box.answer(*stops(box, to=4))
    assert is_gone(box)
    assert box.data("/admin/reassign_partitions") is None


def test_a_topic_that_is_being_reassigned_waits_for_nothing_else(box: ControllerBox) -> None:
    """In Kafka it does, once another topic is marked, and then for ever: what is to be deleted is not reassigned."""
    state = LeaderAndIsr(leader=1, leader_epoch=0, isr=(1, 2), controller_epoch=0)
    box.create_topic("t", ALL, states={0: state}, adding={0: [3]}, removing={0: [1]})
    box.create_topic("u", ALL)
    box.start()
    assert context(box).reassigning(), "3 is not in sync"
    box.delete_topic("t")
    asked = [one for one in stops(box) if one.broker != 2]
    box.remove_broker(2)
    box.register_broker(2)
    box.delete_topic("u")
    box.forget()
    box.answer(*asked)
    box.answer(*stops(box, to=2))
    assert is_gone(box, "t")
