"""What a broker makes of a controller's orders (semantics: ReplicaManager and Partition of Kafka 3.9)."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_kcontroller.broker.metadata import MetadataCache, PartitionMetadata
from pytest_kcontroller.broker.replicas import IsrAnswer, IsrQuestion, LeaderOrder, Replicas, StopOrder
from pytest_kcontroller.model.cluster import Address, Broker, TopicPartition
from pytest_kcontroller.wire.errors import ErrorCode

TP = TopicPartition("orders", 0)
TOPIC_ID = "q8zHkq3VTyOqmVbGcUNWjA"
US = 1


def order(**changed: Any) -> LeaderOrder:
    values: dict[str, Any] = {
        "tp": TP,
        "leader": US,
        "leader_epoch": 4,
        "isr": (1,),
        "partition_epoch": 7,
        "replicas": (1, 2, 3),
        "controller_epoch": 2,
        "topic_id": TOPIC_ID,
    }
    return LeaderOrder(**values | changed)


def leading(**changed: Any) -> Replicas:
    replicas = Replicas(US)
    assert replicas.lead_or_follow(order(**changed))[0] == ErrorCode.NONE
    return replicas


def ask(replicas: Replicas, *live: int) -> IsrQuestion | None:
    questions = replicas.questions(lambda broker: broker in live)
    assert len(questions) <= 1
    return questions[0] if questions else None


@pytest.mark.parametrize(
    ("theirs", "ours", "expected"),
    [
        (9, 10, ErrorCode.STALE_BROKER_EPOCH),
        (10, 10, ErrorCode.NONE),
        (11, 10, ErrorCode.NONE),
        (-1, 10, ErrorCode.NONE),
        (5, -1, ErrorCode.NONE),
    ],
)
def test_an_order_for_an_earlier_life_is_refused(theirs: int, ours: int, expected: ErrorCode) -> None:
    replicas = Replicas(US)
    assert replicas.admit(controller_epoch=1, broker_epoch=theirs, own_broker_epoch=ours) == expected
    assert replicas.controller_epoch == (1 if expected == ErrorCode.NONE else 0)


def test_the_newest_controller_is_remembered_over_all_orders() -> None:
    replicas = Replicas(US)
    admit = [replicas.admit(controller_epoch=e, broker_epoch=-1, own_broker_epoch=5) for e in (1, 3, 2, 3)]
    assert admit == [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.STALE_CONTROLLER_EPOCH, ErrorCode.NONE]


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"leader_epoch": 5}, ErrorCode.NONE),
        ({"leader_epoch": 4}, ErrorCode.STALE_CONTROLLER_EPOCH),
        ({"leader_epoch": 3}, ErrorCode.STALE_CONTROLLER_EPOCH),
        ({"leader_epoch": 5, "replicas": (2, 3)}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"leader_epoch": 5, "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ"}, ErrorCode.INCONSISTENT_TOPIC_ID),
        ({"leader_epoch": 5, "topic_id": None}, ErrorCode.NONE),
    ],
)
def test_only_a_greater_leader_epoch_is_taken(changed: dict[str, Any], error: ErrorCode) -> None:
    replicas = leading()
    got, replica = replicas.lead_or_follow(order(leader=2, **changed))
    assert got == error
    assert (replica is not None) == (error == ErrorCode.NONE)
    known = replicas.get(TP)
    assert known is not None
    assert known.leader == (2 if error == ErrorCode.NONE else US)
    assert known.topic_id == TOPIC_ID


def test_a_topic_id_is_learnt_without_a_new_leader_epoch() -> None:
    replicas = leading(topic_id=None)
    assert ask(replicas, 1, 2) is None  # AlterPartition could not name the topic
    assert replicas.lead_or_follow(order()) == (ErrorCode.NONE, None)
    assert ask(replicas, 1, 2) is not None


@pytest.mark.parametrize(
    ("epoch", "error"),
    [
        (-2, ErrorCode.NONE),
        (-1, ErrorCode.NONE),
        (5, ErrorCode.NONE),
        (4, ErrorCode.NONE),
        (3, ErrorCode.FENCED_LEADER_EPOCH),
    ],
)
def test_stopping_needs_a_leader_epoch_that_is_not_smaller(epoch: int, error: ErrorCode) -> None:
    replicas = leading()
    assert replicas.stop(StopOrder(TP, epoch, delete=True)) == error
    assert (replicas.get(TP) is None) == (error == ErrorCode.NONE)


def test_a_stopped_replica_keeps_its_epoch_and_asks_nothing() -> None:
    replicas = leading()
    assert replicas.stop(StopOrder(TP, 4, delete=False)) == ErrorCode.NONE
    assert ask(replicas, 1, 2, 3) is None
    assert replicas.led == 0
    assert replicas.lead_or_follow(order(leader_epoch=4))[0] == ErrorCode.STALE_CONTROLLER_EPOCH
    assert replicas.lead_or_follow(order(leader_epoch=5))[0] == ErrorCode.NONE
    assert replicas.led == 1


def test_stopping_what_is_not_here_is_done_already() -> None:
    assert Replicas(US).stop(StopOrder(TP, 0, delete=True)) == ErrorCode.NONE


def test_a_leader_takes_in_live_assigned_followers_only() -> None:
    question = ask(leading(), 1, 3, 9)
    assert question is not None
    assert question.isr == (1, 3)
    assert (question.leader_epoch, question.partition_epoch, question.topic_id) == (4, 7, TOPIC_ID)


def test_a_leader_removes_nobody_and_a_follower_asks_nothing() -> None:
    assert ask(leading(isr=(1, 2)), 1) is None
    assert ask(leading(leader=2), 1, 2, 3) is None


def test_an_isr_member_outside_the_assignment_is_never_asked_for() -> None:
    question = ask(leading(isr=(1, 9)), 1, 2, 9)
    assert question is not None
    assert question.isr == (1, 2)


def test_the_same_question_until_it_is_answered() -> None:
    replicas = leading()
    first = ask(replicas, 1, 2)
    assert first is not None
    assert ask(replicas, 1, 3) == first
    replicas.refused(first, ErrorCode.NOT_CONTROLLER)
    assert ask(replicas, 1, 3) == first
    replica = replicas.answered(first, IsrAnswer(leader_epoch=4, partition_epoch=8, isr=(1, 2)))
    assert replica is not None
    assert (replica.isr, replica.partition_epoch) == ((1, 2), 8)
    second = ask(replicas, 1, 3)
    assert second is not None
    assert (second.isr, second.partition_epoch) == ((1, 2, 3), 8)


def test_an_answer_without_a_change_ends_the_question() -> None:
    replicas = leading()
    question = ask(replicas, 1, 2)
    assert question is not None
    assert replicas.answered(question, IsrAnswer(leader_epoch=4, partition_epoch=7, isr=(1,))) is None
    assert ask(replicas, 1) is None


@pytest.mark.parametrize("error", [ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.INVALID_UPDATE_VERSION])
def test_who_knows_less_than_the_controller_waits_for_its_order(error: ErrorCode) -> None:
    replicas = leading()
    question = ask(replicas, 1, 2)
    assert question is not None
    replicas.refused(question, error)
    assert ask(replicas, 1, 2, 3) is None
    replicas.lead_or_follow(order(leader_epoch=5, partition_epoch=9))
    again = ask(replicas, 1, 2)
    assert again is not None
    assert again.partition_epoch == 9


def test_an_ineligible_replica_is_asked_for_again_while_it_lives() -> None:
    replicas = leading()
    question = ask(replicas, 1, 2, 3)
    assert question is not None
    replicas.refused(question, ErrorCode.INELIGIBLE_REPLICA)
    again = ask(replicas, 1, 3)
    assert again is not None
    assert again.isr == (1, 3)


def test_an_answer_to_an_older_question_changes_nothing() -> None:
    replicas = leading()
    old = ask(replicas, 1, 2)
    assert old is not None
    replicas.lead_or_follow(order(leader_epoch=5, partition_epoch=9))
    assert replicas.answered(old, IsrAnswer(leader_epoch=4, partition_epoch=8, isr=(1, 2))) is None
    replicas.refused(old, ErrorCode.FENCED_LEADER_EPOCH)
    assert ask(replicas, 1, 2) is not None


def test_the_last_metadata_wins() -> None:
    cache = MetadataCache()

    def told(leader: int) -> PartitionMetadata:
        return PartitionMetadata(
            leader=leader, leader_epoch=1, isr=(1,), partition_epoch=1, controller_epoch=1, replicas=(1,)
        )

    other = TopicPartition("orders", 1)
    brokers = [Broker(id=b, address=Address("127.0.0.1", 9000 + b)) for b in (1, 2)]
    cache.update(1, 1, brokers, [(TP, told(1)), (other, told(1))])
    cache.update(2, 2, brokers[:1], [(TP, told(-2))])
    assert (cache.live(1), cache.live(2)) == (True, False)
    assert list(cache.partitions) == [other]
    assert cache.to_json()["controller"] == 2
