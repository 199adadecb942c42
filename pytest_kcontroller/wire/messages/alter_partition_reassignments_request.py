# Generated from wire/schemas by `make generated`: edit those.
"""AlterPartitionReassignmentsRequest of API 45."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Request, Write
from pytest_kcontroller.wire.messages.alter_partition_reassignments_response import AlterPartitionReassignmentsResponse
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
_int32s = Numbers("i")


@dataclass(slots=True, kw_only=True)
class ReassignablePartition(Entry):
    partition_index: int
    replicas: tuple[int, ...] | None = None


@dataclass(slots=True, kw_only=True)
class ReassignableTopic(Entry):
    name: str
    partitions: list[ReassignablePartition]


@dataclass(slots=True, kw_only=True)
class AlterPartitionReassignmentsRequest(Request[AlterPartitionReassignmentsResponse]):
    """Client to controller: these replicas instead; null: as before."""

    API_KEY = 45
    timeout_ms: int = 60000
    topics: list[ReassignableTopic]


def _encode_reassignable_partition_v0(m: ReassignablePartition, write: Write) -> None:
    write(_i.pack(m.partition_index))
    if m.replicas is None:
        write(NULL)
    else:
        write(_int32s.encode(m.replicas))
    write(NO_TAGS)


def _decode_reassignable_partition_v0(data: bytes, at: int) -> tuple[ReassignablePartition, int]:
    m = object.__new__(ReassignablePartition)
    m.encoded = None
    (m.partition_index,) = _i.unpack_from(data, at)
    at += 4
    m.replicas, at = read_nullable(_int32s.read, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_reassignable_topic_v0(m: ReassignableTopic, write: Write) -> None:
    write(string(m.name))
    write_array(m.partitions, _encode_reassignable_partition_v0, write)
    write(NO_TAGS)


def _decode_reassignable_topic_v0(data: bytes, at: int) -> tuple[ReassignableTopic, int]:
    m = object.__new__(ReassignableTopic)
    m.encoded = None
    m.name, at = read_string(data, at)
    m.partitions, at = read_array(_decode_reassignable_partition_v0, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_alter_partition_reassignments_request_v0(m: AlterPartitionReassignmentsRequest, write: Write) -> None:
    write(_i.pack(m.timeout_ms))
    write_array(m.topics, _encode_reassignable_topic_v0, write)
    write(NO_TAGS)


def _decode_alter_partition_reassignments_request_v0(
    data: bytes,
    at: int,
) -> tuple[AlterPartitionReassignmentsRequest, int]:
    m = object.__new__(AlterPartitionReassignmentsRequest)
    (m.timeout_ms,) = _i.unpack_from(data, at)
    at += 4
    m.topics, at = read_array(_decode_reassignable_topic_v0, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


ReassignablePartition.LAYOUTS = {
    0: Layout(_encode_reassignable_partition_v0, _decode_reassignable_partition_v0),
}
ReassignableTopic.LAYOUTS = {
    0: Layout(_encode_reassignable_topic_v0, _decode_reassignable_topic_v0),
}
AlterPartitionReassignmentsRequest.LAYOUTS = {
    0: Layout(_encode_alter_partition_reassignments_request_v0, _decode_alter_partition_reassignments_request_v0),
}
