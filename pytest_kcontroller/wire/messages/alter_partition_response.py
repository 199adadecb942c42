# Generated from wire/schemas by `make generated`: edit those.
"""AlterPartitionResponse of API 56."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Response, Write
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
_ih = Struct(">ih")
_ihii = Struct(">ihii")
_u = Struct(">16s")
_int32s = Numbers("i")


@dataclass(slots=True, kw_only=True)
class AlteredPartition(Entry):
    partition_index: int
    error_code: int
    leader_id: int
    leader_epoch: int
    isr: tuple[int, ...]
    leader_recovery_state: int = 0
    partition_epoch: int


@dataclass(slots=True, kw_only=True)
class AlteredTopic(Entry):
    topic_name: str = ""
    topic_id: bytes = bytes(16)
    partitions: list[AlteredPartition]


@dataclass(slots=True, kw_only=True)
class AlterPartitionResponse(Response):
    """The state of each partition, or an error."""

    API_KEY = 56
    throttle_time_ms: int
    error_code: int
    topics: list[AlteredTopic]


def _encode_altered_partition_v0(m: AlteredPartition, write: Write) -> None:
    write(_ihii.pack(m.partition_index, m.error_code, m.leader_id, m.leader_epoch))
    write(_int32s.encode(m.isr))
    write(_iB.pack(m.partition_epoch, 0))


def _decode_altered_partition_v0(data: bytes, at: int) -> tuple[AlteredPartition, int]:
    m = object.__new__(AlteredPartition)
    m.encoded = None
    m.leader_recovery_state = 0
    m.partition_index, m.error_code, m.leader_id, m.leader_epoch = _ihii.unpack_from(data, at)
    at += 14
    m.isr, at = _int32s.read(data, at)
    m.partition_epoch, tags = _iB.unpack_from(data, at)
    at = at + 5 if tags == 0 else skip_tagged_fields(data, at + 4)
    return m, at


def _encode_altered_topic_v0(m: AlteredTopic, write: Write) -> None:
    write(string(m.topic_name))
    write_older_array(m.partitions, _encode_altered_partition_v0, write)
    write(NO_TAGS)


def _decode_altered_topic_v0(data: bytes, at: int) -> tuple[AlteredTopic, int]:
    m = object.__new__(AlteredTopic)
    m.encoded = None
    m.topic_id = bytes(16)
    m.topic_name, at = read_string(data, at)
    m.partitions, at = read_array(_decode_altered_partition_v0, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_alter_partition_response_v0(m: AlterPartitionResponse, write: Write) -> None:
    write(_ih.pack(m.throttle_time_ms, m.error_code))
    write_older_array(m.topics, _encode_altered_topic_v0, write)
    write(NO_TAGS)


def _decode_alter_partition_response_v0(data: bytes, at: int) -> tuple[AlterPartitionResponse, int]:
    m = object.__new__(AlterPartitionResponse)
    m.throttle_time_ms, m.error_code = _ih.unpack_from(data, at)
    at += 6
    m.topics, at = read_array(_decode_altered_topic_v0, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_altered_partition_v1(m: AlteredPartition, write: Write) -> None:
    write(_ihii.pack(m.partition_index, m.error_code, m.leader_id, m.leader_epoch))
    write(_int32s.encode(m.isr))
    write(_biB.pack(m.leader_recovery_state, m.partition_epoch, 0))


def _decode_altered_partition_v1(data: bytes, at: int) -> tuple[AlteredPartition, int]:
    m = object.__new__(AlteredPartition)
    m.encoded = None
    m.partition_index, m.error_code, m.leader_id, m.leader_epoch = _ihii.unpack_from(data, at)
    at += 14
    m.isr, at = _int32s.read(data, at)
    m.leader_recovery_state, m.partition_epoch, tags = _biB.unpack_from(data, at)
    at = at + 6 if tags == 0 else skip_tagged_fields(data, at + 5)
    return m, at


def _encode_altered_topic_v1(m: AlteredTopic, write: Write) -> None:
    write(string(m.topic_name))
    write_older_array(m.partitions, _encode_altered_partition_v1, write)
    write(NO_TAGS)


def _decode_altered_topic_v1(data: bytes, at: int) -> tuple[AlteredTopic, int]:
    m = object.__new__(AlteredTopic)
    m.encoded = None
    m.topic_id = bytes(16)
    m.topic_name, at = read_string(data, at)
    m.partitions, at = read_array(_decode_altered_partition_v1, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_alter_partition_response_v1(m: AlterPartitionResponse, write: Write) -> None:
    write(_ih.pack(m.throttle_time_ms, m.error_code))
    write_older_array(m.topics, _encode_altered_topic_v1, write)
    write(NO_TAGS)


def _decode_alter_partition_response_v1(data: bytes, at: int) -> tuple[AlterPartitionResponse, int]:
    m = object.__new__(AlterPartitionResponse)
    m.throttle_time_ms, m.error_code = _ih.unpack_from(data, at)
    at += 6
    m.topics, at = read_array(_decode_altered_topic_v1, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_altered_topic_v2(m: AlteredTopic, write: Write) -> None:
    write(_u.pack(m.topic_id))
    write_array(m.partitions, _encode_altered_partition_v1, write)
    write(NO_TAGS)


def _decode_altered_topic_v2(data: bytes, at: int) -> tuple[AlteredTopic, int]:
    m = object.__new__(AlteredTopic)
    m.encoded = None
    m.topic_name = ""
    (m.topic_id,) = _u.unpack_from(data, at)
    at += 16
    m.partitions, at = read_array(_decode_altered_partition_v1, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_alter_partition_response_v2(m: AlterPartitionResponse, write: Write) -> None:
    write(_ih.pack(m.throttle_time_ms, m.error_code))
    write_array(m.topics, _encode_altered_topic_v2, write)
    write(NO_TAGS)


def _decode_alter_partition_response_v2(data: bytes, at: int) -> tuple[AlterPartitionResponse, int]:
    m = object.__new__(AlterPartitionResponse)
    m.throttle_time_ms, m.error_code = _ih.unpack_from(data, at)
    at += 6
    m.topics, at = read_array(_decode_altered_topic_v2, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


AlteredPartition.LAYOUTS = {
    0: Layout(_encode_altered_partition_v0, _decode_altered_partition_v0),
    1: Layout(_encode_altered_partition_v1, _decode_altered_partition_v1),
    2: Layout(_encode_altered_partition_v1, _decode_altered_partition_v1),
    3: Layout(_encode_altered_partition_v1, _decode_altered_partition_v1),
}
AlteredTopic.LAYOUTS = {
    0: Layout(_encode_altered_topic_v0, _decode_altered_topic_v0),
    1: Layout(_encode_altered_topic_v1, _decode_altered_topic_v1),
    2: Layout(_encode_altered_topic_v2, _decode_altered_topic_v2),
    3: Layout(_encode_altered_topic_v2, _decode_altered_topic_v2),
}
AlterPartitionResponse.LAYOUTS = {
    0: Layout(_encode_alter_partition_response_v0, _decode_alter_partition_response_v0),
    1: Layout(_encode_alter_partition_response_v1, _decode_alter_partition_response_v1),
    2: Layout(_encode_alter_partition_response_v2, _decode_alter_partition_response_v2),
    3: Layout(_encode_alter_partition_response_v2, _decode_alter_partition_response_v2),
}
