# Generated from wire/schemas by `make generated`: edit those.
"""AlterPartitionReassignmentsResponse of API 45."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Response, Write
from pytest_kcontroller.wire.primitives import (
    NO_TAGS,
    NULL,
    read_array,
    read_nullable,
    read_string,
    skip_tagged_fields,
    string,
    write_array,
)

_ih = Struct(">ih")


@dataclass(slots=True, kw_only=True)
class ReassignablePartitionResponse(Entry):
    partition_index: int
    error_code: int
    error_message: str | None = None


@dataclass(slots=True, kw_only=True)
class ReassignableTopicResponse(Entry):
    name: str
    partitions: list[ReassignablePartitionResponse]


@dataclass(slots=True, kw_only=True)
class AlterPartitionReassignmentsResponse(Response):
    """Whether each reassignment has begun."""

    API_KEY = 45
    throttle_time_ms: int
    error_code: int
    error_message: str | None = None
    responses: list[ReassignableTopicResponse]


def _encode_reassignable_partition_response_v0(m: ReassignablePartitionResponse, write: Write) -> None:
    write(_ih.pack(m.partition_index, m.error_code))
    if m.error_message is None:
        write(NULL)
    else:
        write(string(m.error_message))
    write(NO_TAGS)


def _decode_reassignable_partition_response_v0(data: bytes, at: int) -> tuple[ReassignablePartitionResponse, int]:
    m = object.__new__(ReassignablePartitionResponse)
    m.encoded = None
    m.partition_index, m.error_code = _ih.unpack_from(data, at)
    at += 6
    m.error_message, at = read_nullable(read_string, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_reassignable_topic_response_v0(m: ReassignableTopicResponse, write: Write) -> None:
    write(string(m.name))
    write_array(m.partitions, _encode_reassignable_partition_response_v0, write)
    write(NO_TAGS)


def _decode_reassignable_topic_response_v0(data: bytes, at: int) -> tuple[ReassignableTopicResponse, int]:
    m = object.__new__(ReassignableTopicResponse)
    m.encoded = None
    m.name, at = read_string(data, at)
    m.partitions, at = read_array(_decode_reassignable_partition_response_v0, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_alter_partition_reassignments_response_v0(m: AlterPartitionReassignmentsResponse, write: Write) -> None:
    write(_ih.pack(m.throttle_time_ms, m.error_code))
    if m.error_message is None:
        write(NULL)
    else:
        write(string(m.error_message))
    write_array(m.responses, _encode_reassignable_topic_response_v0, write)
    write(NO_TAGS)


def _decode_alter_partition_reassignments_response_v0(
    data: bytes,
    at: int,
) -> tuple[AlterPartitionReassignmentsResponse, int]:
    m = object.__new__(AlterPartitionReassignmentsResponse)
    m.throttle_time_ms, m.error_code = _ih.unpack_from(data, at)
    at += 6
    m.error_message, at = read_nullable(read_string, data, at)
    m.responses, at = read_array(_decode_reassignable_topic_response_v0, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


ReassignablePartitionResponse.LAYOUTS = {
    0: Layout(_encode_reassignable_partition_response_v0, _decode_reassignable_partition_response_v0),
}
ReassignableTopicResponse.LAYOUTS = {
    0: Layout(_encode_reassignable_topic_response_v0, _decode_reassignable_topic_response_v0),
}
AlterPartitionReassignmentsResponse.LAYOUTS = {
    0: Layout(_encode_alter_partition_reassignments_response_v0, _decode_alter_partition_reassignments_response_v0),
}
