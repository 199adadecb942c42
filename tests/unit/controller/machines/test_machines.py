"""Both state machines: what is legal, and what comes of a transition that ZooKeeper does not let through.

Sources: kafka.controller.ZkPartitionStateMachine, ZkReplicaStateMachine (3.9). That the tables are Kafka's is tested with
vectors made from its own tests (tests/fidelity).
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.controller.transitions import (
    PARTITION_FROM,
    REPLICA_FROM,
    PartitionState,
    PartitionTransition,
    ReplicaState,
    ReplicaTransition,
    Why,
)
from pytest_kcontroller.model.cluster import LeaderAndIsr, TopicPartition
from pytest_kcontroller.model.election import ElectionReason
from pytest_kcontroller.zookeeper.session import Delete
from tests.tools.controller_box import ControllerBox

TP, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)
PARTITION_TARGETS = list(PartitionState)


@pytest.fixture
def term(box: ControllerBox) -> Term:
    """t-0 and t-1 are led by broker 1, followed by 2."""
    box.create_topic("t", [[1, 2], [1, 2]])
    box.start()
    box.forget()
    assert box.controller.term is not None
    return box.controller.term


def failures(box: ControllerBox) -> list[tuple[str, dict[str, str]]]:
    """(machine, who could not follow and why), as the history has them."""
    return [(event["machine"], event["failed"]) for event in box.events("controller.state-change-failed")]


# --- legal and illegal


def test_the_tables_are_total_and_what_is_in_no_map_is_non_existent() -> None:
    assert (set(PARTITION_FROM), set(REPLICA_FROM)) == (set(PartitionState), set(ReplicaState))
    assert Context(1, 1).partition_state(TP) is PartitionState.NON_EXISTENT
    assert Context(1, 1).replica_state(TP, 5) is ReplicaState.NON_EXISTENT


@pytest.mark.parametrize(("origin", "target"), list(itertools.product(PartitionState, PARTITION_TARGETS)))
def test_partitions_follow_kafkas_table_and_the_others_of_a_batch_go_on(
    box: ControllerBox, term: Term, origin: PartitionState, target: PartitionState
) -> None:
    legal = origin in PARTITION_FROM[target]
    companion = next(state for state in reversed(PartitionState) if state in PARTITION_FROM[target])
    term.context.set_partition_state([TP], origin)
    term.context.set_partition_state([OTHER], companion)
    move = PartitionTransition(target=target, cause="test", election=ElectionReason.OFFLINE)
    refused = box.run(term.partitions.transition([TP, OTHER], move))
    assert (refused.get(TP) is Why.ILLEGAL) == (not legal)
    if not legal:
        assert term.context.partition_state(TP) == origin
        assert failures(box) == [("partition", {"t-0": Why.ILLEGAL.value})]
    assert term.context.partition_state(OTHER) == target


@pytest.mark.parametrize(("origin", "target"), list(itertools.product(ReplicaState, ReplicaState)))
def test_replicas_follow_kafkas_table_and_the_others_of_a_batch_go_on(
    box: ControllerBox, term: Term, origin: ReplicaState, target: ReplicaState
) -> None:
    legal = origin in REPLICA_FROM[target]
    companion = next(state for state in ReplicaState if state in REPLICA_FROM[target])
    term.context.set_replica_state(2, [TP], origin)
    term.context.set_replica_state(2, [OTHER], companion)
    move = ReplicaTransition(target=target, cause="test")
    refused = box.run(term.replicas.transition({2: [TP, OTHER]}, move))
    assert refused == ({} if legal else {(TP, 2): Why.ILLEGAL})
    assert term.context.replica_state(TP, 2) == (target if legal else origin)
    assert term.context.replica_state(OTHER, 2) == target
    assert failures(box) == ([] if legal else [("replica", {"t-0 on 2": Why.ILLEGAL.value})])


def test_an_illegal_transition_is_recorded_with_its_cause(box: ControllerBox, term: Term) -> None:
    box.run(term.partitions.transition([TP], PartitionTransition(target=PartitionState.NEW, cause="TopicChange")))
    (event,) = box.events("controller.state-change-failed")
    assert (event["cause"], event["target"], event["count"]) == ("TopicChange", "NewPartition", 1)
    assert event["failed"] == {"t-0": Why.ILLEGAL.value}


# --- what ZooKeeper says


def test_a_stale_state_is_read_and_decided_anew(box: ControllerBox, term: Term) -> None:
    """Only it: the other one's write needs no look. What somebody else has written is what the decision is about."""
    theirs = replace(box.state("t-0"), leader_epoch=7, isr=(2, 1))
    box.set_state("t-0", theirs)
    box.forget()
    box.remove_broker(1)
    assert box.state("t-0") == replace(theirs, leader=2, leader_epoch=8, isr=(2,), partition_epoch=2)
    assert (box.state("t-1").leader, box.state("t-1").isr) == (2, (2,))
    assert failures(box) == []


