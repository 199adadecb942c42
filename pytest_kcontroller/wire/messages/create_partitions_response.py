# Generated from wire/schemas by `make generated`: edit those.
"""CreatePartitionsResponse of API 37."""

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

_h = Struct(">h")
_i = Struct(">i")


@dataclass(slots=True, kw_only=True)
class CreatePartitionsTopicResult(Entry):
    name: str
    error_code: int
    error_message: str | None = None


@dataclass(slots=True, kw_only=True)
class CreatePartitionsResponse(Response):
    """What became of each topic."""

    API_KEY = 37
    throttle_time_ms: int
    results: list[CreatePartitionsTopicResult]


def _encode_create_partitions_topic_result_v0(m: CreatePartitionsTopicResult, write: Write) -> None:
    write(plain_string(m.name))
    write(_h.pack(m.error_code))
    if m.error_message is None:
        write(NULL_STRING)
    else:
        write(plain_string(m.error_message))


def _decode_create_partitions_topic_result_v0(data: bytes, at: int) -> tuple[CreatePartitionsTopicResult, int]:
    m = object.__new__(CreatePartitionsTopicResult)
    m.encoded = None
    m.name, at = read_plain_string(data, at)
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.error_message, at = read_plain_nullable(NULL_STRING, read_plain_string, data, at)
    return m, at


def _encode_create_partitions_response_v0(m: CreatePartitionsResponse, write: Write) -> None:
    write(_i.pack(m.throttle_time_ms))
    write_plain_array(m.results, _encode_create_partitions_topic_result_v0, write)


def _decode_create_partitions_response_v0(data: bytes, at: int) -> tuple[CreatePartitionsResponse, int]:
    m = object.__new__(CreatePartitionsResponse)
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    m.results, at = read_plain_array(_decode_create_partitions_topic_result_v0, data, at)
    return m, at


def _encode_create_partitions_topic_result_v2(m: CreatePartitionsTopicResult, write: Write) -> None:
    write(string(m.name))
    write(_h.pack(m.error_code))
    if m.error_message is None:
        write(NULL)
    else:
        write(string(m.error_message))
    write(NO_TAGS)


def _decode_create_partitions_topic_result_v2(data: bytes, at: int) -> tuple[CreatePartitionsTopicResult, int]:
    m = object.__new__(CreatePartitionsTopicResult)
    m.encoded = None
    m.name, at = read_string(data, at)
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.error_message, at = read_nullable(read_string, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_create_partitions_response_v2(m: CreatePartitionsResponse, write: Write) -> None:
    write(_i.pack(m.throttle_time_ms))
    write_array(m.results, _encode_create_partitions_topic_result_v2, write)
    write(NO_TAGS)


def _decode_create_partitions_response_v2(data: bytes, at: int) -> tuple[CreatePartitionsResponse, int]:
    m = object.__new__(CreatePartitionsResponse)
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    m.results, at = read_array(_decode_create_partitions_topic_result_v2, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


CreatePartitionsTopicResult.LAYOUTS = {
    0: Layout(_encode_create_partitions_topic_result_v0, _decode_create_partitions_topic_result_v0),
    1: Layout(_encode_create_partitions_topic_result_v0, _decode_create_partitions_topic_result_v0),
    2: Layout(_encode_create_partitions_topic_result_v2, _decode_create_partitions_topic_result_v2),
    3: Layout(_encode_create_partitions_topic_result_v2, _decode_create_partitions_topic_result_v2),
}
CreatePartitionsResponse.LAYOUTS = {
    0: Layout(_encode_create_partitions_response_v0, _decode_create_partitions_response_v0),
    1: Layout(_encode_create_partitions_response_v0, _decode_create_partitions_response_v0),
    2: Layout(_encode_create_partitions_response_v2, _decode_create_partitions_response_v2),
    3: Layout(_encode_create_partitions_response_v2, _decode_create_partitions_response_v2),
}
