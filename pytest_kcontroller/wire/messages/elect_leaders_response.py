# Generated from wire/schemas by `make generated`: edit those.
"""ElectLeadersResponse of API 43."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Response, Write
from pytest_kcontroller.wire.primitives import (
    NO_TAGS,
    NULL,
    NULL_STRING,
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
_ih = Struct(">ih")


@dataclass(slots=True, kw_only=True)
class ElectLeadersPartitionResult(Entry):
    partition_id: int
    error_code: int
    error_message: str | None


@dataclass(slots=True, kw_only=True)
class ReplicaElectionResult(Entry):
    topic: str
    partition_result: list[ElectLeadersPartitionResult]


@dataclass(slots=True, kw_only=True)
class ElectLeadersResponse(Response):
    """How each election ended."""

    API_KEY = 43
    throttle_time_ms: int
    error_code: int = 0
    replica_election_results: list[ReplicaElectionResult]


def _encode_elect_leaders_partition_result_v0(m: ElectLeadersPartitionResult, write: Write) -> None:
    write(_ih.pack(m.partition_id, m.error_code))
    if m.error_message is None:
        write(NULL_STRING)
    else:
        write(plain_string(m.error_message))


def _decode_elect_leaders_partition_result_v0(data: bytes, at: int) -> tuple[ElectLeadersPartitionResult, int]:
    m = object.__new__(ElectLeadersPartitionResult)
    m.encoded = None
    m.partition_id, m.error_code = _ih.unpack_from(data, at)
    at += 6
    m.error_message, at = read_plain_nullable(NULL_STRING, read_plain_string, data, at)
    return m, at


def _encode_replica_election_result_v0(m: ReplicaElectionResult, write: Write) -> None:
    write(plain_string(m.topic))
    write_plain_array(m.partition_result, _encode_elect_leaders_partition_result_v0, write)


def _decode_replica_election_result_v0(data: bytes, at: int) -> tuple[ReplicaElectionResult, int]:
    m = object.__new__(ReplicaElectionResult)
    m.encoded = None
    m.topic, at = read_plain_string(data, at)
    m.partition_result, at = read_plain_array(_decode_elect_leaders_partition_result_v0, data, at)
    return m, at


def _encode_elect_leaders_response_v0(m: ElectLeadersResponse, write: Write) -> None:
    write(_i.pack(m.throttle_time_ms))
    write_plain_array(m.replica_election_results, _encode_replica_election_result_v0, write)


def _decode_elect_leaders_response_v0(data: bytes, at: int) -> tuple[ElectLeadersResponse, int]:
    m = object.__new__(ElectLeadersResponse)
    m.error_code = 0
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    m.replica_election_results, at = read_plain_array(_decode_replica_election_result_v0, data, at)
    return m, at


def _encode_elect_leaders_response_v1(m: ElectLeadersResponse, write: Write) -> None:
    write(_ih.pack(m.throttle_time_ms, m.error_code))
    write_plain_array(m.replica_election_results, _encode_replica_election_result_v0, write)


def _decode_elect_leaders_response_v1(data: bytes, at: int) -> tuple[ElectLeadersResponse, int]:
    m = object.__new__(ElectLeadersResponse)
    m.throttle_time_ms, m.error_code = _ih.unpack_from(data, at)
    at += 6
    m.replica_election_results, at = read_plain_array(_decode_replica_election_result_v0, data, at)
    return m, at


def _encode_elect_leaders_partition_result_v2(m: ElectLeadersPartitionResult, write: Write) -> None:
    write(_ih.pack(m.partition_id, m.error_code))
    if m.error_message is None:
        write(NULL)
    else:
        write(string(m.error_message))
    write(NO_TAGS)


def _decode_elect_leaders_partition_result_v2(data: bytes, at: int) -> tuple[ElectLeadersPartitionResult, int]:
    m = object.__new__(ElectLeadersPartitionResult)
    m.encoded = None
    m.partition_id, m.error_code = _ih.unpack_from(data, at)
    at += 6
    m.error_message, at = read_nullable(read_string, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_replica_election_result_v2(m: ReplicaElectionResult, write: Write) -> None:
    write(string(m.topic))
    write_array(m.partition_result, _encode_elect_leaders_partition_result_v2, write)
    write(NO_TAGS)


def _decode_replica_election_result_v2(data: bytes, at: int) -> tuple[ReplicaElectionResult, int]:
    m = object.__new__(ReplicaElectionResult)
    m.encoded = None
    m.topic, at = read_string(data, at)
    m.partition_result, at = read_array(_decode_elect_leaders_partition_result_v2, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_elect_leaders_response_v2(m: ElectLeadersResponse, write: Write) -> None:
    write(_ih.pack(m.throttle_time_ms, m.error_code))
    write_array(m.replica_election_results, _encode_replica_election_result_v2, write)
    write(NO_TAGS)


def _decode_elect_leaders_response_v2(data: bytes, at: int) -> tuple[ElectLeadersResponse, int]:
    m = object.__new__(ElectLeadersResponse)
    m.throttle_time_ms, m.error_code = _ih.unpack_from(data, at)
    at += 6
    m.replica_election_results, at = read_array(_decode_replica_election_result_v2, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


ElectLeadersPartitionResult.LAYOUTS = {
    0: Layout(_encode_elect_leaders_partition_result_v0, _decode_elect_leaders_partition_result_v0),
    1: Layout(_encode_elect_leaders_partition_result_v0, _decode_elect_leaders_partition_result_v0),
    2: Layout(_encode_elect_leaders_partition_result_v2, _decode_elect_leaders_partition_result_v2),
}
ReplicaElectionResult.LAYOUTS = {
    0: Layout(_encode_replica_election_result_v0, _decode_replica_election_result_v0),
    1: Layout(_encode_replica_election_result_v0, _decode_replica_election_result_v0),
    2: Layout(_encode_replica_election_result_v2, _decode_replica_election_result_v2),
}
ElectLeadersResponse.LAYOUTS = {
    0: Layout(_encode_elect_leaders_response_v0, _decode_elect_leaders_response_v0),
    1: Layout(_encode_elect_leaders_response_v1, _decode_elect_leaders_response_v1),
    2: Layout(_encode_elect_leaders_response_v2, _decode_elect_leaders_response_v2),
}
