# Generated from wire/schemas by `make generated`: edit those.
"""AlterPartitionRequest of API 56."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Request, Write
from pytest_kcontroller.wire.messages.alter_partition_response import AlterPartitionResponse
from pytest_kcontroller.wire.primitives import NO_TAGS, read_array, skip_tagged_fields, write_array

_biB = Struct(">biB")
_ii = Struct(">ii")
_iq = Struct(">iq")
_iqB = Struct(">iqB")
_u = Struct(">16s")


@dataclass(slots=True, kw_only=True)
class AlterPartitionBrokerState(Entry):
    broker_id: int
    broker_epoch: int = -1


@dataclass(slots=True, kw_only=True)
class AlterPartitionPartition(Entry):
    partition_index: int
    leader_epoch: int
    new_isr_with_epochs: list[AlterPartitionBrokerState]
    leader_recovery_state: int = 0
    partition_epoch: int


@dataclass(slots=True, kw_only=True)
class AlterPartitionTopic(Entry):
    topic_id: bytes
    partitions: list[AlterPartitionPartition]


@dataclass(slots=True, kw_only=True)
class AlterPartitionRequest(Request[AlterPartitionResponse]):
    """Leader to controller: change the ISR."""

    API_KEY = 56
    broker_id: int
    broker_epoch: int = -1
    topics: list[AlterPartitionTopic]


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
    3: Layout(_encode_alter_partition_partition_v3, _decode_alter_partition_partition_v3),
}
AlterPartitionTopic.LAYOUTS = {
    3: Layout(_encode_alter_partition_topic_v3, _decode_alter_partition_topic_v3),
}
AlterPartitionRequest.LAYOUTS = {
    3: Layout(_encode_alter_partition_request_v3, _decode_alter_partition_request_v3),
}
