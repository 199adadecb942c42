"""What a broker makes of a controller's requests (semantics: ReplicaManager and Partition of Kafka 3.9)."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from pytest_kcontroller.broker.metadata import MetadataCache
from pytest_kcontroller.broker.replicas import PendingIsr, Replica, Replicas
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.model.turns import MOST
from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import (
    AlteredPartition,
    LeaderAndIsrPartitionState,
    StopReplicaPartitionState,
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)

TP = TopicPartition("orders", 0)
TOPIC_ID = "q8zHkq3VTyOqmVbGcUNWjA"
US = 1


def lead(
    hosted: Replicas,
    *,
    tp: TopicPartition = TP,
    topic_id: str | None = TOPIC_ID,
    live: tuple[int, ...] = (1, 2, 3),
    **changed: Any,
) -> tuple[ErrorCode, Replica | None]:
    """One partition of a LeaderAndIsr; `live` by the broker's metadata."""
    values: dict[str, Any] = {
        "partition_index": tp.partition,
        "leader": US,
        "leader_epoch": 4,
        "isr": (1,),
        "partition_epoch": 7,
        "replicas": (1, 2, 3),
        "controller_epoch": 2,
        "adding_replicas": (),
        "removing_replicas": (),
    }
    return hosted.lead_or_follow(tp, topic_id, LeaderAndIsrPartitionState(**values | changed), live.__contains__)


def stop(replicas: Replicas, epoch: int, *, delete: bool, tp: TopicPartition = TP) -> ErrorCode:
    entry = StopReplicaPartitionState(partition_index=tp.partition, leader_epoch=epoch, delete_partition=delete)
    return replicas.stop(tp, entry)


def altered(partition_epoch: int, isr: tuple[int, ...], leader_epoch: int = 4) -> AlteredPartition:
    return AlteredPartition(
        partition_index=0,
        error_code=0,
        leader_id=US,
        leader_epoch=leader_epoch,
        isr=isr,
        partition_epoch=partition_epoch,
    )


def leading(**changed: Any) -> Replicas:
    replicas = Replicas(US)
    assert lead(replicas, **changed)[0] == ErrorCode.NONE
    return replicas


def ask(replicas: Replicas, *live: int) -> PendingIsr | None:
    pending = replicas.pending(lambda broker: broker in live)
    assert len(pending) <= 1
    return pending[0] if pending else None


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
def test_a_request_for_an_earlier_life_is_refused(theirs: int, ours: int, expected: ErrorCode) -> None:
    replicas = Replicas(US)
    assert replicas.admit(controller_epoch=1, broker_epoch=theirs, own_broker_epoch=ours) == expected
    assert replicas.controller_epoch == (1 if expected == ErrorCode.NONE else 0)


def test_the_newest_controller_is_remembered_over_all_requests() -> None:
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
    got, replica = lead(replicas, leader=2, **changed)
    assert got == error
    assert (replica is not None) == (error == ErrorCode.NONE)
    known = replicas.get(TP)
    assert known is not None
    assert known.leader == (2 if error == ErrorCode.NONE else US)
    assert known.topic_id == TOPIC_ID


def test_a_topic_id_is_learnt_without_a_new_leader_epoch() -> None:
    replicas = leading(topic_id=None)
    assert ask(replicas, 1, 2) is None  # AlterPartition could not name the topic
    assert lead(replicas) == (ErrorCode.NONE, None)
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
    assert stop(replicas, epoch, delete=True) == error
    assert (replicas.get(TP) is None) == (error == ErrorCode.NONE)


def test_a_stopped_replica_keeps_its_epoch_and_asks_nothing() -> None:
    replicas = leading()
    assert stop(replicas, 4, delete=False) == ErrorCode.NONE
    assert ask(replicas, 1, 2, 3) is None
    assert replicas.led == 0
    assert lead(replicas, leader_epoch=4)[0] == ErrorCode.STALE_CONTROLLER_EPOCH
    assert lead(replicas, leader_epoch=5)[0] == ErrorCode.NONE
    assert replicas.led == 1


