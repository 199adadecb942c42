# Generated from wire/schemas by `make generated`: edit those.
"""ListPartitionReassignmentsResponse of API 46."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Response, Write
from pytest_kcontroller.wire.primitives import (
    NO_TAGS,
    NULL,
    Numbers,
    read_array,
    read_nullable,
    read_string,
    skip_tagged_fields,
    string,
    write_array,
)

_i = Struct(">i")
_ih = Struct(">ih")
_int32s = Numbers("i")


@dataclass(slots=True, kw_only=True)
class OngoingPartitionReassignment(Entry):
    partition_index: int
    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]


@dataclass(slots=True, kw_only=True)
class OngoingTopicReassignment(Entry):
    name: str
    partitions: list[OngoingPartitionReassignment]


@dataclass(slots=True, kw_only=True)
class ListPartitionReassignmentsResponse(Response):
    """Those that are, with the replicas that come and go."""

    API_KEY = 46
    throttle_time_ms: int
    error_code: int
    error_message: str | None = None
    topics: list[OngoingTopicReassignment]


def _encode_ongoing_partition_reassignment_v0(m: OngoingPartitionReassignment, write: Write) -> None:
    write(_i.pack(m.partition_index))
    write(_int32s.encode(m.replicas))
    write(_int32s.encode(m.adding_replicas))
    write(_int32s.encode(m.removing_replicas))
    write(NO_TAGS)


def _decode_ongoing_partition_reassignment_v0(data: bytes, at: int) -> tuple[OngoingPartitionReassignment, int]:
    m = object.__new__(OngoingPartitionReassignment)
    m.encoded = None
    (m.partition_index,) = _i.unpack_from(data, at)
    at += 4
    m.replicas, at = _int32s.read(data, at)
    m.adding_replicas, at = _int32s.read(data, at)
    m.removing_replicas, at = _int32s.read(data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_ongoing_topic_reassignment_v0(m: OngoingTopicReassignment, write: Write) -> None:
    write(string(m.name))
    write_array(m.partitions, _encode_ongoing_partition_reassignment_v0, write)
    write(NO_TAGS)


def _decode_ongoing_topic_reassignment_v0(data: bytes, at: int) -> tuple[OngoingTopicReassignment, int]:
    m = object.__new__(OngoingTopicReassignment)
    m.encoded = None
    m.name, at = read_string(data, at)
    m.partitions, at = read_array(_decode_ongoing_partition_reassignment_v0, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_list_partition_reassignments_response_v0(m: ListPartitionReassignmentsResponse, write: Write) -> None:
    write(_ih.pack(m.throttle_time_ms, m.error_code))
    if m.error_message is None:
        write(NULL)
    else:
        write(string(m.error_message))
    write_array(m.topics, _encode_ongoing_topic_reassignment_v0, write)
    write(NO_TAGS)


def _decode_list_partition_reassignments_response_v0(
    data: bytes,
    at: int,
) -> tuple[ListPartitionReassignmentsResponse, int]:
    m = object.__new__(ListPartitionReassignmentsResponse)
    m.throttle_time_ms, m.error_code = _ih.unpack_from(data, at)
    at += 6
    m.error_message, at = read_nullable(read_string, data, at)
    m.topics, at = read_array(_decode_ongoing_topic_reassignment_v0, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


OngoingPartitionReassignment.LAYOUTS = {
    0: Layout(_encode_ongoing_partition_reassignment_v0, _decode_ongoing_partition_reassignment_v0),
}
OngoingTopicReassignment.LAYOUTS = {
    0: Layout(_encode_ongoing_topic_reassignment_v0, _decode_ongoing_topic_reassignment_v0),
}
ListPartitionReassignmentsResponse.LAYOUTS = {
    0: Layout(_encode_list_partition_reassignments_response_v0, _decode_list_partition_reassignments_response_v0),
}
