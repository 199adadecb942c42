# Generated from wire/schemas by `make generated`: edit those.
"""CreatePartitionsRequest of API 37."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Request, Write
from pytest_kcontroller.wire.messages.create_partitions_response import CreatePartitionsResponse
from pytest_kcontroller.wire.primitives import (
    NO_TAGS,
    NULL,
    NULL_LENGTH,
    Numbers,
    plain_string,
    read_array,
    read_nullable,
    read_plain_array,
    read_plain_nullable,
    read_plain_string,
    read_string,
    skip_tagged_fields,
    string,
    write_array,
    write_plain_array,
)

_i = Struct(">i")
_it = Struct(">i?")
_itB = Struct(">i?B")
_int32s = Numbers("i")


@dataclass(slots=True, kw_only=True)
class CreatePartitionsAssignment(Entry):
    broker_ids: tuple[int, ...]


@dataclass(slots=True, kw_only=True)
class CreatePartitionsTopic(Entry):
    name: str
    count: int
    assignments: list[CreatePartitionsAssignment] | None


@dataclass(slots=True, kw_only=True)
class CreatePartitionsRequest(Request[CreatePartitionsResponse]):
    """Client to controller: these topics shall have so many partitions."""

    API_KEY = 37
    topics: list[CreatePartitionsTopic]
    timeout_ms: int
    validate_only: bool


def _encode_create_partitions_assignment_v0(m: CreatePartitionsAssignment, write: Write) -> None:
    write(_int32s.plain_encode(m.broker_ids))


def _decode_create_partitions_assignment_v0(data: bytes, at: int) -> tuple[CreatePartitionsAssignment, int]:
    m = object.__new__(CreatePartitionsAssignment)
    m.encoded = None
    m.broker_ids, at = _int32s.plain_read(data, at)
    return m, at


def _encode_create_partitions_topic_v0(m: CreatePartitionsTopic, write: Write) -> None:
    write(plain_string(m.name))
    write(_i.pack(m.count))
    if m.assignments is None:
        write(NULL_LENGTH)
    else:
        write_plain_array(m.assignments, _encode_create_partitions_assignment_v0, write)


def _decode_create_partitions_topic_v0(data: bytes, at: int) -> tuple[CreatePartitionsTopic, int]:
    m = object.__new__(CreatePartitionsTopic)
    m.encoded = None
    m.name, at = read_plain_string(data, at)
    (m.count,) = _i.unpack_from(data, at)
    at += 4
    m.assignments, at = read_plain_nullable(
        NULL_LENGTH,
        lambda data, at: read_plain_array(_decode_create_partitions_assignment_v0, data, at),
        data,
        at,
    )
    return m, at


def _encode_create_partitions_request_v0(m: CreatePartitionsRequest, write: Write) -> None:
    write_plain_array(m.topics, _encode_create_partitions_topic_v0, write)
    write(_it.pack(m.timeout_ms, m.validate_only))


def _decode_create_partitions_request_v0(data: bytes, at: int) -> tuple[CreatePartitionsRequest, int]:
    m = object.__new__(CreatePartitionsRequest)
    m.topics, at = read_plain_array(_decode_create_partitions_topic_v0, data, at)
    m.timeout_ms, m.validate_only = _it.unpack_from(data, at)
    at += 5
    return m, at


def _encode_create_partitions_assignment_v2(m: CreatePartitionsAssignment, write: Write) -> None:
    write(_int32s.encode(m.broker_ids))
    write(NO_TAGS)


def _decode_create_partitions_assignment_v2(data: bytes, at: int) -> tuple[CreatePartitionsAssignment, int]:
    m = object.__new__(CreatePartitionsAssignment)
    m.encoded = None
    m.broker_ids, at = _int32s.read(data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_create_partitions_topic_v2(m: CreatePartitionsTopic, write: Write) -> None:
    write(string(m.name))
    write(_i.pack(m.count))
    if m.assignments is None:
        write(NULL)
    else:
        write_array(m.assignments, _encode_create_partitions_assignment_v2, write)
    write(NO_TAGS)


def _decode_create_partitions_topic_v2(data: bytes, at: int) -> tuple[CreatePartitionsTopic, int]:
    m = object.__new__(CreatePartitionsTopic)
    m.encoded = None
    m.name, at = read_string(data, at)
    (m.count,) = _i.unpack_from(data, at)
    at += 4
    m.assignments, at = read_nullable(
        lambda data, at: read_array(_decode_create_partitions_assignment_v2, data, at),
        data,
        at,
    )
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_create_partitions_request_v2(m: CreatePartitionsRequest, write: Write) -> None:
    write_array(m.topics, _encode_create_partitions_topic_v2, write)
    write(_itB.pack(m.timeout_ms, m.validate_only, 0))


def _decode_create_partitions_request_v2(data: bytes, at: int) -> tuple[CreatePartitionsRequest, int]:
    m = object.__new__(CreatePartitionsRequest)
    m.topics, at = read_array(_decode_create_partitions_topic_v2, data, at)
    m.timeout_ms, m.validate_only, tags = _itB.unpack_from(data, at)
    at = at + 6 if tags == 0 else skip_tagged_fields(data, at + 5)
    return m, at


CreatePartitionsAssignment.LAYOUTS = {
    0: Layout(_encode_create_partitions_assignment_v0, _decode_create_partitions_assignment_v0),
    1: Layout(_encode_create_partitions_assignment_v0, _decode_create_partitions_assignment_v0),
    2: Layout(_encode_create_partitions_assignment_v2, _decode_create_partitions_assignment_v2),
    3: Layout(_encode_create_partitions_assignment_v2, _decode_create_partitions_assignment_v2),
}
CreatePartitionsTopic.LAYOUTS = {
    0: Layout(_encode_create_partitions_topic_v0, _decode_create_partitions_topic_v0),
    1: Layout(_encode_create_partitions_topic_v0, _decode_create_partitions_topic_v0),
    2: Layout(_encode_create_partitions_topic_v2, _decode_create_partitions_topic_v2),
    3: Layout(_encode_create_partitions_topic_v2, _decode_create_partitions_topic_v2),
}
CreatePartitionsRequest.LAYOUTS = {
    0: Layout(_encode_create_partitions_request_v0, _decode_create_partitions_request_v0),
    1: Layout(_encode_create_partitions_request_v0, _decode_create_partitions_request_v0),
    2: Layout(_encode_create_partitions_request_v2, _decode_create_partitions_request_v2),
    3: Layout(_encode_create_partitions_request_v2, _decode_create_partitions_request_v2),
}