def test_stopping_what_is_not_here_is_done_already() -> None:
    assert stop(Replicas(US), 0, delete=True) == ErrorCode.NONE


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
    replicas.fail(first, ErrorCode.NOT_CONTROLLER)
    assert ask(replicas, 1, 3) == first
    replica = replicas.complete(first, altered(8, (1, 2)))
    assert replica is not None
    assert (replica.isr, replica.partition_epoch) == ((1, 2), 8)
    second = ask(replicas, 1, 3)
    assert second is not None
    assert (second.isr, second.partition_epoch) == ((1, 2, 3), 8)


def test_an_answer_without_a_change_ends_the_question() -> None:
    replicas = leading()
    question = ask(replicas, 1, 2)
    assert question is not None
    assert replicas.complete(question, altered(7, (1,))) is None
    assert ask(replicas, 1) is None


@pytest.mark.parametrize("error", [ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.INVALID_UPDATE_VERSION])
def test_who_knows_less_than_the_controller_waits_for_its_request(error: ErrorCode) -> None:
    replicas = leading()
    question = ask(replicas, 1, 2)
    assert question is not None
    replicas.fail(question, error)
    assert ask(replicas, 1, 2, 3) is None
    lead(replicas, leader_epoch=5, partition_epoch=9)
    again = ask(replicas, 1, 2)
    assert again is not None
    assert again.partition_epoch == 9


def test_an_ineligible_replica_is_asked_for_again_while_it_lives() -> None:
    replicas = leading()
    question = ask(replicas, 1, 2, 3)
    assert question is not None
    replicas.fail(question, ErrorCode.INELIGIBLE_REPLICA)
    again = ask(replicas, 1, 3)
    assert again is not None
    assert again.isr == (1, 3)


def test_an_answer_to_an_older_question_changes_nothing() -> None:
    replicas = leading()
    old = ask(replicas, 1, 2)
    assert old is not None
    lead(replicas, leader_epoch=5, partition_epoch=9)
    assert replicas.complete(old, altered(8, (1, 2))) is None
    replicas.fail(old, ErrorCode.FENCED_LEADER_EPOCH)
    assert ask(replicas, 1, 2) is not None


def test_the_indices_are_true_after_any_requests() -> None:
    """What is led, and what may have to be asked, against a look through everything that is hosted."""
    draw, replicas = NamedRng(5).stream("replicas"), Replicas(US)
    tps = [TopicPartition(topic, number) for topic in ("a", "b") for number in (0, 1)]
    for epoch in range(3000):
        tp = draw.choice(tps)
        if draw.random() < 0.4:
            topic_id = draw.choice((TOPIC_ID, None))
            isr = draw.choice(((1,), (1, 2), (1, 2, 3), (1, 9)))
            lead(replicas, tp=tp, topic_id=topic_id, leader=draw.choice((1, 1, 2)), leader_epoch=epoch, isr=isr)
        elif draw.random() < 0.3:
            stop(replicas, epoch, delete=draw.random() < 0.5, tp=tp)
        for pending in replicas.pending(lambda _: draw.random() < 0.5):
            if draw.random() < 0.5:
                replicas.complete(pending, altered(epoch, pending.isr, pending.leader_epoch))
            elif draw.random() < 0.5:
                replicas.fail(pending, draw.choice((ErrorCode.INELIGIBLE_REPLICA, ErrorCode.FENCED_LEADER_EPOCH)))
        led = [replica for replica in replicas.hosted if replica.leader == US and not replica.stopped]
        assert replicas.led == len(led)
        asking = [r.pending for r in led if r.pending is not None]
        assert [p for p in replicas.pending(lambda _: False) if p.isr] == asking
        everybody = {r.tp for r in led if r.topic_id and not r.outdated and (r.pending or set(r.replicas) - set(r.isr))}
        assert {pending.tp for pending in replicas.pending(lambda _: True)} == everybody
        assert replicas.any_short == bool(everybody)


