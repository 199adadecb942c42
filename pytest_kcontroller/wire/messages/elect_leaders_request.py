# Generated from wire/schemas by `make generated`: edit those.
"""ElectLeadersRequest of API 43."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Request, Write
from pytest_kcontroller.wire.messages.elect_leaders_response import ElectLeadersResponse
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

_b = Struct(">b")
_i = Struct(">i")
_iB = Struct(">iB")
_int32s = Numbers("i")


@dataclass(slots=True, kw_only=True)
class ElectLeadersTopic(Entry):
    topic: str
    partitions: tuple[int, ...]


@dataclass(slots=True, kw_only=True)
class ElectLeadersRequest(Request[ElectLeadersResponse]):
    """Client to controller: elect preferred leaders, or unclean ones."""

    API_KEY = 43
    election_type: int = 0
    topic_partitions: list[ElectLeadersTopic] | None
    timeout_ms: int = 60000


def _encode_elect_leaders_topic_v0(m: ElectLeadersTopic, write: Write) -> None:
    write(plain_string(m.topic))
    write(_int32s.plain_encode(m.partitions))


def _decode_elect_leaders_topic_v0(data: bytes, at: int) -> tuple[ElectLeadersTopic, int]:
    m = object.__new__(ElectLeadersTopic)
    m.encoded = None
    m.topic, at = read_plain_string(data, at)
    m.partitions, at = _int32s.plain_read(data, at)
    return m, at


def _encode_elect_leaders_request_v0(m: ElectLeadersRequest, write: Write) -> None:
    if m.topic_partitions is None:
        write(NULL_LENGTH)
    else:
        write_plain_array(m.topic_partitions, _encode_elect_leaders_topic_v0, write)
    write(_i.pack(m.timeout_ms))


def _decode_elect_leaders_request_v0(data: bytes, at: int) -> tuple[ElectLeadersRequest, int]:
    m = object.__new__(ElectLeadersRequest)
    m.election_type = 0
    m.topic_partitions, at = read_plain_nullable(
        NULL_LENGTH,
        lambda data, at: read_plain_array(_decode_elect_leaders_topic_v0, data, at),
        data,
        at,
    )
    (m.timeout_ms,) = _i.unpack_from(data, at)
    at += 4
    return m, at


def _encode_elect_leaders_request_v1(m: ElectLeadersRequest, write: Write) -> None:
    write(_b.pack(m.election_type))
    if m.topic_partitions is None:
        write(NULL_LENGTH)
    else:
        write_plain_array(m.topic_partitions, _encode_elect_leaders_topic_v0, write)
    write(_i.pack(m.timeout_ms))


def _decode_elect_leaders_request_v1(data: bytes, at: int) -> tuple[ElectLeadersRequest, int]:
    m = object.__new__(ElectLeadersRequest)
    (m.election_type,) = _b.unpack_from(data, at)
    at += 1
    m.topic_partitions, at = read_plain_nullable(
        NULL_LENGTH,
        lambda data, at: read_plain_array(_decode_elect_leaders_topic_v0, data, at),
        data,
        at,
    )
    (m.timeout_ms,) = _i.unpack_from(data, at)
    at += 4
    return m, at


def _encode_elect_leaders_topic_v2(m: ElectLeadersTopic, write: Write) -> None:
    write(string(m.topic))
    write(_int32s.encode(m.partitions))
    write(NO_TAGS)


def _decode_elect_leaders_topic_v2(data: bytes, at: int) -> tuple[ElectLeadersTopic, int]:
    m = object.__new__(ElectLeadersTopic)
    m.encoded = None
    m.topic, at = read_string(data, at)
    m.partitions, at = _int32s.read(data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_elect_leaders_request_v2(m: ElectLeadersRequest, write: Write) -> None:
    write(_b.pack(m.election_type))
    if m.topic_partitions is None:
        write(NULL)
    else:
        write_array(m.topic_partitions, _encode_elect_leaders_topic_v2, write)
    write(_iB.pack(m.timeout_ms, 0))


def _decode_elect_leaders_request_v2(data: bytes, at: int) -> tuple[ElectLeadersRequest, int]:
    m = object.__new__(ElectLeadersRequest)
    (m.election_type,) = _b.unpack_from(data, at)
    at += 1
    m.topic_partitions, at = read_nullable(
        lambda data, at: read_array(_decode_elect_leaders_topic_v2, data, at),
        data,
        at,
    )
    m.timeout_ms, tags = _iB.unpack_from(data, at)
    at = at + 5 if tags == 0 else skip_tagged_fields(data, at + 4)
    return m, at


ElectLeadersTopic.LAYOUTS = {
    0: Layout(_encode_elect_leaders_topic_v0, _decode_elect_leaders_topic_v0),
    1: Layout(_encode_elect_leaders_topic_v0, _decode_elect_leaders_topic_v0),
    2: Layout(_encode_elect_leaders_topic_v2, _decode_elect_leaders_topic_v2),
}
ElectLeadersRequest.LAYOUTS = {
    0: Layout(_encode_elect_leaders_request_v0, _decode_elect_leaders_request_v0),
    1: Layout(_encode_elect_leaders_request_v1, _decode_elect_leaders_request_v1),
    2: Layout(_encode_elect_leaders_request_v2, _decode_elect_leaders_request_v2),
}
