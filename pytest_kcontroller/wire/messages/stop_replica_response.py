# Generated from wire/schemas by `make generated`: edit those.
"""StopReplicaResponse of API 5."""

from __future__ import annotations

from dataclasses import dataclass
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
    write_plain_array,
)

_h = Struct(">h")
_ih = Struct(">ih")
_ihB = Struct(">ihB")


@dataclass(slots=True, kw_only=True)
class StopReplicaPartitionError(Entry):
    topic_name: str
    partition_index: int
    error_code: int


@dataclass(slots=True, kw_only=True)
class StopReplicaResponse(Response):
    """An error per partition."""

    API_KEY = 5
    error_code: int
    partition_errors: list[StopReplicaPartitionError]


def _encode_stop_replica_partition_error_v0(m: StopReplicaPartitionError, write: Write) -> None:
    write(plain_string(m.topic_name))
    write(_ih.pack(m.partition_index, m.error_code))


def _decode_stop_replica_partition_error_v0(data: bytes, at: int) -> tuple[StopReplicaPartitionError, int]:
    m = object.__new__(StopReplicaPartitionError)
    m.encoded = None
    m.topic_name, at = read_plain_string(data, at)
    m.partition_index, m.error_code = _ih.unpack_from(data, at)
    at += 6
    return m, at


def _encode_stop_replica_response_v0(m: StopReplicaResponse, write: Write) -> None:
    write(_h.pack(m.error_code))
    write_plain_array(m.partition_errors, _encode_stop_replica_partition_error_v0, write)


def _decode_stop_replica_response_v0(data: bytes, at: int) -> tuple[StopReplicaResponse, int]:
    m = object.__new__(StopReplicaResponse)
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.partition_errors, at = read_plain_array(_decode_stop_replica_partition_error_v0, data, at)
    return m, at


def _encode_stop_replica_partition_error_v2(m: StopReplicaPartitionError, write: Write) -> None:
    write(string(m.topic_name))
    write(_ihB.pack(m.partition_index, m.error_code, 0))


def _decode_stop_replica_partition_error_v2(data: bytes, at: int) -> tuple[StopReplicaPartitionError, int]:
    m = object.__new__(StopReplicaPartitionError)
    m.encoded = None
    m.topic_name, at = read_string(data, at)
    m.partition_index, m.error_code, tags = _ihB.unpack_from(data, at)
    at = at + 7 if tags == 0 else skip_tagged_fields(data, at + 6)
    return m, at


def _encode_stop_replica_response_v2(m: StopReplicaResponse, write: Write) -> None:
    write(_h.pack(m.error_code))
    write_array(m.partition_errors, _encode_stop_replica_partition_error_v2, write)
    write(NO_TAGS)


def _decode_stop_replica_response_v2(data: bytes, at: int) -> tuple[StopReplicaResponse, int]:
    m = object.__new__(StopReplicaResponse)
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.partition_errors, at = read_array(_decode_stop_replica_partition_error_v2, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


StopReplicaPartitionError.LAYOUTS = {
    0: Layout(_encode_stop_replica_partition_error_v0, _decode_stop_replica_partition_error_v0),
    1: Layout(_encode_stop_replica_partition_error_v0, _decode_stop_replica_partition_error_v0),
    2: Layout(_encode_stop_replica_partition_error_v2, _decode_stop_replica_partition_error_v2),
    3: Layout(_encode_stop_replica_partition_error_v2, _decode_stop_replica_partition_error_v2),
    4: Layout(_encode_stop_replica_partition_error_v2, _decode_stop_replica_partition_error_v2),
}
StopReplicaResponse.LAYOUTS = {
    0: Layout(_encode_stop_replica_response_v0, _decode_stop_replica_response_v0),
    1: Layout(_encode_stop_replica_response_v0, _decode_stop_replica_response_v0),
    2: Layout(_encode_stop_replica_response_v2, _decode_stop_replica_response_v2),
    3: Layout(_encode_stop_replica_response_v2, _decode_stop_replica_response_v2),
    4: Layout(_encode_stop_replica_response_v2, _decode_stop_replica_response_v2),
}