def update(
    controller: int,
    brokers: tuple[int, ...],
    leaders: dict[TopicPartition, int],
    *,
    epoch: int = 1,
    broker_epoch: int = -1,
    leader_epoch: int = 1,
    offline: tuple[int, ...] = (),
) -> UpdateMetadataRequest:
    endpoints = {
        broker: UpdateMetadataEndpoint(port=9000 + broker, host="127.0.0.1", listener="PLAINTEXT", security_protocol=0)
        for broker in brokers
    }
    return UpdateMetadataRequest(
        controller_id=controller,
        controller_epoch=epoch,
        broker_epoch=broker_epoch,
        topic_states=[
            UpdateMetadataTopicState(
                topic_name=tp.topic,
                topic_id=bytes(16),
                partition_states=[
                    UpdateMetadataPartitionState(
                        partition_index=tp.partition,
                        controller_epoch=1,
                        leader=leader,
                        leader_epoch=leader_epoch,
                        isr=(1,),
                        zk_version=1,
                        replicas=(1,),
                        offline_replicas=offline,
                    )
                ],
            )
            for tp, leader in leaders.items()
        ],
        live_brokers=[UpdateMetadataBroker(id=b, endpoints=[endpoint], rack=None) for b, endpoint in endpoints.items()],
    )


def test_the_last_metadata_wins() -> None:
    cache, other = MetadataCache(), TopicPartition("orders", 1)
    cache.update(update(1, (1, 2), {TP: 1, other: 1}))
    cache.update(update(2, (1,), {TP: -2}))
    assert (cache.live(1), cache.live(2)) == (True, False)
    assert str(cache.brokers[1].address) == "127.0.0.1:9001"
    assert [list(cache.topics["orders"]), cache.leader(other), cache.leader(TP)] == [[1], 1, None]
    assert cache.to_json()["controller"] == 2


@pytest.mark.parametrize("now", [{"epoch": 2}, {"broker_epoch": 9}, {"epoch": 2, "broker_epoch": 9}])
def test_what_a_new_controller_or_registration_begins_with_is_all_that_there_is(now: dict[str, int]) -> None:
    """Who was out of reach when a topic was deleted has not heard of it."""
    cache, gone = MetadataCache(), TopicPartition("gone", 0)
    cache.update(update(1, (1, 2), {TP: 1, gone: 2}, broker_epoch=5))
    cache.update(update(1, (1, 2), {}, **now))
    assert cache.leader(gone) == 2, "it says only who is live"
    cache.update(update(1, (1, 2), {TP: 1}, **now))
    cache.update(update(1, (1, 2), {TopicPartition("new", 0): 1}, **now))
    assert sorted(cache.topics) == ["new", "orders"]


def test_of_many_partitions_none_is_missing_while_a_new_controller_tells_them() -> None:
    """Full requests, and one that is not: only then it is known what has gone."""
    first, rest = {TopicPartition("first", p): 1 for p in range(MOST)}, {TopicPartition("rest", p): 1 for p in range(3)}
    cache, gone = MetadataCache(), TopicPartition("gone", 0)
    cache.update(update(1, (1, 2), {**first, **rest, gone: 2}))
    cache.update(update(2, (1, 2), dict.fromkeys(first, 2), epoch=2))
    assert {topic: cache.leader(TopicPartition(topic, 0)) for topic in cache.topics} == {
        "first": 2,
        "gone": 2,
        "rest": 1,
    }
    cache.update(update(2, (1, 2), {TopicPartition("rest", 0): 2}, epoch=2))
    assert {topic: len(partitions) for topic, partitions in cache.topics.items()} == {"first": MOST, "rest": 1}


def test_nobody_is_followed_who_is_not_known_to_live() -> None:
    """KAFKA-4443: where the leader is, the metadata say. The same request is taken once they do."""
    hosted = Replicas(US)
    assert lead(hosted, leader=2, live=(1, 3)) == (ErrorCode.NONE, None)
    replica = hosted.get(TP)
    assert replica is not None  # its log is there
    assert (replica.leader, replica.leader_epoch, hosted.led) == (-1, -1, 0)
    _, replica = lead(hosted, leader=2)
    assert replica is not None and (replica.leader, replica.leader_epoch) == (2, 4)


def test_a_role_is_kept_until_the_next_leader_is_known() -> None:
    hosted = Replicas(US)
    lead(hosted, leader=2)
    for unknown in (3, -1):
        assert lead(hosted, leader=unknown, leader_epoch=5, live=(1, 2)) == (ErrorCode.NONE, None)
    replica = hosted.get(TP)
    assert replica is not None and (replica.leader, replica.leader_epoch) == (2, 4)


