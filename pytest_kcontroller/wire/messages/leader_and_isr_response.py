# Generated from wire/schemas by `make generated`: edit those.
"""LeaderAndIsrResponse of API 4."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Response, Write
from pytest_kcontroller.wire.primitives import NO_TAGS, read_array, skip_tagged_fields, write_array

_h = Struct(">h")
_ihB = Struct(">ihB")
_u = Struct(">16s")


@dataclass(slots=True, kw_only=True)
class LeaderAndIsrPartitionError(Entry):
    partition_index: int
    error_code: int


@dataclass(slots=True, kw_only=True)
class LeaderAndIsrTopicError(Entry):
    topic_id: bytes
    partition_errors: list[LeaderAndIsrPartitionError]


@dataclass(slots=True, kw_only=True)
class LeaderAndIsrResponse(Response):
    """An error per partition."""

    API_KEY = 4
    error_code: int
    topics: list[LeaderAndIsrTopicError]


def _encode_leader_and_isr_partition_error_v7(m: LeaderAndIsrPartitionError, write: Write) -> None:
    write(_ihB.pack(m.partition_index, m.error_code, 0))


def _decode_leader_and_isr_partition_error_v7(data: bytes, at: int) -> tuple[LeaderAndIsrPartitionError, int]:
    m = object.__new__(LeaderAndIsrPartitionError)
    m.encoded = None
    m.partition_index, m.error_code, tags = _ihB.unpack_from(data, at)
    at = at + 7 if tags == 0 else skip_tagged_fields(data, at + 6)
    return m, at


def _encode_leader_and_isr_topic_error_v7(m: LeaderAndIsrTopicError, write: Write) -> None:
    write(_u.pack(m.topic_id))
    write_array(m.partition_errors, _encode_leader_and_isr_partition_error_v7, write)
    write(NO_TAGS)


def _decode_leader_and_isr_topic_error_v7(data: bytes, at: int) -> tuple[LeaderAndIsrTopicError, int]:
    m = object.__new__(LeaderAndIsrTopicError)
    m.encoded = None
    (m.topic_id,) = _u.unpack_from(data, at)
    at += 16
    m.partition_errors, at = read_array(_decode_leader_and_isr_partition_error_v7, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_leader_and_isr_response_v7(m: LeaderAndIsrResponse, write: Write) -> None:
    write(_h.pack(m.error_code))
    write_array(m.topics, _encode_leader_and_isr_topic_error_v7, write)
    write(NO_TAGS)


def _decode_leader_and_isr_response_v7(data: bytes, at: int) -> tuple[LeaderAndIsrResponse, int]:
    m = object.__new__(LeaderAndIsrResponse)
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.topics, at = read_array(_decode_leader_and_isr_topic_error_v7, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


LeaderAndIsrPartitionError.LAYOUTS = {
    7: Layout(_encode_leader_and_isr_partition_error_v7, _decode_leader_and_isr_partition_error_v7),
}
LeaderAndIsrTopicError.LAYOUTS = {
    7: Layout(_encode_leader_and_isr_topic_error_v7, _decode_leader_and_isr_topic_error_v7),
}
LeaderAndIsrResponse.LAYOUTS = {
    7: Layout(_encode_leader_and_isr_response_v7, _decode_leader_and_isr_response_v7),
}
