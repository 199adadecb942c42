"""AlterPartition: a leader asks for another ISR. Each error in Kafka's order, what is written, what is sent.

Broker 1 leads t-0 (replicas 1, 2, 3; broker 3 is dead and out of the ISR); brokers 1, 2 and 4 are live.
Source: kafka.controller.KafkaController.tryProcessAlterPartition (3.9).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_kcontroller.model.cluster import LeaderAndIsr
from pytest_kcontroller.runtime.holds import BEFORE_STATE_WRITE
from pytest_kcontroller.wire.codec import decode, encode
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import AlterPartitionPartition, AlterPartitionRequest, AlterPartitionTopic
from tests.tools.controller_box import ControllerBox

OTHER_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
STATE = LeaderAndIsr(leader=1, leader_epoch=5, isr=(1, 2), controller_epoch=1)


@pytest.fixture
def box(box: ControllerBox) -> ControllerBox:
    box.register_broker(4)
    box.remove_broker(3)
    box.create_topic("t", [[1, 2, 3, 4]], states={0: STATE})
    box.start()
    box.forget()
    return box


def answer(task: Any) -> tuple[ErrorCode, ErrorCode | None]:
    """The error of the whole, and of its only partition."""
    response = task.result()
    partitions = [partition for topic in response.topics for partition in topic.partitions]
    return ErrorCode(response.error_code), ErrorCode(partitions[0].error_code) if partitions else None


def test_an_accepted_isr_is_written_and_everybody_gets_metadata(box: ControllerBox) -> None:
    """The leader epoch stays; there is no LeaderAndIsr, since the answer tells the leader."""
    response = box.alter_partition("t-0", [1, 2, 4]).result()
    state = replace(STATE, isr=(1, 2, 4), partition_epoch=1)
    assert box.states_written() == [("t-0", state)]
    partition = response.topics[0].partitions[0]
    assert (partition.error_code, partition.partition_epoch, list(partition.isr)) == (0, 1, [1, 2, 4])
    assert {sent.kind for sent in box.sent()} == {"UpdateMetadata"}
    assert box.recipients("UpdateMetadata") == {1: ["t-0"], 2: ["t-0"], 4: ["t-0"]}
    assert list(box.entry("UpdateMetadata", "t-0", to=4).isr) == [1, 2, 4]


def test_the_next_request_builds_on_it_without_reading(box: ControllerBox) -> None:
    box.alter_partition("t-0", [1])
    box.alter_partition("t-0", [1, 2])
    assert (box.state("t-0").isr, box.state("t-0").partition_epoch) == ((1, 2), 2)
    assert box.reads() == []


def test_the_state_that_there_is_already_is_success_without_a_write(box: ControllerBox) -> None:
    """Also with an older partition epoch: the answer to an earlier request was lost."""
    box.alter_partition("t-0", [1])
    box.forget()
    assert answer(box.alter_partition("t-0", [1], partition_epoch=0)) == (ErrorCode.NONE, ErrorCode.NONE)
    assert box.written() == []
    assert box.sent() == []


REFUSED: dict[str, tuple[dict[str, Any], ErrorCode, ErrorCode | None]] = {
    "an older life of the broker": ({"broker_epoch": 1}, ErrorCode.STALE_BROKER_EPOCH, None),
    "a broker epoch of the future": ({"broker_epoch": 10**6}, ErrorCode.STALE_BROKER_EPOCH, None),
    "no broker epoch": ({"broker_epoch": -1}, ErrorCode.STALE_BROKER_EPOCH, None),
    "an unknown broker": ({"leader": 9}, ErrorCode.STALE_BROKER_EPOCH, None),
    "an unknown topic id": ({"topic_id": OTHER_ID}, ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_ID),
    "a greater partition epoch": ({"partition_epoch": 1}, ErrorCode.NONE, ErrorCode.NOT_CONTROLLER),
    "a greater leader epoch": ({"leader_epoch": 6}, ErrorCode.NONE, ErrorCode.NOT_CONTROLLER),
    "a smaller leader epoch": ({"leader_epoch": 4}, ErrorCode.NONE, ErrorCode.FENCED_LEADER_EPOCH),
    "a smaller partition epoch": ({"partition_epoch": -1}, ErrorCode.NONE, ErrorCode.INVALID_UPDATE_VERSION),
    "recovering with two": ({"isr": [1, 4], "recovering": True}, ErrorCode.NONE, ErrorCode.INVALID_REQUEST),
    "recovering after all": ({"isr": [1], "recovering": True}, ErrorCode.NONE, ErrorCode.INVALID_REQUEST),
    "a dead member": ({"isr": [1, 2, 3]}, ErrorCode.NONE, ErrorCode.INELIGIBLE_REPLICA),
    "an empty ISR": ({"isr": []}, ErrorCode.NONE, ErrorCode.INELIGIBLE_REPLICA),
    # of two errors the one that Kafka looks for first
    "broker before topic": ({"broker_epoch": 1, "topic_id": OTHER_ID}, ErrorCode.STALE_BROKER_EPOCH, None),
    "topic before epochs": ({"topic_id": OTHER_ID, "leader_epoch": 6}, ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_ID),
    "greater before smaller": (
        {"partition_epoch": 1, "leader_epoch": 4},
        ErrorCode.NONE,
        ErrorCode.NOT_CONTROLLER,
    ),
    "leader epoch before partition epoch": (
        {"partition_epoch": -1, "leader_epoch": 4},
        ErrorCode.NONE,
        ErrorCode.FENCED_LEADER_EPOCH,
    ),
    "leader epoch before the same state": (
        {"isr": [1, 2], "leader_epoch": 4},
        ErrorCode.NONE,
        ErrorCode.FENCED_LEADER_EPOCH,
    ),
    "partition epoch before recovery": (
        {"isr": [1], "recovering": True, "partition_epoch": -1},
        ErrorCode.NONE,
        ErrorCode.INVALID_UPDATE_VERSION,
    ),
    "recovery before members": (
        {"isr": [1, 3], "recovering": True},
        ErrorCode.NONE,
        ErrorCode.INVALID_REQUEST,
    ),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_is_refused_changes_nothing(box: ControllerBox, name: str) -> None:
    asked, whole, partition = REFUSED[name]
    assert answer(box.alter_partition("t-0", **{"isr": [1, 2, 4], **asked})) == (whole, partition)
    assert box.written() == []
    assert box.sent() == []


def test_an_unknown_partition_of_a_known_topic(box: ControllerBox) -> None:
    task = box.alter_partition("t-7", [1], leader=1, leader_epoch=5, partition_epoch=0)
    assert answer(task) == (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def test_who_is_shutting_down_does_not_join(box: ControllerBox) -> None:
    """KAFKA-14140."""
    box.shut_down(4)
    box.forget()
    assert answer(box.alter_partition("t-0", [1, 2, 4]))[1] == ErrorCode.INELIGIBLE_REPLICA


def test_recovery_ends_when_the_leader_says_so() -> None:
    with ControllerBox(brokers=(1, 2)) as box:
        box.create_topic("t", [[1, 2]], states={0: replace(STATE, isr=(1,), recovering=True)})
        box.start()
        box.alter_partition("t-0", [1])
        assert (box.state("t-0").isr, box.state("t-0").recovering) == ((1,), False)


def test_whoever_wrote_first_wins_and_the_loser_learns_what_there_is(box: ControllerBox) -> None:
    """Compare and set: the write was stale, and nothing is sent, else the leader would ask again at once."""
    box.set_state("t-0", replace(STATE, isr=(2, 1)))
    task = box.alter_partition("t-0", [1, 2, 4], partition_epoch=0)
    assert answer(task)[1] == ErrorCode.INVALID_UPDATE_VERSION
    assert box.states_written() == []
    assert box.sent() == []
    assert answer(box.alter_partition("t-0", [1, 2, 4]))[1] == ErrorCode.NONE


def test_a_write_after_a_newer_election_is_fenced_and_the_leader_hears_so(box: ControllerBox) -> None:
    """KAFKA-6082."""
    box.hold(BEFORE_STATE_WRITE)
    task = box.alter_partition("t-0", [1, 2, 4])
    box.depose()
    box.release(BEFORE_STATE_WRITE)
    assert answer(task) == (ErrorCode.NOT_CONTROLLER, None)
    assert box.state("t-0").isr == (1, 2)
    assert not box.controller.active
    assert box.events("controller.fenced")[0]["count"] == 1


def test_nobody_answers_for_another_controller(box: ControllerBox) -> None:
    box.depose()
    assert answer(box.alter_partition("t-0", [1])) == (ErrorCode.NOT_CONTROLLER, None)


def old_request(
    version: int, isr: tuple[int, ...], *, topic: str = "t", broker_epoch: int = -1
) -> AlterPartitionRequest:
    """As the leader of t-0 sends it in one of the versions before 3."""
    entry = AlterPartitionPartition(partition_index=0, leader_epoch=5, new_isr=isr, partition_epoch=0)
    named = AlterPartitionTopic(topic_name=topic, partitions=[entry])
    request = AlterPartitionRequest(broker_id=1, broker_epoch=broker_epoch, topics=[named])
    return decode(AlterPartitionRequest, encode(request, version), version)


@pytest.mark.parametrize("version", [0, 1])
def test_older_leaders_name_topics_and_know_fewer_errors(box: ControllerBox, version: int) -> None:
    def ask(*isr: int, topic: str = "t") -> Any:
        request = old_request(version, isr, topic=topic, broker_epoch=box.broker_epoch(1))
        request.version = version
        return box.ask(request)

    assert answer(ask(1, 3)) == (ErrorCode.NONE, ErrorCode.OPERATION_NOT_ATTEMPTED)
    assert answer(ask(1, topic="other")) == (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    response = ask(1, 4).result()
    assert box.state("t-0").isr == (1, 4)
    assert [(topic.topic_name, topic.partitions[0].isr) for topic in response.topics] == [("t", (1, 4))]
