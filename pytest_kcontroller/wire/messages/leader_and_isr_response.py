# Generated from wire/schemas by `make generated`: edit those.
"""LeaderAndIsrResponse of API 4."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Response, Write
from pytest_kcontroller.wire.primitives import (
    NO_TAGS,
    plain_string,
    read_array,
    read_plain_array,
    read_plain_string,
    read_string,
    skip_tagged_fields,
    string,
    write_array,
    write_older_array,
    write_plain_array,
)

_h = Struct(">h")
_ih = Struct(">ih")
_ihB = Struct(">ihB")
_u = Struct(">16s")


@dataclass(slots=True, kw_only=True)
class LeaderAndIsrPartitionError(Entry):
    topic_name: str = ""
    partition_index: int
    error_code: int


@dataclass(slots=True, kw_only=True)
class LeaderAndIsrTopicError(Entry):
    topic_id: bytes = bytes(16)
    partition_errors: list[LeaderAndIsrPartitionError] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class LeaderAndIsrResponse(Response):
    """An error per partition."""

    API_KEY = 4
    error_code: int
    partition_errors: list[LeaderAndIsrPartitionError] = field(default_factory=list)
    topics: list[LeaderAndIsrTopicError] = field(default_factory=list)


def _encode_leader_and_isr_partition_error_v0(m: LeaderAndIsrPartitionError, write: Write) -> None:
    write(plain_string(m.topic_name))
    write(_ih.pack(m.partition_index, m.error_code))


def _decode_leader_and_isr_partition_error_v0(data: bytes, at: int) -> tuple[LeaderAndIsrPartitionError, int]:
    m = object.__new__(LeaderAndIsrPartitionError)
    m.encoded = None
    m.topic_name, at = read_plain_string(data, at)
    m.partition_index, m.error_code = _ih.unpack_from(data, at)
    at += 6
    return m, at


def _encode_leader_and_isr_response_v0(m: LeaderAndIsrResponse, write: Write) -> None:
    write(_h.pack(m.error_code))
    write_plain_array(m.partition_errors, _encode_leader_and_isr_partition_error_v0, write)


def _decode_leader_and_isr_response_v0(data: bytes, at: int) -> tuple[LeaderAndIsrResponse, int]:
    m = object.__new__(LeaderAndIsrResponse)
    m.topics = []
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.partition_errors, at = read_plain_array(_decode_leader_and_isr_partition_error_v0, data, at)
    return m, at


def _encode_leader_and_isr_partition_error_v4(m: LeaderAndIsrPartitionError, write: Write) -> None:
    write(string(m.topic_name))
    write(_ihB.pack(m.partition_index, m.error_code, 0))


def _decode_leader_and_isr_partition_error_v4(data: bytes, at: int) -> tuple[LeaderAndIsrPartitionError, int]:
    m = object.__new__(LeaderAndIsrPartitionError)
    m.encoded = None
    m.topic_name, at = read_string(data, at)
    m.partition_index, m.error_code, tags = _ihB.unpack_from(data, at)
    at = at + 7 if tags == 0 else skip_tagged_fields(data, at + 6)
    return m, at


def _encode_leader_and_isr_response_v4(m: LeaderAndIsrResponse, write: Write) -> None:
    write(_h.pack(m.error_code))
    write_older_array(m.partition_errors, _encode_leader_and_isr_partition_error_v4, write)
    write(NO_TAGS)


def _decode_leader_and_isr_response_v4(data: bytes, at: int) -> tuple[LeaderAndIsrResponse, int]:
    m = object.__new__(LeaderAndIsrResponse)
    m.topics = []
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.partition_errors, at = read_array(_decode_leader_and_isr_partition_error_v4, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_leader_and_isr_partition_error_v5(m: LeaderAndIsrPartitionError, write: Write) -> None:
    write(_ihB.pack(m.partition_index, m.error_code, 0))


def _decode_leader_and_isr_partition_error_v5(data: bytes, at: int) -> tuple[LeaderAndIsrPartitionError, int]:
    m = object.__new__(LeaderAndIsrPartitionError)
    m.encoded = None
    m.topic_name = ""
    m.partition_index, m.error_code, tags = _ihB.unpack_from(data, at)
    at = at + 7 if tags == 0 else skip_tagged_fields(data, at + 6)
    return m, at


def _encode_leader_and_isr_topic_error_v5(m: LeaderAndIsrTopicError, write: Write) -> None:
    write(_u.pack(m.topic_id))
    write_array(m.partition_errors, _encode_leader_and_isr_partition_error_v5, write)
    write(NO_TAGS)


def _decode_leader_and_isr_topic_error_v5(data: bytes, at: int) -> tuple[LeaderAndIsrTopicError, int]:
    m = object.__new__(LeaderAndIsrTopicError)
    m.encoded = None
    (m.topic_id,) = _u.unpack_from(data, at)
    at += 16
    m.partition_errors, at = read_array(_decode_leader_and_isr_partition_error_v5, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_leader_and_isr_response_v5(m: LeaderAndIsrResponse, write: Write) -> None:
    write(_h.pack(m.error_code))
    write_array(m.topics, _encode_leader_and_isr_topic_error_v5, write)
    write(NO_TAGS)


def _decode_leader_and_isr_response_v5(data: bytes, at: int) -> tuple[LeaderAndIsrResponse, int]:
    m = object.__new__(LeaderAndIsrResponse)
    m.partition_errors = []
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.topics, at = read_array(_decode_leader_and_isr_topic_error_v5, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


LeaderAndIsrPartitionError.LAYOUTS = {
    0: Layout(_encode_leader_and_isr_partition_error_v0, _decode_leader_and_isr_partition_error_v0),
    1: Layout(_encode_leader_and_isr_partition_error_v0, _decode_leader_and_isr_partition_error_v0),
    2: Layout(_encode_leader_and_isr_partition_error_v0, _decode_leader_and_isr_partition_error_v0),
    3: Layout(_encode_leader_and_isr_partition_error_v0, _decode_leader_and_isr_partition_error_v0),
    4: Layout(_encode_leader_and_isr_partition_error_v4, _decode_leader_and_isr_partition_error_v4),
    5: Layout(_encode_leader_and_isr_partition_error_v5, _decode_leader_and_isr_partition_error_v5),
    6: Layout(_encode_leader_and_isr_partition_error_v5, _decode_leader_and_isr_partition_error_v5),
    7: Layout(_encode_leader_and_isr_partition_error_v5, _decode_leader_and_isr_partition_error_v5),
}
LeaderAndIsrTopicError.LAYOUTS = {
    5: Layout(_encode_leader_and_isr_topic_error_v5, _decode_leader_and_isr_topic_error_v5),
    6: Layout(_encode_leader_and_isr_topic_error_v5, _decode_leader_and_isr_topic_error_v5),
    7: Layout(_encode_leader_and_isr_topic_error_v5, _decode_leader_and_isr_topic_error_v5),
}
LeaderAndIsrResponse.LAYOUTS = {
    0: Layout(_encode_leader_and_isr_response_v0, _decode_leader_and_isr_response_v0),
    1: Layout(_encode_leader_and_isr_response_v0, _decode_leader_and_isr_response_v0),
    2: Layout(_encode_leader_and_isr_response_v0, _decode_leader_and_isr_response_v0),
    3: Layout(_encode_leader_and_isr_response_v0, _decode_leader_and_isr_response_v0),
    4: Layout(_encode_leader_and_isr_response_v4, _decode_leader_and_isr_response_v4),
    5: Layout(_encode_leader_and_isr_response_v5, _decode_leader_and_isr_response_v5),
    6: Layout(_encode_leader_and_isr_response_v5, _decode_leader_and_isr_response_v5),
    7: Layout(_encode_leader_and_isr_response_v5, _decode_leader_and_isr_response_v5),
}
