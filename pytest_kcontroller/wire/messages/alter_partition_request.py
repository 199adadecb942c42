# Generated from wire/schemas by `make generated`: edit those.
"""AlterPartitionRequest of API 56."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Request, Write
from pytest_kcontroller.wire.messages.alter_partition_response import AlterPartitionResponse
from pytest_kcontroller.wire.primitives import (
    NO_TAGS,
    Numbers,
    read_array,
    read_string,
    skip_tagged_fields,
    string,
    write_array,
    write_older_array,
)

_biB = Struct(">biB")
_iB = Struct(">iB")
_ii = Struct(">ii")
_iq = Struct(">iq")
_iqB = Struct(">iqB")
_u = Struct(">16s")
_int32s = Numbers("i")


@dataclass(slots=True, kw_only=True)
class AlterPartitionBrokerState(Entry):
    broker_id: int = 0
    broker_epoch: int = -1


@dataclass(slots=True, kw_only=True)
class AlterPartitionPartition(Entry):
    partition_index: int
    leader_epoch: int
    new_isr: tuple[int, ...] = ()
    new_isr_with_epochs: list[AlterPartitionBrokerState] = field(default_factory=list)
    leader_recovery_state: int = 0
    partition_epoch: int


@dataclass(slots=True, kw_only=True)
class AlterPartitionTopic(Entry):
    topic_name: str = ""
    topic_id: bytes = bytes(16)
    partitions: list[AlterPartitionPartition]


@dataclass(slots=True, kw_only=True)
class AlterPartitionRequest(Request[AlterPartitionResponse]):
    """Leader to controller: change the ISR."""

    API_KEY = 56
    broker_id: int
    broker_epoch: int = -1
    topics: list[AlterPartitionTopic]


def _encode_alter_partition_partition_v0(m: AlterPartitionPartition, write: Write) -> None:
    write(_ii.pack(m.partition_index, m.leader_epoch))
    write(_int32s.encode(m.new_isr))
    write(_iB.pack(m.partition_epoch, 0))


def _decode_alter_partition_partition_v0(data: bytes, at: int) -> tuple[AlterPartitionPartition, int]:
    m = object.__new__(AlterPartitionPartition)
    m.encoded = None
    m.new_isr_with_epochs = []
    m.leader_recovery_state = 0
    m.partition_index, m.leader_epoch = _ii.unpack_from(data, at)
    at += 8
    m.new_isr, at = _int32s.read(data, at)
    m.partition_epoch, tags = _iB.unpack_from(data, at)
    at = at + 5 if tags == 0 else skip_tagged_fields(data, at + 4)
    return m, at


def _encode_alter_partition_topic_v0(m: AlterPartitionTopic, write: Write) -> None:
    write(string(m.topic_name))
    write_older_array(m.partitions, _encode_alter_partition_partition_v0, write)
    write(NO_TAGS)


def _decode_alter_partition_topic_v0(data: bytes, at: int) -> tuple[AlterPartitionTopic, int]:
    m = object.__new__(AlterPartitionTopic)
    m.encoded = None
    m.topic_id = bytes(16)
    m.topic_name, at = read_string(data, at)
    m.partitions, at = read_array(_decode_alter_partition_partition_v0, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_alter_partition_request_v0(m: AlterPartitionRequest, write: Write) -> None:
    write(_iq.pack(m.broker_id, m.broker_epoch))
    write_older_array(m.topics, _encode_alter_partition_topic_v0, write)
    write(NO_TAGS)


def _decode_alter_partition_request_v0(data: bytes, at: int) -> tuple[AlterPartitionRequest, int]:
    m = object.__new__(AlterPartitionRequest)
    m.broker_id, m.broker_epoch = _iq.unpack_from(data, at)
    at += 12
    m.topics, at = read_array(_decode_alter_partition_topic_v0, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_alter_partition_partition_v1(m: AlterPartitionPartition, write: Write) -> None:
    write(_ii.pack(m.partition_index, m.leader_epoch))
    write(_int32s.encode(m.new_isr))
    write(_biB.pack(m.leader_recovery_state, m.partition_epoch, 0))


def _decode_alter_partition_partition_v1(data: bytes, at: int) -> tuple[AlterPartitionPartition, int]:
    m = object.__new__(AlterPartitionPartition)
    m.encoded = None
    m.new_isr_with_epochs = []
    m.partition_index, m.leader_epoch = _ii.unpack_from(data, at)
    at += 8
    m.new_isr, at = _int32s.read(data, at)
    m.leader_recovery_state, m.partition_epoch, tags = _biB.unpack_from(data, at)
    at = at + 6 if tags == 0 else skip_tagged_fields(data, at + 5)
    return m, at


def _encode_alter_partition_topic_v1(m: AlterPartitionTopic, write: Write) -> None:
    write(string(m.topic_name))
    write_older_array(m.partitions, _encode_alter_partition_partition_v1, write)
    write(NO_TAGS)


def _decode_alter_partition_topic_v1(data: bytes, at: int) -> tuple[AlterPartitionTopic, int]:
    m = object.__new__(AlterPartitionTopic)
    m.encoded = None
    m.topic_id = bytes(16)
    m.topic_name, at = read_string(data, at)
    m.partitions, at = read_array(_decode_alter_partition_partition_v1, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_alter_partition_request_v1(m: AlterPartitionRequest, write: Write) -> None:
    write(_iq.pack(m.broker_id, m.broker_epoch))
    write_older_array(m.topics, _encode_alter_partition_topic_v1, write)
    write(NO_TAGS)


def _decode_alter_partition_request_v1(data: bytes, at: int) -> tuple[AlterPartitionRequest, int]:
    m = object.__new__(AlterPartitionRequest)
    m.broker_id, m.broker_epoch = _iq.unpack_from(data, at)
    at += 12
    m.topics, at = read_array(_decode_alter_partition_topic_v1, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_alter_partition_topic_v2(m: AlterPartitionTopic, write: Write) -> None:
    write(_u.pack(m.topic_id))
    write_older_array(m.partitions, _encode_alter_partition_partition_v1, write)
    write(NO_TAGS)


def _decode_alter_partition_topic_v2(data: bytes, at: int) -> tuple[AlterPartitionTopic, int]:
    m = object.__new__(AlterPartitionTopic)
    m.encoded = None
    m.topic_name = ""
    (m.topic_id,) = _u.unpack_from(data, at)
    at += 16
    m.partitions, at = read_array(_decode_alter_partition_partition_v1, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_alter_partition_request_v2(m: AlterPartitionRequest, write: Write) -> None:
    write(_iq.pack(m.broker_id, m.broker_epoch))
    write_older_array(m.topics, _encode_alter_partition_topic_v2, write)
    write(NO_TAGS)


def _decode_alter_partition_request_v2(data: bytes, at: int) -> tuple[AlterPartitionRequest, int]:
    m = object.__new__(AlterPartitionRequest)
    m.broker_id, m.broker_epoch = _iq.unpack_from(data, at)
    at += 12
    m.topics, at = read_array(_decode_alter_partition_topic_v2, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_alter_partition_broker_state_v3(m: AlterPartitionBrokerState, write: Write) -> None:
    write(_iqB.pack(m.broker_id, m.broker_epoch, 0))


def _decode_alter_partition_broker_state_v3(data: bytes, at: int) -> tuple[AlterPartitionBrokerState, int]:
    m = object.__new__(AlterPartitionBrokerState)
    m.encoded = None
    m.broker_id, m.broker_epoch, tags = _iqB.unpack_from(data, at)
    at = at + 13 if tags == 0 else skip_tagged_fields(data, at + 12)
    return m, at


def _encode_alter_partition_partition_v3(m: AlterPartitionPartition, write: Write) -> None:
    write(_ii.pack(m.partition_index, m.leader_epoch))
    write_array(m.new_isr_with_epochs, _encode_alter_partition_broker_state_v3, write)
    write(_biB.pack(m.leader_recovery_state, m.partition_epoch, 0))


def _decode_alter_partition_partition_v3(data: bytes, at: int) -> tuple[AlterPartitionPartition, int]:
    m = object.__new__(AlterPartitionPartition)
    m.encoded = None
    m.new_isr = ()
    m.partition_index, m.leader_epoch = _ii.unpack_from(data, at)
    at += 8
    m.new_isr_with_epochs, at = read_array(_decode_alter_partition_broker_state_v3, data, at)
    m.leader_recovery_state, m.partition_epoch, tags = _biB.unpack_from(data, at)
    at = at + 6 if tags == 0 else skip_tagged_fields(data, at + 5)
    return m, at


def _encode_alter_partition_topic_v3(m: AlterPartitionTopic, write: Write) -> None:
    write(_u.pack(m.topic_id))
    write_array(m.partitions, _encode_alter_partition_partition_v3, write)
    write(NO_TAGS)


def _decode_alter_partition_topic_v3(data: bytes, at: int) -> tuple[AlterPartitionTopic, int]:
    m = object.__new__(AlterPartitionTopic)
    m.encoded = None
    m.topic_name = ""
    (m.topic_id,) = _u.unpack_from(data, at)
    at += 16
    m.partitions, at = read_array(_decode_alter_partition_partition_v3, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_alter_partition_request_v3(m: AlterPartitionRequest, write: Write) -> None:
    write(_iq.pack(m.broker_id, m.broker_epoch))
    write_array(m.topics, _encode_alter_partition_topic_v3, write)
    write(NO_TAGS)


def _decode_alter_partition_request_v3(data: bytes, at: int) -> tuple[AlterPartitionRequest, int]:
    m = object.__new__(AlterPartitionRequest)
    m.broker_id, m.broker_epoch = _iq.unpack_from(data, at)
    at += 12
    m.topics, at = read_array(_decode_alter_partition_topic_v3, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


AlterPartitionBrokerState.LAYOUTS = {
    3: Layout(_encode_alter_partition_broker_state_v3, _decode_alter_partition_broker_state_v3),
}
AlterPartitionPartition.LAYOUTS = {
    0: Layout(_encode_alter_partition_partition_v0, _decode_alter_partition_partition_v0),
    1: Layout(_encode_alter_partition_partition_v1, _decode_alter_partition_partition_v1),
    2: Layout(_encode_alter_partition_partition_v1, _decode_alter_partition_partition_v1),
    3: Layout(_encode_alter_partition_partition_v3, _decode_alter_partition_partition_v3),
}
AlterPartitionTopic.LAYOUTS = {
    0: Layout(_encode_alter_partition_topic_v0, _decode_alter_partition_topic_v0),
    1: Layout(_encode_alter_partition_topic_v1, _decode_alter_partition_topic_v1),
    2: Layout(_encode_alter_partition_topic_v2, _decode_alter_partition_topic_v2),
    3: Layout(_encode_alter_partition_topic_v3, _decode_alter_partition_topic_v3),
}
AlterPartitionRequest.LAYOUTS = {
    0: Layout(_encode_alter_partition_request_v0, _decode_alter_partition_request_v0),
    1: Layout(_encode_alter_partition_request_v1, _decode_alter_partition_request_v1),
    2: Layout(_encode_alter_partition_request_v2, _decode_alter_partition_request_v2),
    3: Layout(_encode_alter_partition_request_v3, _decode_alter_partition_request_v3),
}
