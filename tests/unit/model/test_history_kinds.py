"""The declared kinds of the history: each has a name, fields with a meaning, and a sentence for whatever a file may hold."""

from __future__ import annotations

import json
from typing import Annotated, Any, get_origin, get_type_hints

import pytest

from pytest_kcontroller.model import history
from pytest_kcontroller.model.cluster import LeaderAndIsr, TopicPartition
from pytest_kcontroller.model.history.event import About, Batch, HistoryEvent, event, kinds, names_of, parsed, rows
from pytest_kcontroller.model.history.fields import COLUMNS, Node

KINDS = [pytest.param(kind, id=kind.kind) for kind in kinds()]


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_is_named_after_its_kind_and_says_what_each_field_means(kind: type[HistoryEvent]) -> None:
    words = kind.kind.replace("-", ".").split(".")
    assert kind.__name__ == "".join(word.capitalize() for word in words)
    assert kind.__doc__
    hints = get_type_hints(kind, include_extras=True)
    for name in names_of(kind):
        assert get_origin(hints[name]) is Annotated, name
        assert any(isinstance(said, About) and said.meaning for said in hints[name].__metadata__), name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [None, "?", [], {}, 7, [None], {"t": 1}])
def test_a_damaged_line_has_a_sentence_all_the_same(kind: type[HistoryEvent], value: Any) -> None:
    for line in ({}, dict.fromkeys(names_of(kind), value)):
        said = parsed({"writer": "node-0", "seq": 0, "t_us": 0, "kind": kind.kind, **line})
        assert said is not None
        assert said.sentence()


def test_a_kind_of_a_newer_version_is_none() -> None:
    assert parsed({"kind": "node.dreamt"}) is None


def test_a_kind_is_declared_once() -> None:
    with pytest.raises(ValueError, match=r"'node.started' is declared twice: NodeStarted, Again"):

        @event
        class Again(HistoryEvent):
            kind = "node.started"
            node: Node


def test_a_line_becomes_the_value_that_it_was_written_from() -> None:
    for value in (
        history.FaultAsked(
            fault="f",
            fault_kind="kill",
            mode=None,
            target="any",
            node=1,
            session="0xa",
            nodes=[1],
            sessions=["0xa"],
            zxid=7,
            ends_process=True,
            statuses=[-9],
            parameters={},
        ),
        history.AdminInfo(op="a", action="create_topic", arguments={"topic": "t", "partitions": 3}, error="no"),
        history.NodeStatus(node=1, active=True, epoch=2, session=None, phase="active"),
    ):
        assert parsed(json.loads(json.dumps(history.line_of(value, "engine", 0, 7)))) == value
    assert list(history.AdminInfo(op="a", action="b", arguments={"topic": "t"}, error="no").fields()) == [
        "op",
        "action",
        "topic",
        "error",
    ]


STATES = {
    TopicPartition("u", 0): LeaderAndIsr(leader=2, leader_epoch=1, isr=(2,), controller_epoch=3),
    TopicPartition("t", 0): LeaderAndIsr(leader=1, leader_epoch=4, isr=(1, 2), controller_epoch=3),
    TopicPartition("t", 1): LeaderAndIsr(leader=2, leader_epoch=5, isr=(2, 1), controller_epoch=3),
}


def test_a_batch_is_read_partition_by_partition() -> None:
    value = history.LeaderElected.of_states(STATES, epoch=3, reason="offline")
    line = json.loads(json.dumps(history.line_of(value, "node-0", 5, 9)))
    shared = {"writer": "node-0", "seq": 5, "t_us": 9, "kind": "leader.elected", "epoch": 3, "reason": "offline"}
    assert list(rows(line)) == [
        {**shared, "topic": "u", "partition": 0, "leader": 2, "leader_epoch": 1, "isr": [2]},
        {**shared, "topic": "t", "partition": 0, "leader": 1, "leader_epoch": 4, "isr": [1, 2]},
        {**shared, "topic": "t", "partition": 1, "leader": 2, "leader_epoch": 5, "isr": [2, 1]},
    ]
    for kind in kinds():
        if issubclass(kind, Batch):
            assert set(names_of(kind)) >= {"topics"}, kind
            assert COLUMNS.keys() >= set(kind.columns), kind


def test_a_line_from_before_there_were_batches_is_its_own_row_and_a_batch_of_one() -> None:
    line = {"writer": "node-0", "seq": 0, "t_us": 0, "kind": "leader.answered", "topic": "t", "partition": 3}
    line |= {"leader": 1, "leader_epoch": 2, "epoch": 3}
    assert list(rows(line)) == [line]
    said = parsed(line)
    assert said == history.LeaderAnswered(leader=1, epoch=3, topics={"t": {"partition": [3], "leader_epoch": [2]}})
    assert said.sentence() == "leader 1 of t-3 answered LeaderAndIsr (leader epoch 2)"


def test_sentences_are_words() -> None:
    elected = history.LeaderElected.of_states(STATES, epoch=3, reason="offline")
    assert elected.sentence() == (
        "it elected leaders for 3 partitions (controller epoch 3, offline): 2 for u-0, 1 for t-0, 2 for t-1"
    )
    one = history.BrokerIsrChanged(topics={"t": {"partition": [0], "isr": [[1, 2]], "partition_epoch": [4]}})
    assert one.sentence() == "the ISR of t-0 became [1, 2]"
    stopping = history.ControllerControlledShutdown(
        broker=1, broker_epoch=9, epoch=2, relieved={}, remaining=[], zxid=1
    )
    assert stopping.sentence() == "broker 1 is shutting down and still leads nothing"
    skipped = history.FaultSkipped(
        fault="f", fault_kind="session_expiry", mode="natural", target="any", node=1, session=None, why="nobody"
    )
    assert skipped.sentence() == "fault f (session_expiry:natural on node 1): skipped, nobody"
