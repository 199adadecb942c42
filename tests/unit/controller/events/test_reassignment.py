"""Partition reassignment by request and by znode: its phases, cancelled, supplanted, resumed.

Nobody is the brokers here: who joins an ISR is said by the test. The figures (leader epochs, who is told) are those of
Kafka's ControllerIntegrationTest, ReassignPartitionsClusterTest and ControllerContextTest (2.4 to 3.9).
"""

from __future__ import annotations

import json

import pytest

from pytest_kcontroller.controller.events.api_partition_reassignment import (
    ApiPartitionReassignment,
    ReassignmentAnswer,
)
from pytest_kcontroller.controller.events.list_partition_reassignments import (
    ListPartitionReassignments,
    ReassignmentsUnderWay,
)
from pytest_kcontroller.model.cluster import Assignment, LeaderAndIsr, TopicPartition
from pytest_kcontroller.runtime.holds import BEFORE_TOPIC_WRITE
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.zookeeper.partition_lists import encode_partitions
from pytest_kcontroller.zookeeper.session import Create, Delete, SetData
from pytest_kcontroller.zookeeper.znodes import (
    REASSIGN_PARTITIONS,
    decode_reassignments,
    decode_topic,
    encode_reassignments,
    topic_path,
)
from tests.tools.controller_box import ControllerBox, partition

Targets = dict[str, tuple[int, ...]]


def values(targets: Targets) -> dict[TopicPartition, tuple[int, ...]]:
    return {partition(name): target for name, target in targets.items()}


def ask(box: ControllerBox, **targets: tuple[int, ...] | None) -> dict[str, ErrorCode]:
    """By request; `t_0=(1, 2)` is t-0. The error of each partition."""
    request = {partition(name.replace("_", "-")): target for name, target in targets.items()}
    answer: ReassignmentAnswer = box.put(ApiPartitionReassignment, request).result()
    assert answer.error is ErrorCode.NONE
    return {str(tp): result.error for tp, result in answer.partitions.items()}


def write(box: ControllerBox, targets: Targets) -> None:
    """As a tool of before Kafka 2.4 does."""
    box.write(Create(REASSIGN_PARTITIONS, encode_reassignments(values(targets))))


def requested(box: ControllerBox) -> Targets | None:
    """What /admin/reassign_partitions holds; None: it is not there."""
    data = box.data(REASSIGN_PARTITIONS)
    return None if data is None else {str(tp): target for tp, target in decode_reassignments(data).items()}


def assignment(box: ControllerBox, name: str) -> Assignment:
    """As the topic's znode has it."""
    tp = partition(name)
    data = box.data(topic_path(tp.topic))
    assert data is not None
    return decode_topic(tp.topic, data).partitions[tp.partition]


def under_way(box: ControllerBox) -> list[str]:
    answer: ReassignmentsUnderWay = box.put(ListPartitionReassignments, None).result()
    return [str(tp) for tp in answer.partitions]


def leadership(box: ControllerBox, name: str) -> tuple[int, int, tuple[int, ...]]:
    state = box.state(name)
    return state.leader, state.leader_epoch, state.isr


@pytest.fixture
def box(box: ControllerBox) -> ControllerBox:
    """t-0 is on broker 1 alone."""
    box.create_topic("t", [[1]])
    box.start()
    box.forget()
    return box


# --- the phases


def test_while_the_target_is_not_in_sync_its_replicas_are_told_to_follow(box: ControllerBox) -> None:
    assert ask(box, t_0=(2, 3)) == {"t-0": ErrorCode.NONE}
    assert assignment(box, "t-0") == Assignment((2, 3, 1), adding=(2, 3), removing=(1,))
    assert leadership(box, "t-0") == (1, 1, (1,))
    told = {sent.broker: sent.entries["t-0"] for sent in box.sent("LeaderAndIsr")}
    assert {broker: entry.is_new for broker, entry in told.items()} == {1: False, 2: True, 3: True}
    for entry in told.values():
        seen = tuple(map(tuple, (entry.replicas, entry.adding_replicas, entry.removing_replicas)))
        assert seen == ((2, 3, 1), (2, 3), (1,))
        assert entry.leader_epoch == 1
    assert list(box.entry("UpdateMetadata", "t-0", to=3).replicas) == [2, 3, 1]
    assert box.entry("UpdateMetadata", "t-0", to=3).leader_epoch == 1
    assert box.recipients("StopReplica") == {}
    assert under_way(box) == ["t-0"]