def test_who_leads_itself_needs_to_know_nobody() -> None:
    hosted = Replicas(US)
    _, replica = lead(hosted, live=())
    assert replica is not None and replica.leader == US


def test_what_is_in_a_failed_log_directory_is_refused_and_does_nothing() -> None:
    replicas = leading()
    replicas.go_offline([TP])
    assert (replicas.get(TP), replicas.led, replicas.any_short) == (None, 0, False)
    for answered in (lead(replicas, leader_epoch=5)[0], lead(replicas, leader=2, is_new=True)[0]):
        assert answered == ErrorCode.KAFKA_STORAGE_ERROR
    for delete in (False, True):
        assert stop(replicas, 5, delete=delete) == ErrorCode.KAFKA_STORAGE_ERROR
    assert lead(replicas, tp=TopicPartition("orders", 1))[0] == ErrorCode.NONE


def test_with_several_log_directories_who_is_in_sync_is_who_lives_and_is_said_to_have_it() -> None:
    replicas, said = leading(isr=(1, 2)), dict[int, bool]()

    def asked(*live: int) -> list[tuple[int, ...]]:
        return [item.isr for item in replicas.pending(live.__contains__, lambda _, broker: said.get(broker), [TP])]

    assert asked(1, 2, 3) == []  # nobody has said anything since the leader was elected
    said.update({1: False, 3: False})
    assert asked(1, 2, 3) == []  # a leader does not judge itself
    said[2] = False
    assert asked(1, 3) == []  # who is dead is the controller's business
    (left,) = asked(1, 2, 3)
    assert left == (1,)
    replicas.complete(replicas.pending((1, 2, 3).__contains__)[0], altered(8, (1,)))
    said[3] = True
    assert asked(1, 2, 3) == [(1, 3)]


def test_metadata_says_of_a_replica_whether_it_is_online_since_a_leader_epoch() -> None:
    cache = MetadataCache()
    assert cache.online(TP, 0, 1) is None
    cache.update(update(1, (1, 2), {TP: 1}, offline=(2,)))
    assert [cache.online(TP, 1, broker) for broker in (1, 2)] == [True, False]
    assert cache.online(TP, 2, 1) is None


def test_of_several_log_directories_too_only_what_may_have_changed_is_looked_at() -> None:
    """Against a look at all that is led, after any requests and with any metadata."""
    draw, replicas, cache = NamedRng(7).stream("replicas"), Replicas(US), MetadataCache()
    tps = [TopicPartition(topic, number) for topic in ("a", "b") for number in (0, 1)]
    left, looked = 0, dict[TopicPartition, None]()

    def online(replica: Replica, broker: int) -> bool | None:
        looked[replica.tp] = None
        return cache.online(replica.tp, replica.leader_epoch, broker)

    for epoch in range(3000):
        isr = draw.choice(((1, 2), (1, 2, 3)))
        if draw.random() < 0.3:
            lead(replicas, tp=draw.choice(tps), leader_epoch=epoch, isr=isr, leader=draw.choice((1, 1, 2)))
        else:
            told = {tp: draw.choice((1, 1, 1, -2)) for tp in tps if draw.random() < 0.5}
            offline = draw.choice(((), (), (2,), (2, 3)))
            live = draw.choice(((1, 2), (1, 2, 3)))
            cache.update(update(1, live, told, epoch=epoch // 100, leader_epoch=epoch, offline=offline))
        said = [
            TopicPartition(t, n) for t, parts in cache.topics.items() for n, p in parts.items() if p.offline_replicas
        ]
        assert sorted(cache.with_offline) == sorted(said)
        expected = copy.deepcopy(replicas).pending(cache.live, online, tps)
        looked.clear()
        asked = replicas.pending(cache.live, online, cache.with_offline)
        assert asked == expected
        short = {replica.tp for replica in replicas.hosted if len(replica.isr) < 3}
        assert looked.keys() <= short | {*said}
        for pending in asked:
            left += pending.tp not in short
            replicas.complete(pending, altered(epoch, pending.isr, pending.leader_epoch))
    assert left > 100
