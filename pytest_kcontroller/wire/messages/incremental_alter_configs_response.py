# Generated from wire/schemas by `make generated`: edit those.
"""IncrementalAlterConfigsResponse of API 44."""

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

_b = Struct(">b")
_h = Struct(">h")
_i = Struct(">i")


@dataclass(slots=True, kw_only=True)
class AlterConfigsResourceResponse(Entry):
    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str


@dataclass(slots=True, kw_only=True)
class IncrementalAlterConfigsResponse(Response):
    """What became of the settings of each."""

    API_KEY = 44
    throttle_time_ms: int
    responses: list[AlterConfigsResourceResponse]


def _encode_alter_configs_resource_response_v0(m: AlterConfigsResourceResponse, write: Write) -> None:
    write(_h.pack(m.error_code))
    if m.error_message is None:
        write(NULL_STRING)
    else:
        write(plain_string(m.error_message))
    write(_b.pack(m.resource_type))
    write(plain_string(m.resource_name))


def _decode_alter_configs_resource_response_v0(data: bytes, at: int) -> tuple[AlterConfigsResourceResponse, int]:
    m = object.__new__(AlterConfigsResourceResponse)
    m.encoded = None
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.error_message, at = read_plain_nullable(NULL_STRING, read_plain_string, data, at)
    (m.resource_type,) = _b.unpack_from(data, at)
    at += 1
    m.resource_name, at = read_plain_string(data, at)
    return m, at


def _encode_incremental_alter_configs_response_v0(m: IncrementalAlterConfigsResponse, write: Write) -> None:
    write(_i.pack(m.throttle_time_ms))
    write_plain_array(m.responses, _encode_alter_configs_resource_response_v0, write)


def _decode_incremental_alter_configs_response_v0(data: bytes, at: int) -> tuple[IncrementalAlterConfigsResponse, int]:
    m = object.__new__(IncrementalAlterConfigsResponse)
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    m.responses, at = read_plain_array(_decode_alter_configs_resource_response_v0, data, at)
    return m, at


def _encode_alter_configs_resource_response_v1(m: AlterConfigsResourceResponse, write: Write) -> None:
    write(_h.pack(m.error_code))
    if m.error_message is None:
        write(NULL)
    else:
        write(string(m.error_message))
    write(_b.pack(m.resource_type))
    write(string(m.resource_name))
    write(NO_TAGS)


def _decode_alter_configs_resource_response_v1(data: bytes, at: int) -> tuple[AlterConfigsResourceResponse, int]:
    m = object.__new__(AlterConfigsResourceResponse)
    m.encoded = None
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.error_message, at = read_nullable(read_string, data, at)
    (m.resource_type,) = _b.unpack_from(data, at)
    at += 1
    m.resource_name, at = read_string(data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_incremental_alter_configs_response_v1(m: IncrementalAlterConfigsResponse, write: Write) -> None:
    write(_i.pack(m.throttle_time_ms))
    write_array(m.responses, _encode_alter_configs_resource_response_v1, write)
    write(NO_TAGS)


def _decode_incremental_alter_configs_response_v1(data: bytes, at: int) -> tuple[IncrementalAlterConfigsResponse, int]:
    m = object.__new__(IncrementalAlterConfigsResponse)
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    m.responses, at = read_array(_decode_alter_configs_resource_response_v1, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


AlterConfigsResourceResponse.LAYOUTS = {
    0: Layout(_encode_alter_configs_resource_response_v0, _decode_alter_configs_resource_response_v0),
    1: Layout(_encode_alter_configs_resource_response_v1, _decode_alter_configs_resource_response_v1),
}
IncrementalAlterConfigsResponse.LAYOUTS = {
    0: Layout(_encode_incremental_alter_configs_response_v0, _decode_incremental_alter_configs_response_v0),
    1: Layout(_encode_incremental_alter_configs_response_v1, _decode_incremental_alter_configs_response_v1),
}