def test_a_stale_state_of_a_newer_controller_is_left_alone(box: ControllerBox, term: Term) -> None:
    newer = replace(box.state("t-0"), controller_epoch=99)
    box.set_state("t-0", newer)
    box.forget()
    box.remove_broker(1)
    assert box.state("t-0") == replace(newer, partition_epoch=1)
    assert box.state("t-1").leader == 2
    assert ("partition", {"t-0": Why.SUPERSEDED.value}) in failures(box)


def test_a_state_that_has_vanished_is_not_made_again(box: ControllerBox, term: Term) -> None:
    box.write(Delete("/brokers/topics/t/partitions/0/state"))
    box.forget()
    box.remove_broker(1)
    assert box.find_state("t-0") is None
    assert box.state("t-1").leader == 2
    assert ("partition", {"t-0": Why.VANISHED.value}) in failures(box)


def test_a_new_partition_whose_state_is_there_stays_new(box: ControllerBox, term: Term) -> None:
    box.set_state("t-0", replace(box.state("t-0"), leader_epoch=9))
    box.forget()
    term.context.set_partition_state([TP], PartitionState.NEW)
    online = PartitionTransition(target=PartitionState.ONLINE, cause="test", election=ElectionReason.OFFLINE)
    assert box.run(term.partitions.transition([TP], online)) == {TP: Why.EXISTS}
    assert term.context.partition_state(TP) is PartitionState.NEW
    assert box.recipients("LeaderAndIsr") == {}


def test_a_state_that_is_too_big_costs_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """ZooKeeper's packet limit is set so low that the path of one topic is too long."""
    with ControllerBox(brokers=(1, 2), chunk_ops=1) as box:
        long = "x" * 240
        for topic in ("a", long, "z"):
            box.create_topic(topic, [[1, 2]])
        box.start()
        box.forget()
        monkeypatch.setattr("pytest_kcontroller.sim.zookeeper.session.MAX_REQUEST_BYTES", 480)
        box.remove_broker(1)
        assert [box.state(f"{topic}-0").leader for topic in ("a", long, "z")] == [2, 1, 2]
        assert ("partition", {f"{long}-0": Why.TOO_BIG.value}) in failures(box)


def test_a_partition_that_nobody_may_lead_is_offline_and_no_mistake(box: ControllerBox, term: Term) -> None:
    box.remove_broker(1, 2)
    assert term.context.partition_state(TP) is PartitionState.OFFLINE
    assert term.context.offline_partition_count == 2
    assert failures(box) == []
    box.register_broker(2)
    assert (term.context.partition_state(TP), term.context.offline_partition_count) == (PartitionState.ONLINE, 0)


# --- replicas that leave the ISR: the vectors' effects


