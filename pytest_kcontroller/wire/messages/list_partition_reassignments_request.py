# Generated from wire/schemas by `make generated`: edit those.
"""ListPartitionReassignmentsRequest of API 46."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Request, Write
from pytest_kcontroller.wire.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
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
class ListPartitionReassignmentsTopics(Entry):
    name: str
    partition_indexes: tuple[int, ...]


@dataclass(slots=True, kw_only=True)
class ListPartitionReassignmentsRequest(Request[ListPartitionReassignmentsResponse]):
    """Client to controller: which partitions are being reassigned."""

    API_KEY = 46
    timeout_ms: int = 60000
    topics: list[ListPartitionReassignmentsTopics] | None = None


def _encode_list_partition_reassignments_topics_v0(m: ListPartitionReassignmentsTopics, write: Write) -> None:
    write(string(m.name))
    write(_int32s.encode(m.partition_indexes))
    write(NO_TAGS)


def _decode_list_partition_reassignments_topics_v0(
    data: bytes,
    at: int,
) -> tuple[ListPartitionReassignmentsTopics, int]:
    m = object.__new__(ListPartitionReassignmentsTopics)
    m.encoded = None
    m.name, at = read_string(data, at)
    m.partition_indexes, at = _int32s.read(data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_list_partition_reassignments_request_v0(m: ListPartitionReassignmentsRequest, write: Write) -> None:
    write(_i.pack(m.timeout_ms))
    if m.topics is None:
        write(NULL)
    else:
        write_array(m.topics, _encode_list_partition_reassignments_topics_v0, write)
    write(NO_TAGS)


def _decode_list_partition_reassignments_request_v0(
    data: bytes,
    at: int,
) -> tuple[ListPartitionReassignmentsRequest, int]:
    m = object.__new__(ListPartitionReassignmentsRequest)
    (m.timeout_ms,) = _i.unpack_from(data, at)
    at += 4
    m.topics, at = read_nullable(
        lambda data, at: read_array(_decode_list_partition_reassignments_topics_v0, data, at),
        data,
        at,
    )
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


ListPartitionReassignmentsTopics.LAYOUTS = {
    0: Layout(_encode_list_partition_reassignments_topics_v0, _decode_list_partition_reassignments_topics_v0),
}
ListPartitionReassignmentsRequest.LAYOUTS = {
    0: Layout(_encode_list_partition_reassignments_request_v0, _decode_list_partition_reassignments_request_v0),
}