def test_once_the_target_is_in_sync_it_leads_and_the_rest_is_deleted(box: ControllerBox) -> None:
    """From 1 to 2: one leader epoch for A1, one for the new leader (B3), one for who leaves the ISR (B4)."""
    ask(box, t_0=(2,))
    box.forget()
    box.alter_partition("t-0", [1, 2])
    assert assignment(box, "t-0") == Assignment((2,))
    assert leadership(box, "t-0") == (2, 3, (2,))
    assert [(state.leader, state.isr) for _, state in box.states_written()] == [(1, (1, 2)), (2, (1, 2)), (2, (2,))]
    stops = [sent.entries["t-0"] for sent in box.sent("StopReplica", to=1)]
    assert [(stop.leader_epoch, stop.delete_partition) for stop in stops] == [(2, False), (3, True)]
    assert box.recipients("StopReplica") == {1: ["t-0", "t-0"]}
    assert list(box.entry("LeaderAndIsr", "t-0", to=2).replicas) == [2]
    assert list(box.entry("UpdateMetadata", "t-0", to=3).replicas) == [2]
    assert under_way(box) == []


def test_the_topic_znode_comes_last_so_that_the_origin_is_never_lost(box: ControllerBox) -> None:
    ask(box, t_0=(2,))
    box.hold(BEFORE_TOPIC_WRITE)
    box.alter_partition("t-0", [1, 2])
    assert leadership(box, "t-0") == (2, 3, (2,))
    assert assignment(box, "t-0") == Assignment((2, 1), adding=(2,), removing=(1,))
    box.release(BEFORE_TOPIC_WRITE)
    assert assignment(box, "t-0") == Assignment((2,))


def test_the_leader_stays_if_it_is_of_the_target(box: ControllerBox) -> None:
    ask(box, t_0=(2, 1))
    box.alter_partition("t-0", [1, 2])
    assert assignment(box, "t-0") == Assignment((2, 1))
    assert leadership(box, "t-0") == (1, 2, (1, 2))
    assert box.recipients("StopReplica") == {}


def test_another_order_of_the_same_replicas_is_done_at_once(box: ControllerBox) -> None:
    box.create_topic("u", [[1, 2, 3]])
    box.forget()
    assert ask(box, u_0=(3, 1, 2)) == {"u-0": ErrorCode.NONE}
    assert assignment(box, "u-0") == Assignment((3, 1, 2))
    assert leadership(box, "u-0") == (1, 1, (1, 2, 3))
    assert under_way(box) == []


def test_an_isr_that_a_leader_has_written_itself_counts(box: ControllerBox) -> None:
    """Before AlterPartition leaders did: it is read from ZooKeeper before anything is decided."""
    box.set_state("t-0", LeaderAndIsr(leader=1, leader_epoch=0, isr=(1, 2), controller_epoch=1))
    ask(box, t_0=(2,))
    assert assignment(box, "t-0") == Assignment((2,))
    assert leadership(box, "t-0")[0] == 2


def test_other_partitions_of_the_topic_are_left_alone(box: ControllerBox) -> None:
    """Also one that was added by a tool that moment."""
    box.change_topic("t", [[1], [2]])
    with box.paused():
        box.change_topic("t", [[1], [2], [3]])
        waiting = box.put(ApiPartitionReassignment, {partition("t-0"): (2,)})
    assert waiting.result().partitions[partition("t-0")].error is ErrorCode.NONE
    assert [assignment(box, f"t-{number}").replicas for number in range(3)] == [(2, 1), (2,), (3,)]
    assert box.state("t-2").leader == 3


