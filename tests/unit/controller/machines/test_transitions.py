"""Both machines: what cannot follow a transition is recorded with its reason, and the rest of the batch goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_kcontroller.controller.machines.states import Changed
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.controller.transitions import (
    PartitionState,
    PartitionTransition,
    ReplicaState,
    ReplicaTransition,
    Why,
)
from pytest_kcontroller.model.cluster import LeaderAndIsr, TopicPartition
from pytest_kcontroller.zookeeper.session import Delete, SetData
from pytest_kcontroller.zookeeper.znodes import state_path
from tests.tools.controller_box import ControllerBox

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def term(box: ControllerBox) -> Term:
    """Topic t has two partitions, led by 2 and followed by 1."""
    box.create_topic("t", [[2, 1], [2, 1]])
    box.start()
    box.forget()
    assert box.controller.term is not None
    return box.controller.term


def failures(box: ControllerBox) -> list[tuple[str, str, str, dict[str, str]]]:
    failed: list[dict[str, Any]] = box.events("controller.state-change-failed")
    return [(event["cause"], event["machine"], event["target"], event["failed"]) for event in failed]


def failed_election(why: Why) -> list[tuple[str, str, str, dict[str, str]]]:
    """Broker 2 is dead; neither could t-0 be led by another, nor could 2 leave its ISR."""
    return [
        ("BrokerChange", "partition", "OnlinePartition", {"t-0": why.value}),
        ("BrokerChange", "replica", "OfflineReplica", {"t-0 on 2": why.value}),
    ]


# --- illegal transitions


def test_an_illegal_transition_of_a_partition_is_recorded(box: ControllerBox, term: Term) -> None:
    to_new = PartitionTransition(target=PartitionState.NEW, cause="TopicChange")
    assert box.act(term.partitions.transition([T0], to_new)) == {T0: Why.ILLEGAL}
    assert failures(box) == [("TopicChange", "partition", "NewPartition", {"t-0": Why.ILLEGAL.value})]
    assert term.context.partition_state(T0) is PartitionState.ONLINE


def test_an_illegal_transition_of_a_replica_is_recorded_and_the_batch_goes_on(box: ControllerBox, term: Term) -> None:
    term.context.set_replica_state(1, [T0], ReplicaState.DELETION_STARTED)
    offline = ReplicaTransition(target=ReplicaState.OFFLINE, cause="BrokerChange")
    assert box.act(term.replicas.transition({1: [T0, T1]}, offline)) == {(T0, 1): Why.ILLEGAL}
    assert failures(box) == [("BrokerChange", "replica", "OfflineReplica", {"t-0 on 1": Why.ILLEGAL.value})]
    assert term.context.replica_state(T1, 1) is ReplicaState.OFFLINE
    assert [name for name, _ in box.states_written()] == ["t-1"]


# --- what a write finds in ZooKeeper


def test_a_state_that_vanished_fails_alone(box: ControllerBox, term: Term) -> None:
    with box.paused():
        box.write(Delete(state_path(T0)))
        box.remove_broker(2)
    assert box.state("t-1").leader == 1
    assert failures(box) == failed_election(Why.VANISHED)


def test_a_stale_state_is_taken_over_and_decided_anew(box: ControllerBox, term: Term) -> None:
    """Somebody else had shrunk the ISR to the dead leader: nobody may lead now."""
    with box.paused():
        box.set_state("t-0", replace(box.state("t-0"), isr=(2,)))
        box.remove_broker(2)
    state = box.state("t-0")
    assert (state.leader, state.isr, state.leader_epoch) == (-1, (2,), 1)
    assert box.state("t-1").leader == 1
    assert failures(box) == []


def test_a_state_of_a_newer_controller_is_left_alone(box: ControllerBox, term: Term) -> None:
    newer = LeaderAndIsr(leader=2, leader_epoch=9, isr=(2, 1), controller_epoch=7)
    with box.paused():
        box.set_state("t-0", newer)
        box.remove_broker(2)
    assert box.state("t-0") == replace(newer, partition_epoch=1)
    assert box.state("t-1").leader == 1
    assert failures(box) == failed_election(Why.SUPERSEDED)


def test_a_state_that_cannot_be_read_any_more_fails_alone(box: ControllerBox, term: Term) -> None:
    with box.paused():
        box.write(SetData(state_path(T0), b"{"))
        box.remove_broker(2)
    assert box.data(state_path(T0)) == b"{"
    assert box.state("t-1").leader == 1
    assert failures(box) == failed_election(Why.NO_STATE)


def test_a_state_that_is_too_big_fails_alone(box: ControllerBox, term: Term) -> None:
    states = dict(term.context.leadership)
    wanted = {T0: replace(states[T0], isr=tuple(range(200_000))), T1: replace(states[T1], isr=(2,))}
    changed: Changed = box.act(term.states.compare_and_set(wanted))
    assert changed.refused == {T0: Why.TOO_BIG}
    assert list(changed.written) == [T1] and box.state("t-1").isr == (2,)
    assert term.context.leadership[T0] == states[T0]


def test_nothing_is_read_before_a_write_that_succeeds(box: ControllerBox, term: Term) -> None:
    box.remove_broker(2)
    assert [path for path in box.reads() if "/topics/" in path] == []
    assert sorted(name for name, _ in box.states_written()) == ["t-0", "t-1"]


# --- events name what changed


def test_a_changed_topic_is_read_and_no_other(box: ControllerBox, term: Term) -> None:
    box.create_topic("u", [[1, 2]])
    box.forget()
    box.change_topic("t", [[2, 1], [2, 1], [1, 3]])
    assert box.state("t-2").leader == 1
    assert box.reads() == ["/brokers/topics/t"]
