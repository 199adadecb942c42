# Generated from wire/schemas by `make generated`: edit those.
"""ControlledShutdownResponse of API 7."""

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
_i = Struct(">i")
_iB = Struct(">iB")


@dataclass(slots=True, kw_only=True)
class RemainingPartition(Entry):
    topic_name: str
    partition_index: int


@dataclass(slots=True, kw_only=True)
class ControlledShutdownResponse(Response):
    """What it still leads."""

    API_KEY = 7
    error_code: int
    remaining_partitions: list[RemainingPartition]


def _encode_remaining_partition_v0(m: RemainingPartition, write: Write) -> None:
    write(plain_string(m.topic_name))
    write(_i.pack(m.partition_index))


def _decode_remaining_partition_v0(data: bytes, at: int) -> tuple[RemainingPartition, int]:
    m = object.__new__(RemainingPartition)
    m.encoded = None
    m.topic_name, at = read_plain_string(data, at)
    (m.partition_index,) = _i.unpack_from(data, at)
    at += 4
    return m, at


def _encode_controlled_shutdown_response_v0(m: ControlledShutdownResponse, write: Write) -> None:
    write(_h.pack(m.error_code))
    write_plain_array(m.remaining_partitions, _encode_remaining_partition_v0, write)


def _decode_controlled_shutdown_response_v0(data: bytes, at: int) -> tuple[ControlledShutdownResponse, int]:
    m = object.__new__(ControlledShutdownResponse)
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.remaining_partitions, at = read_plain_array(_decode_remaining_partition_v0, data, at)
    return m, at


def _encode_remaining_partition_v3(m: RemainingPartition, write: Write) -> None:
    write(string(m.topic_name))
    write(_iB.pack(m.partition_index, 0))


def _decode_remaining_partition_v3(data: bytes, at: int) -> tuple[RemainingPartition, int]:
    m = object.__new__(RemainingPartition)
    m.encoded = None
    m.topic_name, at = read_string(data, at)
    m.partition_index, tags = _iB.unpack_from(data, at)
    at = at + 5 if tags == 0 else skip_tagged_fields(data, at + 4)
    return m, at


def _encode_controlled_shutdown_response_v3(m: ControlledShutdownResponse, write: Write) -> None:
    write(_h.pack(m.error_code))
    write_array(m.remaining_partitions, _encode_remaining_partition_v3, write)
    write(NO_TAGS)


def _decode_controlled_shutdown_response_v3(data: bytes, at: int) -> tuple[ControlledShutdownResponse, int]:
    m = object.__new__(ControlledShutdownResponse)
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.remaining_partitions, at = read_array(_decode_remaining_partition_v3, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


RemainingPartition.LAYOUTS = {
    0: Layout(_encode_remaining_partition_v0, _decode_remaining_partition_v0),
    1: Layout(_encode_remaining_partition_v0, _decode_remaining_partition_v0),
    2: Layout(_encode_remaining_partition_v0, _decode_remaining_partition_v0),
    3: Layout(_encode_remaining_partition_v3, _decode_remaining_partition_v3),
}
ControlledShutdownResponse.LAYOUTS = {
    0: Layout(_encode_controlled_shutdown_response_v0, _decode_controlled_shutdown_response_v0),
    1: Layout(_encode_controlled_shutdown_response_v0, _decode_controlled_shutdown_response_v0),
    2: Layout(_encode_controlled_shutdown_response_v0, _decode_controlled_shutdown_response_v0),
    3: Layout(_encode_controlled_shutdown_response_v3, _decode_controlled_shutdown_response_v3),
}
