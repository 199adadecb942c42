"""The JSON of Kafka's znodes: what is written is Kafka's to the byte, what is read may be older, newer or corrupt."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_kcontroller.model.cluster import Address, Assignment, Broker, LeaderAndIsr, TopicPartition, TopicState
from pytest_kcontroller.zookeeper.znodes import (
    CorruptZnodeError,
    _decode_any_state,
    broker_of,
    decode_broker,
    decode_controller,
    decode_controller_epoch,
    decode_reassignments,
    decode_state,
    decode_topic,
    encode_broker,
    encode_controller,
    encode_reassignments,
    encode_state,
    encode_topic,
    parse_state_path,
    state_path,
)

TP = TopicPartition("t", 0)
PATH = "/brokers/topics/t/partitions/0/state"
STATE = LeaderAndIsr(leader=1, leader_epoch=4, isr=(1, 2), controller_epoch=7, partition_epoch=9)
WRITTEN = b'{"controller_epoch":7,"leader":1,"version":1,"leader_epoch":4,"isr":[1,2]}'

numbers = st.integers(-1, 2**31 - 1)
states = st.builds(
    LeaderAndIsr,
    leader=numbers,
    leader_epoch=numbers,
    isr=st.lists(numbers, max_size=5).map(tuple),
    controller_epoch=numbers,
    partition_epoch=numbers,
    recovering=st.booleans(),
)


# --- partition states


def test_a_state_is_written_as_kafka_writes_it() -> None:
    assert encode_state(STATE) == WRITTEN
    recovering = replace(STATE, recovering=True, isr=(1,), leader=-1)
    assert encode_state(recovering) == (
        b'{"controller_epoch":7,"leader":-1,"version":1,"leader_epoch":4,"isr":[1],"leader_recovery_state":1}'
    )


@given(states)
@example(replace(STATE, isr=()))
def test_a_state_is_compact_json_and_comes_back(state: LeaderAndIsr) -> None:
    data = encode_state(state)
    assert json.dumps(json.loads(data), separators=(",", ":")).encode() == data
    assert decode_state(TP, data, state.partition_epoch) == state


@pytest.mark.parametrize(
    "data",
    [
        b'{"version":1,"leader":1,"isr":[1,2],"controller_epoch":7,"leader_epoch":4}',
        b'{ "controller_epoch": 7, "leader": 1, "version": 1, "leader_epoch": 4, "isr": [ 1, 2 ] }\n',
        b'{"controller_epoch":7,"leader":1,"version":1,"leader_epoch":4,"isr":[1, 2]}',
        b'{"controller_epoch":7,"leader":1,"version":2,"leader_epoch":4,"isr":[1,2],"something":"new"}',
        b'{"controller_epoch":7,"leader":1,"version":1,"leader_epoch":4,"isr":[1,2],"leader_recovery_state":0}',
    ],
)
def test_the_order_of_keys_spaces_and_unknown_keys_do_not_matter(data: bytes) -> None:
    assert decode_state(TP, data, 9) == STATE


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is no JSON"),
        (WRITTEN[:-1], "is no JSON"),
        (WRITTEN + b"}", "is no JSON"),
        (WRITTEN.replace(b":7", b":07"), "is no JSON"),
        (WRITTEN.replace(b":7", b":" + b"7" * 5000), "is no JSON"),
        (WRITTEN.replace(b"[1,2]", b"[1,]"), "is no JSON"),
        (WRITTEN.replace(b"[1,2]", b"[1,02]"), "is no JSON"),
        (WRITTEN.replace(b"[1,2]", b"[1,[2]]"), "is no partition state"),
        (WRITTEN.replace(b"[1,2]", b"[1,null]"), "is no partition state"),
        (WRITTEN.replace(b"[1,2]", b'["x"]'), "is no partition state"),
        (WRITTEN.replace(b"[1,2]", b"[1,2147483648]"), "is no partition state"),
        (WRITTEN.replace(b'"leader":1', b'"leader":2147483648'), "is no partition state"),
        (WRITTEN.replace(b'"leader":1,', b""), "is no partition state"),
        (WRITTEN.replace(b'"leader":1', b'"leader":null'), "is no partition state"),
        (b"[1]", "is no JSON object"),
        (b"\xff", "is no JSON"),
    ],
)
def test_a_corrupt_state_is_told_with_its_path(data: bytes, why: str) -> None:
    with pytest.raises(CorruptZnodeError) as raised:
        decode_state(TP, data, 9)
    assert (raised.value.path, raised.value.data) == (PATH, data)
    assert raised.value.why.startswith(why)
    assert "correct it or delete it" in str(raised.value)


def outcome(decode: Any, data: bytes) -> object:
    try:
        return decode(TP, data, 9)
    except CorruptZnodeError as corrupt:
        return str(corrupt)


@given(states, st.data())
def test_the_short_way_reads_what_json_reads(state: LeaderAndIsr, draw: st.DataObject) -> None:
    """Also of a state in which some bytes are others."""
    data = bytearray(encode_state(state))
    for _ in range(draw.draw(st.integers(0, 3))):
        at = draw.draw(st.integers(0, len(data) - 1))
        data[at : at + draw.draw(st.integers(0, 2))] = draw.draw(
            st.sampled_from([b"", b"0", b"-", b" ", b",", b"1.5", b"]"])
        )
        if not data:
            break
    assert outcome(decode_state, bytes(data)) == outcome(_decode_any_state, bytes(data))


def test_a_state_path_names_its_partition() -> None:
    assert state_path(TP) == PATH
    assert parse_state_path(PATH) == TP
    others = [PATH.replace("0", number) for number in ("x", "²", "9" * 5000)]
    for other in ("/brokers/topics/t", f"{PATH}/x", PATH.replace("brokers", "consumers"), *others):
        assert parse_state_path(other) is None


# --- topics


def test_a_topic_is_written_as_kafka_writes_it() -> None:
    topic = TopicState(
        name="t",
        topic_id="AAAAAAAAAAAAAAAAAAAAAQ",
        partitions={1: Assignment((2, 1)), 0: Assignment((1, 2, 3), adding=(3,), removing=(1,))},
    )
    data = encode_topic(topic)
    assert data == (
        b'{"removing_replicas":{"0":[1]},"partitions":{"0":[1,2,3],"1":[2,1]},'
        b'"topic_id":"AAAAAAAAAAAAAAAAAAAAAQ","adding_replicas":{"0":[3]},"version":3}'
    )
    assert decode_topic("t", data) == topic


@pytest.mark.parametrize(
    "data",
    [
        b'{"version":1,"partitions":{"10":[2],"9":[1]}}',
        b'{"version":2,"partitions":{"10":[2],"9":[1]},"adding_replicas":{},"removing_replicas":{}}',
        b'{"version":2,"partitions":{"10":[2],"9":[1]},"adding_replicas":null}',
    ],
)
def test_older_topics_have_no_id_and_partitions_come_by_number(data: bytes) -> None:
    topic = decode_topic("t", data)
    assert topic == TopicState(name="t", partitions={9: Assignment((1,)), 10: Assignment((2,))})
    assert list(topic.partitions) == [9, 10]


@pytest.mark.parametrize(
    "data",
    [
        b"{}",
        b'{"partitions":[1]}',
        b'{"partitions":{"x":[1]}}',
        b'{"partitions":{"0":1}}',
        b'{"partitions":{"0":["x"]}}',
        b'{"partitions":{"0":[1]},"adding_replicas":{"0":null}}',
        b'{"partitions":{"0":[1]},"adding_replicas":[3]}',
        b'{"partitions":{"0":[2147483648]}}',
        b'{"partitions":{"2147483648":[1]}}',
    ],
)
def test_a_corrupt_topic_is_told_with_its_path(data: bytes) -> None:
    with pytest.raises(CorruptZnodeError, match=r"znode /brokers/topics/t: is no assignment"):
        decode_topic("t", data)


@pytest.mark.parametrize("topic_id", ["", "xyz", "!" * 22, "A" * 23, "\u00fc" * 22, 5])
def test_a_topic_id_that_no_request_takes_is_corrupt(topic_id: object) -> None:
    with pytest.raises(CorruptZnodeError, match="is no topic id"):
        decode_topic("t", json.dumps({"partitions": {"0": [1]}, "topic_id": topic_id}).encode())


# --- the others


def test_a_registration_is_written_as_kafka_writes_it() -> None:
    broker = Broker(id=1, address=Address("h", 9092), epoch=77, rack="r")
    data = encode_broker(broker, 123)
    assert data == (
        b'{"features":{},"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"endpoints":["PLAINTEXT://h:9092"],'
        b'"rack":"r","jmx_port":-1,"port":9092,"host":"h","version":5,"timestamp":"123"}'
    )
    assert decode_broker(1, data, 77) == broker


@pytest.mark.parametrize(
    ("name", "broker"), [("7", 7), ("\u00b2", None), ("\u0663", None), ("x", None), ("9" * 11, None)]
)
def test_a_child_of_brokers_ids_that_is_no_number_is_no_broker(name: str, broker: int | None) -> None:
    assert broker_of(name) == broker


@pytest.mark.parametrize(
    "data",
    [
        b"{}",
        b'{"endpoints":["PLAINTEXT://h"]}',
        b'{"host":"h","port":"x"}',
        b'{"host":"h","port":65536}',
        b'{"host":"\\ud800","port":1}',
        b'{"endpoints":["PLAINTEXT://\\ud800:1"],"host":"h","port":1}',
        b'{"host":"h","port":1,"rack":"\\ud800"}',
        b'{"host":"h","port":1,"rack":5}',
        b"1",
    ],
)
def test_a_corrupt_registration_is_told_with_its_path(data: bytes) -> None:
    with pytest.raises(CorruptZnodeError, match=r"znode /brokers/ids/1: "):
        decode_broker(1, data, 77)


def test_a_controller_is_an_object_or_in_old_clusters_a_number() -> None:
    assert encode_controller(3, 5) == b'{"version":2,"brokerid":3,"timestamp":"5","kraftControllerEpoch":-1}'
    assert decode_controller(encode_controller(3, 5)) == decode_controller(b"3") == 3
    for data in (b"true", b"{}", b'{"brokerid":"3"}', b"x"):
        with pytest.raises(CorruptZnodeError):
            decode_controller(data)
    with pytest.raises(CorruptZnodeError, match="decimal number"):
        decode_controller_epoch(b"x")


def test_reassignments_are_written_as_kafka_writes_them() -> None:
    written = b'{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]}]}'
    assert encode_reassignments({TP: (1, 2)}) == written
    assert decode_reassignments(written) == {TP: (1, 2)}


def test_of_a_partition_that_is_to_be_reassigned_twice_the_last_counts() -> None:
    twice = [{"topic": "t", "partition": 0, "replicas": [broker]} for broker in (1, 2)]
    assert decode_reassignments(json.dumps({"version": 1, "partitions": twice}).encode()) == {TP: (2,)}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'{"partitions":7}',
        b'{"partitions":[7]}',
        b'{"partitions":[{"topic":"t","partition":0}]}',
        b'{"partitions":[{"topic":7,"partition":0,"replicas":[1]}]}',
        b'{"partitions":[{"topic":"t","partition":"x","replicas":[1]}]}',
        b'{"partitions":[{"topic":"t","partition":0,"replicas":7}]}',
        b'{"partitions":[{"topic":"t","partition":0,"replicas":"12"}]}',
        b'{"partitions":[{"topic":"t","partition":0,"replicas":[4294967296]}]}',
    ],
)
def test_corrupt_reassignments_are_told_with_their_path(data: bytes) -> None:
    with pytest.raises(CorruptZnodeError, match="znode /admin/reassign_partitions"):
        decode_reassignments(data)