# --- errors


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ((), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ((2, 2), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ((-1, 2), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ((2, 9), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (None, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
    ],
    ids=["empty", "twice", "negative", "not live", "nothing to cancel"],
)
def test_what_cannot_be_is_refused(box: ControllerBox, target: tuple[int, ...] | None, error: ErrorCode) -> None:
    assert ask(box, t_0=target) == {"t-0": error}
    assert box.written() == []


def test_unknown_partitions_are_refused_and_the_others_of_the_request_go_on(box: ControllerBox) -> None:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ask(box, t_7=(2,), missing_0=(1,), t_0=(2,)) == {"t-7": unknown, "missing-0": unknown, "t-0": ErrorCode.NONE}
    assert under_way(box) == ["t-0"]


def test_replicas_that_are_there_already_need_not_be_live(box: ControllerBox) -> None:
    box.create_topic("u", [[1, 2]])
    box.remove_broker(2)
    assert ask(box, u_0=(2, 1)) == {"u-0": ErrorCode.NONE}
    assert assignment(box, "u-0") == Assignment((2, 1))


def test_who_is_not_the_controller_says_so(box: ControllerBox) -> None:
    box.depose()
    assert box.put(ApiPartitionReassignment, {partition("t-0"): (2,)}).result().error is ErrorCode.NOT_CONTROLLER
    assert box.put(ListPartitionReassignments, None).result().error is ErrorCode.NOT_CONTROLLER


def test_a_list_has_only_what_was_asked_for_and_is_under_way(box: ControllerBox) -> None:
    box.create_topic("u", [[1], [1]])
    ask(box, t_0=(2,), u_0=(2,))
    asked = [partition("u-0"), partition("u-1"), partition("missing-0")]
    answer = box.put(ListPartitionReassignments, asked).result()
    assert answer.partitions == {partition("u-0"): Assignment((2, 1), adding=(2,), removing=(1,))}


# --- cancelled, supplanted


def test_a_cancelled_reassignment_leaves_what_was(box: ControllerBox) -> None:
    """The replica that had been added is deleted; it was not in the ISR, so its StopReplica has the same leader epoch."""
    ask(box, t_0=(2,))
    box.forget()
    assert ask(box, t_0=None) == {"t-0": ErrorCode.NONE}
    assert assignment(box, "t-0") == Assignment((1,))
    assert leadership(box, "t-0") == (1, 2, (1,))
    assert [sent.entries["t-0"].leader_epoch for sent in box.sent("StopReplica", to=2)] == [1, 1]
    assert box.entry("StopReplica", "t-0", to=2).delete_partition
    assert under_way(box) == []


def test_a_cancelled_reassignment_has_the_order_of_its_target(box: ControllerBox) -> None:
    box.register_broker(4)
    box.create_topic("u", [[1, 2, 3]])
    ask(box, u_0=(3, 4, 2))
    ask(box, u_0=None)
    assert assignment(box, "u-0") == Assignment((3, 2, 1))


def test_a_newer_request_supplants_an_older_one(box: ControllerBox) -> None:
    ask(box, t_0=(2,))
    box.forget()
    ask(box, t_0=(3,))
    assert assignment(box, "t-0") == Assignment((3, 1), adding=(3,), removing=(1,))
    assert box.recipients("StopReplica") == {2: ["t-0", "t-0"]}
    box.alter_partition("t-0", [1, 3])
    assert assignment(box, "t-0") == Assignment((3,))
    assert leadership(box, "t-0")[0] == 3


def test_of_two_orders_of_the_same_replicas_the_later_counts(box: ControllerBox) -> None:
    box.create_topic("u", [[1, 2]])
    ask(box, u_0=(1, 2, 3))
    ask(box, u_0=(3, 2, 1))
    box.alter_partition("u-0", [1, 2, 3])
    assert assignment(box, "u-0") == Assignment((3, 2, 1))


def test_a_cancellation_that_would_leave_nobody_to_lead_is_refused(box: ControllerBox) -> None:
    """KAFKA-14424: Kafka checks nothing here, and deletes the only replica in sync that is live."""
    box.register_broker(4)
    box.create_topic("u", [[3]])
    ask(box, u_0=(2, 4))
    box.alter_partition("u-0", [3, 2])
    box.remove_broker(3)
    assert leadership(box, "u-0")[0] == 2
    assert ask(box, u_0=None) == {"u-0": ErrorCode.INVALID_REPLICA_ASSIGNMENT}
    assert assignment(box, "u-0") == Assignment((2, 4, 3), adding=(2, 4), removing=(3,))
    assert leadership(box, "u-0")[0] == 2


def test_a_partition_whose_leader_is_supplanted_gets_another_one(box: ControllerBox) -> None:
    """The leader had been added by the reassignment of before, and is dropped: the partition is led all the same."""
    box.register_broker(4)
    box.register_broker(5)
    box.create_topic("u", [[3, 4]])
    ask(box, u_0=(2, 5))
    box.alter_partition("u-0", [3, 4, 2])
    box.remove_broker(3)
    assert leadership(box, "u-0")[0] == 2
    ask(box, u_0=(5,))
    assert leadership(box, "u-0")[0] == 4
    assert leadership(box, "u-0")[2] == (4,)
    assert assignment(box, "u-0") == Assignment((5, 3, 4), adding=(5,), removing=(3, 4))


# --- by znode


def test_a_request_by_znode_goes_when_it_is_done(box: ControllerBox) -> None:
    write(box, {"t-0": (2,)})
    assert requested(box) == {"t-0": (2,)}
    assert leadership(box, "t-0") == (1, 1, (1,))
    box.alter_partition("t-0", [1, 2])
    assert assignment(box, "t-0") == Assignment((2,))
    assert requested(box) is None
    write(box, {"t-0": (3,)})
    assert assignment(box, "t-0").adding == (3,)


def test_a_request_shrinks_while_its_partitions_complete(box: ControllerBox) -> None:
    box.create_topic("u", [[1], [1, 2]])
    write(box, {"u-0": (2,), "u-1": (2, 1), "t-0": (3,)})
    assert requested(box) == {"u-0": (2,), "t-0": (3,)}
    box.alter_partition("u-0", [1, 2])
    assert requested(box) == {"t-0": (3,)}
    box.alter_partition("t-0", [1, 3])
    assert requested(box) is None


def test_a_target_that_is_not_live_is_waited_for(box: ControllerBox) -> None:
    """One leader epoch more than without the wait: A1 comes again when the broker does."""
    write(box, {"t-0": (4,)})
    assert (leadership(box, "t-0"), requested(box)) == ((1, 1, (1,)), {"t-0": (4,)})
    box.register_broker(4)
    box.alter_partition("t-0", [1, 4])
    assert leadership(box, "t-0") == (4, 4, (4,))
    assert requested(box) is None


def test_what_cannot_be_done_is_taken_out_and_recorded(box: ControllerBox) -> None:
    write(box, {"missing-0": (1,), "t-9": (1,), "t-0": (2, 2)})
    assert requested(box) is None
    failed = {f"{event['topic']}-{event['partition']}": event["why"] for event in box.events("reassignment.failed")}
    assert sorted(failed) == ["missing-0", "t-0", "t-9"]
    assert "twice" in failed["t-0"]
    assert assignment(box, "t-0") == Assignment((1,))


def test_a_request_that_is_no_json_is_as_good_as_none(box: ControllerBox) -> None:
    box.write(Create(REASSIGN_PARTITIONS, b"{"))
    assert box.data(REASSIGN_PARTITIONS) == b"{"
    assert REASSIGN_PARTITIONS in box.events("controller.event-failed")[0]["error"]
    ask(box, t_0=(2,))
    assert assignment(box, "t-0").adding == (2,)
    assert box.data(REASSIGN_PARTITIONS) is None


def test_the_znode_overrides_a_request_that_came_before_it(box: ControllerBox) -> None:
    ask(box, t_0=(2,))
    write(box, {"t-0": (3,)})
    assert assignment(box, "t-0") == Assignment((3, 1), adding=(3,), removing=(1,))
    box.alter_partition("t-0", [1, 3])
    assert (assignment(box, "t-0"), requested(box)) == (Assignment((3,)), None)


def test_a_request_overrides_the_znode_that_came_before_it(box: ControllerBox) -> None:
    box.create_topic("u", [[1]])
    write(box, {"t-0": (2,), "u-0": (2,)})
    ask(box, t_0=(3,))
    assert requested(box) == {"u-0": (2,)}
    box.alter_partition("u-0", [1, 2])
    assert requested(box) is None
    box.alter_partition("t-0", [1, 3])
    assert assignment(box, "t-0") == Assignment((3,))


def test_what_a_tool_writes_before_a_request_had_its_turn_supplants_it(box: ControllerBox) -> None:
    """Found by explore.toml, seed 200683: the request took it out, and the controller fell before it had written its own."""
    box.create_topic("u", [[1]])
    box.hold(BEFORE_TOPIC_WRITE)
    first = box.put(ApiPartitionReassignment, {partition("u-0"): (2,)})
    second = box.put(ApiPartitionReassignment, {partition("t-0"): (3,)})
    write(box, {"t-0": (2,)})
    box.release(BEFORE_TOPIC_WRITE)
    assert first.done() and second.done()
    assert (assignment(box, "t-0").adding, requested(box)) == ((2,), {"t-0": (2,)})


def test_one_that_a_znode_asked_for_can_be_cancelled_by_request(box: ControllerBox) -> None:
    write(box, {"t-0": (2,)})
    ask(box, t_0=None)
    assert (assignment(box, "t-0"), requested(box)) == (Assignment((1,)), None)


def test_an_entry_that_comes_while_others_are_under_way_is_acted_on_once(box: ControllerBox) -> None:
    """KAFKA-9478: Kafka acts on a request when it is made, and never on what is added to it."""
    box.create_topic("u", [[1]])
    write(box, {"t-0": (2,)})
    both = encode_reassignments(values({"t-0": (2,), "u-0": (3,)}))
    box.write(SetData(REASSIGN_PARTITIONS, both))
    assert assignment(box, "u-0").adding == (3,)
    assert leadership(box, "t-0") == (1, 1, (1,))
    box.alter_partition("t-0", [1, 2])
    assert requested(box) == {"u-0": (3,)}
    assert leadership(box, "u-0") == (1, 1, (1,))
    box.alter_partition("u-0", [1, 3])
    assert requested(box) is None


def test_an_entry_that_comes_while_the_request_is_rewritten_is_not_overwritten(box: ControllerBox) -> None:
    """KAFKA-9478, the other half: the controller replaces only what it has read."""
    box.create_topic("u", [[1]])
    write(box, {"t-0": (2,)})
    box.hold(BEFORE_TOPIC_WRITE)
    box.alter_partition("t-0", [1, 2])
    box.write(SetData(REASSIGN_PARTITIONS, encode_reassignments(values({"t-0": (2,), "u-0": (3,)}))))
    box.release(BEFORE_TOPIC_WRITE)
    assert assignment(box, "t-0") == Assignment((2,))
    assert (requested(box), assignment(box, "u-0").adding) == ({"u-0": (3,)}, (3,))


def test_a_request_that_is_deleted_by_hand_makes_room_for_another(box: ControllerBox) -> None:
    """What has begun goes on, as in Kafka."""
    write(box, {"t-0": (2,)})
    box.write(Delete(REASSIGN_PARTITIONS))
    write(box, {"t-0": (3,)})
    assert assignment(box, "t-0") == Assignment((3, 1), adding=(3,), removing=(1,))


# --- resumed


def test_a_new_controller_goes_on_with_what_the_topic_znode_says() -> None:
    with ControllerBox(brokers=(1, 2, 3)) as box:
        state = LeaderAndIsr(leader=1, leader_epoch=5, isr=(1, 2), controller_epoch=0)
        waiting = LeaderAndIsr(leader=1, leader_epoch=5, isr=(1,), controller_epoch=0)
        box.create_topic(
            "t", [[2, 1], [2, 1]], adding={0: [2], 1: [2]}, removing={0: [1], 1: [1]}, states={0: state, 1: waiting}
        )
        box.start()
        assert assignment(box, "t-0") == Assignment((2,))
        assert leadership(box, "t-0")[0] == 2
        assert leadership(box, "t-1") == (1, 6, (1,))
        assert under_way(box) == ["t-1"]
        box.alter_partition("t-1", [1, 2])
        assert assignment(box, "t-1") == Assignment((2,))


def test_a_new_controller_begins_with_the_znode_which_wins() -> None:
    """Partition 3 is in the topic znode only, so it goes on with that."""
    with ControllerBox(brokers=(0, 1, 2, 3)) as box:
        replicas = [[0, 1, 2], [1, 2, 3], [0, 1, 2], [0, 1, 2]]
        adding, removing = {0: [2], 1: [3], 2: [2], 3: [2]}, {0: [0], 1: [1], 2: [0], 3: [0]}
        states = {
            number: LeaderAndIsr(leader=brokers[0], leader_epoch=0, isr=tuple(brokers), controller_epoch=0)
            for number, brokers in enumerate(replicas)
        }
        box.create_topic("t", replicas, adding=adding, removing=removing, states=states)
        write(box, {"t-0": (2, 1), "t-1": (1, 2), "t-2": (1, 2)})
        box.start()
        now = {number: assignment(box, f"t-{number}") for number in range(4)}
        assert now == {0: Assignment((2, 1)), 1: Assignment((1, 2)), 2: Assignment((1, 2)), 3: Assignment((1, 2))}
        assert requested(box) is None


def test_a_reassignment_of_which_a_step_cannot_be_done_costs_no_failover() -> None:
    """A partition that never had a leader has no leader epoch to raise. It goes on when it has one."""
    with ControllerBox(brokers=(1, 2, 3)) as box:
        box.create_topic("t", [[4, 5]], adding={0: [4]}, removing={0: [5]})
        box.create_topic("u", [[1]])
        box.start()
        assert "has no leader yet" in box.events("reassignment.failed")[0]["why"]
        assert box.state("u-0").leader == 1
        box.register_broker(4)
        assert assignment(box, "t-0") == Assignment((4,))
        assert leadership(box, "t-0")[0] == 4


def test_a_controller_that_was_deposed_in_the_middle_is_followed_by_one_that_goes_on(box: ControllerBox) -> None:
    write(box, {"t-0": (2,)})
    box.hold(BEFORE_TOPIC_WRITE)
    box.alter_partition("t-0", [1, 2])
    box.depose()
    box.release(BEFORE_TOPIC_WRITE)
    assert assignment(box, "t-0") == Assignment((2, 1), adding=(2,), removing=(1,))
    box.write(Delete("/controller"))
    assert assignment(box, "t-0") == Assignment((2,))
    assert leadership(box, "t-0")[0] == 2
    assert requested(box) is None


def test_a_target_that_nobody_can_lead_now_leaves_the_leader(box: ControllerBox) -> None:
    """Broker 2 is in sync and about to stop: Kafka deletes the only replica that could lead."""
    box.shut_down(2)
    box.set_state("t-0", LeaderAndIsr(leader=1, leader_epoch=0, isr=(1, 2), controller_epoch=1))
    write(box, {"t-0": (2,)})
    assert leadership(box, "t-0")[0] == 1
    assert assignment(box, "t-0") == Assignment((2, 1), adding=(2,), removing=(1,))
    assert "nobody can lead" in box.events("reassignment.failed")[0]["why"]
    box.bounce_broker(2)
    box.alter_partition("t-0", [1, 2])
    assert assignment(box, "t-0") == Assignment((2,))
    assert leadership(box, "t-0")[0] == 2


def test_a_topic_that_is_gone_meanwhile_ends_its_reassignment(box: ControllerBox) -> None:
    ask(box, t_0=(2,))
    box.write(
        *[Delete(f"{topic_path('t')}{path}") for path in ("/partitions/0/state", "/partitions/0", "/partitions", "")]
    )
    assert under_way(box) == []
    box.register_broker(4)
    assert box.events("controller.event-failed") == []


def test_the_znode_has_version_3_and_what_is_not_kafkas_is_dropped(box: ControllerBox) -> None:
    """As Kafka 3.9 rewrites it."""
    data = json.loads(box.data(topic_path("t")) or b"")
    box.write(SetData(topic_path("t"), json.dumps(data | {"extra": 1, "version": 2}).encode()))
    ask(box, t_0=(2,))
    now = json.loads(box.data(topic_path("t")) or b"")
    assert now == data | {"adding_replicas": {"0": [2]}, "removing_replicas": {"0": [1]}, "partitions": {"0": [2, 1]}}


def test_a_leader_that_writes_its_isr_itself_tells_of_it(box: ControllerBox) -> None:
    """As before Kafka 2.7 (KIP-497): the notification completes what waited for that ISR."""
    ask(box, t_0=(2,))
    box.set_state("t-0", LeaderAndIsr(leader=1, leader_epoch=1, isr=(1, 2), controller_epoch=1))
    assert under_way(box) == ["t-0"]
    box.write(Create("/isr_change_notification/isr_change_0000000000", encode_partitions([partition("t-0")])))
    assert assignment(box, "t-0") == Assignment((2,))
    assert under_way(box) == []


# --- what a controller leaves that dies over a cancellation


def test_a_leader_that_names_somebody_who_is_no_replica_any_more_is_told(box: ControllerBox) -> None:
    """The topic's znode had been written when the controller died, and nobody has told the leader."""
    ask(box, t_0=(2,))
    box.depose()
    box.change_topic("t", [[1]])
    box.write(Delete("/controller"))
    box.forget()
    answer = box.alter_partition("t-0", [1, 2]).result()
    assert answer.topics[0].partitions[0].error_code == ErrorCode.INELIGIBLE_REPLICA
    assert leadership(box, "t-0") == (1, 2, (1,))
    assert list(box.entry("LeaderAndIsr", "t-0", to=1).replicas) == [1]


def test_who_was_in_sync_and_is_no_replica_any_more_is_stopped_by_the_next_controller(box: ControllerBox) -> None:
    box.depose()
    box.set_state("t-0", LeaderAndIsr(leader=2, leader_epoch=4, isr=(1, 2), controller_epoch=1))
    box.forget()
    box.write(Delete("/controller"))
    assert leadership(box, "t-0")[0] == 1
    assert leadership(box, "t-0")[2] == (1,)
    assert box.entry("StopReplica", "t-0", to=2).delete_partition
    assert assignment(box, "t-0") == Assignment((1,))
    assert under_way(box) == []


def test_who_leads_and_is_no_replica_any_more_leads_no_longer_when_the_last_replica_dies(box: ControllerBox) -> None:
    """The controller was on 4: it had written that the reassignment is cancelled, and has told nobody."""
    box.register_broker(4)
    box.register_broker(5)
    box.create_topic("u", [[3, 4]])
    ask(box, u_0=(2, 5))
    box.alter_partition("u-0", [3, 4, 2])
    box.remove_broker(3)
    assert leadership(box, "u-0")[::2] == (2, (4, 2))
    box.depose()
    box.change_topic("u", [[3, 4]])
    box.remove_broker(4)
    box.forget()
    box.write(Delete("/controller"))
    assert leadership(box, "u-0")[::2] == (-1, (4,))
    assert box.entry("StopReplica", "u-0", to=2).delete_partition
    assert assignment(box, "u-0") == Assignment((3, 4))
    box.register_broker(4)
    assert leadership(box, "u-0")[::2] == (4, (4,))


# --- and deleted


def test_a_topic_that_is_to_be_deleted_is_not_reassigned_any_more(box: ControllerBox) -> None:
    """As in Kafka, where a reassignment is no hindrance for a deletion that is asked for only now."""
    write(box, {"t-0": (2,)})
    box.write(Create("/admin/delete_topics/t"))
    assert ask(box, t_0=(3,)) == {"t-0": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    box.set_state("t-0", LeaderAndIsr(leader=1, leader_epoch=2, isr=(1, 2), controller_epoch=1))
    box.bounce_broker(2)
    assert assignment(box, "t-0") == Assignment((2, 1), adding=(2,), removing=(1,))
    assert {sent.broker: sent.entries["t-0"].leader_epoch for sent in box.sent("StopReplica")} == {1: -2, 2: -2}


def test_a_partition_that_never_had_a_leader_can_be_deleted_while_it_is_reassigned(box: ControllerBox) -> None:
    box.create_topic("u", [[4]])
    write(box, {"u-0": (2,)})
    assert assignment(box, "u-0") == Assignment((2, 4), adding=(2,), removing=(4,))
    box.write(Create("/admin/delete_topics/u"))
    assert box.entry("StopReplica", "u-0", to=2).delete_partition