@pytest.mark.parametrize(
    ("state", "after"),
    [
        ((1, (1, 2, 3)), (-1, (2, 3), 1)),
        ((2, (1, 2, 3)), (2, (2, 3), 1)),
        ((1, (1,)), (-1, (1,), 1)),
        ((2, (2, 3)), None),
    ],
    ids=["rs-online-offline-effects", "rs-follower-removed", "rs-last-isr-kept", "rs-not-in-isr"],
)
def test_a_replica_that_goes_offline(
    box: ControllerBox, state: tuple[int, tuple[int, ...]], after: tuple[int, tuple[int, ...], int] | None
) -> None:
    """Replica 1. Who is not in the ISR costs no write and no epoch; a StopReplica and LeaderAndIsr are sent all the same."""
    leader, isr = state
    known = LeaderAndIsr(leader=leader, leader_epoch=3, isr=isr, controller_epoch=1)
    box.create_topic("t", [[1, 2, 3]], states={0: known})
    box.start()
    box.forget()
    term = box.controller.term
    assert term is not None
    move = ReplicaTransition(target=ReplicaState.OFFLINE, cause="test")
    assert box.run(term.replicas.transition({1: [TP]}, move)) == {}
    written = [(new.leader, new.isr, new.leader_epoch - 3) for _, new in box.states_written()]
    assert written == ([] if after is None else [after])
    assert box.recipients("StopReplica") == {1: ["t-0"]}
    assert not box.entry("StopReplica", "t-0", to=1).delete_partition
    assert box.recipients("LeaderAndIsr") == {2: ["t-0"], 3: ["t-0"]}


def test_a_replica_that_comes_online_is_sent_its_state_unless_it_is_new(box: ControllerBox, term: Term) -> None:
    term.context.set_replica_state(2, [TP], ReplicaState.NEW)
    term.context.set_replica_state(2, [OTHER], ReplicaState.DELETION_INELIGIBLE)
    box.run(term.replicas.transition({2: [TP, OTHER]}, ReplicaTransition(target=ReplicaState.ONLINE, cause="test")))
    assert box.recipients("LeaderAndIsr") == {2: ["t-1"]}
    assert not box.entry("LeaderAndIsr", "t-1", to=2).is_new
    assert box.written() == []


def test_a_new_replica_of_a_partition_that_is_led_is_told_so_and_its_leader_cannot_be_new(
    box: ControllerBox, term: Term
) -> None:
    for broker in (1, 2):
        term.context.set_replica_state(broker, [TP], ReplicaState.NON_EXISTENT)
    move = ReplicaTransition(target=ReplicaState.NEW, cause="test")
    assert box.run(term.replicas.transition({1: [TP], 2: [TP]}, move)) == {(TP, 1): Why.LEADS}
    assert term.context.replica_state(TP, 1) is ReplicaState.NON_EXISTENT
    assert box.recipients("LeaderAndIsr") == {2: ["t-0"]}
    assert box.entry("LeaderAndIsr", "t-0", to=2).is_new
    assert box.written() == []


def test_a_replica_is_deleted_by_its_broker_and_then_no_replica_any_more(box: ControllerBox, term: Term) -> None:
    """The first StopReplica has the leader epoch of before the replica left the ISR, the second that of after it."""
    for target in (
        ReplicaState.OFFLINE,
        ReplicaState.DELETION_STARTED,
        ReplicaState.DELETION_SUCCESSFUL,
        ReplicaState.NON_EXISTENT,
    ):
        assert box.run(term.replicas.transition({2: [TP]}, ReplicaTransition(target=target, cause="test"))) == {}
    stops = [sent.entries["t-0"] for sent in box.sent("StopReplica", to=2)]
    assert [(stop.leader_epoch, stop.delete_partition) for stop in stops] == [(0, False), (1, True)]
    assert term.context.assignments[TP].replicas == (1,)
    assert term.context.hosted_by(2) == [OTHER]
    assert term.context.replica_state(TP, 2) is ReplicaState.NON_EXISTENT


def test_a_state_that_needed_no_write_is_sent_out_under_our_epoch(box: ControllerBox) -> None:
    """Of a follower that was out of the ISR already (scenario 1009 of tests/fidelity)."""
    theirs = LeaderAndIsr(leader=1, leader_epoch=3, isr=(1,), controller_epoch=0)
    box.create_topic("t", [[1, 2, 3]], states={0: theirs})
    box.start()
    box.forget()
    box.remove_broker(2)
    assert box.states_written() == []
    assert box.entry("LeaderAndIsr", "t-0", to=1).controller_epoch == box.controller.epoch
