# Generated from wire/schemas by `make generated`: edit those.
"""DescribeConfigsResponse of API 32."""

from __future__ import annotations

from dataclasses import dataclass, field
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
_bB = Struct(">bB")
_h = Struct(">h")
_i = Struct(">i")
_tbt = Struct(">?b?")
_ttt = Struct(">???")


@dataclass(slots=True, kw_only=True)
class DescribeConfigsSynonym(Entry):
    name: str = ""
    value: str | None = ""
    source: int = 0


@dataclass(slots=True, kw_only=True)
class DescribeConfigsResourceResult(Entry):
    name: str
    value: str | None
    read_only: bool
    is_default: bool = False
    config_source: int = -1
    is_sensitive: bool
    synonyms: list[DescribeConfigsSynonym] = field(default_factory=list)
    config_type: int = 0
    documentation: str | None = ""


@dataclass(slots=True, kw_only=True)
class DescribeConfigsResult(Entry):
    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str
    configs: list[DescribeConfigsResourceResult]


@dataclass(slots=True, kw_only=True)
class DescribeConfigsResponse(Response):
    """Their values, and where those come from."""

    API_KEY = 32
    throttle_time_ms: int
    results: list[DescribeConfigsResult]


def _encode_describe_configs_resource_result_v0(m: DescribeConfigsResourceResult, write: Write) -> None:
    write(plain_string(m.name))
    if m.value is None:
        write(NULL_STRING)
    else:
        write(plain_string(m.value))
    write(_ttt.pack(m.read_only, m.is_default, m.is_sensitive))


def _decode_describe_configs_resource_result_v0(data: bytes, at: int) -> tuple[DescribeConfigsResourceResult, int]:
    m = object.__new__(DescribeConfigsResourceResult)
    m.encoded = None
    m.config_source = -1
    m.synonyms = []
    m.config_type = 0
    m.documentation = ""
    m.name, at = read_plain_string(data, at)
    m.value, at = read_plain_nullable(NULL_STRING, read_plain_string, data, at)
    m.read_only, m.is_default, m.is_sensitive = _ttt.unpack_from(data, at)
    at += 3
    return m, at


def _encode_describe_configs_result_v0(m: DescribeConfigsResult, write: Write) -> None:
    write(_h.pack(m.error_code))
    if m.error_message is None:
        write(NULL_STRING)
    else:
        write(plain_string(m.error_message))
    write(_b.pack(m.resource_type))
    write(plain_string(m.resource_name))
    write_plain_array(m.configs, _encode_describe_configs_resource_result_v0, write)


def _decode_describe_configs_result_v0(data: bytes, at: int) -> tuple[DescribeConfigsResult, int]:
    m = object.__new__(DescribeConfigsResult)
    m.encoded = None
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.error_message, at = read_plain_nullable(NULL_STRING, read_plain_string, data, at)
    (m.resource_type,) = _b.unpack_from(data, at)
    at += 1
    m.resource_name, at = read_plain_string(data, at)
    m.configs, at = read_plain_array(_decode_describe_configs_resource_result_v0, data, at)
    return m, at


def _encode_describe_configs_response_v0(m: DescribeConfigsResponse, write: Write) -> None:
    write(_i.pack(m.throttle_time_ms))
    write_plain_array(m.results, _encode_describe_configs_result_v0, write)


def _decode_describe_configs_response_v0(data: bytes, at: int) -> tuple[DescribeConfigsResponse, int]:
    m = object.__new__(DescribeConfigsResponse)
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    m.results, at = read_plain_array(_decode_describe_configs_result_v0, data, at)
    return m, at


def _encode_describe_configs_synonym_v1(m: DescribeConfigsSynonym, write: Write) -> None:
    write(plain_string(m.name))
    if m.value is None:
        write(NULL_STRING)
    else:
        write(plain_string(m.value))
    write(_b.pack(m.source))


def _decode_describe_configs_synonym_v1(data: bytes, at: int) -> tuple[DescribeConfigsSynonym, int]:
    m = object.__new__(DescribeConfigsSynonym)
    m.encoded = None
    m.name, at = read_plain_string(data, at)
    m.value, at = read_plain_nullable(NULL_STRING, read_plain_string, data, at)
    (m.source,) = _b.unpack_from(data, at)
    at += 1
    return m, at


def _encode_describe_configs_resource_result_v1(m: DescribeConfigsResourceResult, write: Write) -> None:
    write(plain_string(m.name))
    if m.value is None:
        write(NULL_STRING)
    else:
        write(plain_string(m.value))
    write(_tbt.pack(m.read_only, m.config_source, m.is_sensitive))
    write_plain_array(m.synonyms, _encode_describe_configs_synonym_v1, write)


def _decode_describe_configs_resource_result_v1(data: bytes, at: int) -> tuple[DescribeConfigsResourceResult, int]:
    m = object.__new__(DescribeConfigsResourceResult)
    m.encoded = None
    m.is_default = False
    m.config_type = 0
    m.documentation = ""
    m.name, at = read_plain_string(data, at)
    m.value, at = read_plain_nullable(NULL_STRING, read_plain_string, data, at)
    m.read_only, m.config_source, m.is_sensitive = _tbt.unpack_from(data, at)
    at += 3
    m.synonyms, at = read_plain_array(_decode_describe_configs_synonym_v1, data, at)
    return m, at


def _encode_describe_configs_result_v1(m: DescribeConfigsResult, write: Write) -> None:
    write(_h.pack(m.error_code))
    if m.error_message is None:
        write(NULL_STRING)
    else:
        write(plain_string(m.error_message))
    write(_b.pack(m.resource_type))
    write(plain_string(m.resource_name))
    write_plain_array(m.configs, _encode_describe_configs_resource_result_v1, write)


def _decode_describe_configs_result_v1(data: bytes, at: int) -> tuple[DescribeConfigsResult, int]:
    m = object.__new__(DescribeConfigsResult)
    m.encoded = None
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.error_message, at = read_plain_nullable(NULL_STRING, read_plain_string, data, at)
    (m.resource_type,) = _b.unpack_from(data, at)
    at += 1
    m.resource_name, at = read_plain_string(data, at)
    m.configs, at = read_plain_array(_decode_describe_configs_resource_result_v1, data, at)
    return m, at


def _encode_describe_configs_response_v1(m: DescribeConfigsResponse, write: Write) -> None:
    write(_i.pack(m.throttle_time_ms))
    write_plain_array(m.results, _encode_describe_configs_result_v1, write)


def _decode_describe_configs_response_v1(data: bytes, at: int) -> tuple[DescribeConfigsResponse, int]:
    m = object.__new__(DescribeConfigsResponse)
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    m.results, at = read_plain_array(_decode_describe_configs_result_v1, data, at)
    return m, at


def _encode_describe_configs_resource_result_v3(m: DescribeConfigsResourceResult, write: Write) -> None:
    write(plain_string(m.name))
    if m.value is None:
        write(NULL_STRING)
    else:
        write(plain_string(m.value))
    write(_tbt.pack(m.read_only, m.config_source, m.is_sensitive))
    write_plain_array(m.synonyms, _encode_describe_configs_synonym_v1, write)
    write(_b.pack(m.config_type))
    if m.documentation is None:
        write(NULL_STRING)
    else:
        write(plain_string(m.documentation))


def _decode_describe_configs_resource_result_v3(data: bytes, at: int) -> tuple[DescribeConfigsResourceResult, int]:
    m = object.__new__(DescribeConfigsResourceResult)
    m.encoded = None
    m.is_default = False
    m.name, at = read_plain_string(data, at)
    m.value, at = read_plain_nullable(NULL_STRING, read_plain_string, data, at)
    m.read_only, m.config_source, m.is_sensitive = _tbt.unpack_from(data, at)
    at += 3
    m.synonyms, at = read_plain_array(_decode_describe_configs_synonym_v1, data, at)
    (m.config_type,) = _b.unpack_from(data, at)
    at += 1
    m.documentation, at = read_plain_nullable(NULL_STRING, read_plain_string, data, at)
    return m, at


def _encode_describe_configs_result_v3(m: DescribeConfigsResult, write: Write) -> None:
    write(_h.pack(m.error_code))
    if m.error_message is None:
        write(NULL_STRING)
    else:
        write(plain_string(m.error_message))
    write(_b.pack(m.resource_type))
    write(plain_string(m.resource_name))
    write_plain_array(m.configs, _encode_describe_configs_resource_result_v3, write)


def _decode_describe_configs_result_v3(data: bytes, at: int) -> tuple[DescribeConfigsResult, int]:
    m = object.__new__(DescribeConfigsResult)
    m.encoded = None
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.error_message, at = read_plain_nullable(NULL_STRING, read_plain_string, data, at)
    (m.resource_type,) = _b.unpack_from(data, at)
    at += 1
    m.resource_name, at = read_plain_string(data, at)
    m.configs, at = read_plain_array(_decode_describe_configs_resource_result_v3, data, at)
    return m, at


def _encode_describe_configs_response_v3(m: DescribeConfigsResponse, write: Write) -> None:
    write(_i.pack(m.throttle_time_ms))
    write_plain_array(m.results, _encode_describe_configs_result_v3, write)


def _decode_describe_configs_response_v3(data: bytes, at: int) -> tuple[DescribeConfigsResponse, int]:
    m = object.__new__(DescribeConfigsResponse)
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    m.results, at = read_plain_array(_decode_describe_configs_result_v3, data, at)
    return m, at


def _encode_describe_configs_synonym_v4(m: DescribeConfigsSynonym, write: Write) -> None:
    write(string(m.name))
    if m.value is None:
        write(NULL)
    else:
        write(string(m.value))
    write(_bB.pack(m.source, 0))


def _decode_describe_configs_synonym_v4(data: bytes, at: int) -> tuple[DescribeConfigsSynonym, int]:
    m = object.__new__(DescribeConfigsSynonym)
    m.encoded = None
    m.name, at = read_string(data, at)
    m.value, at = read_nullable(read_string, data, at)
    m.source, tags = _bB.unpack_from(data, at)
    at = at + 2 if tags == 0 else skip_tagged_fields(data, at + 1)
    return m, at


def _encode_describe_configs_resource_result_v4(m: DescribeConfigsResourceResult, write: Write) -> None:
    write(string(m.name))
    if m.value is None:
        write(NULL)
    else:
        write(string(m.value))
    write(_tbt.pack(m.read_only, m.config_source, m.is_sensitive))
    write_array(m.synonyms, _encode_describe_configs_synonym_v4, write)
    write(_b.pack(m.config_type))
    if m.documentation is None:
        write(NULL)
    else:
        write(string(m.documentation))
    write(NO_TAGS)


def _decode_describe_configs_resource_result_v4(data: bytes, at: int) -> tuple[DescribeConfigsResourceResult, int]:
    m = object.__new__(DescribeConfigsResourceResult)
    m.encoded = None
    m.is_default = False
    m.name, at = read_string(data, at)
    m.value, at = read_nullable(read_string, data, at)
    m.read_only, m.config_source, m.is_sensitive = _tbt.unpack_from(data, at)
    at += 3
    m.synonyms, at = read_array(_decode_describe_configs_synonym_v4, data, at)
    (m.config_type,) = _b.unpack_from(data, at)
    at += 1
    m.documentation, at = read_nullable(read_string, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_describe_configs_result_v4(m: DescribeConfigsResult, write: Write) -> None:
    write(_h.pack(m.error_code))
    if m.error_message is None:
        write(NULL)
    else:
        write(string(m.error_message))
    write(_b.pack(m.resource_type))
    write(string(m.resource_name))
    write_array(m.configs, _encode_describe_configs_resource_result_v4, write)
    write(NO_TAGS)


def _decode_describe_configs_result_v4(data: bytes, at: int) -> tuple[DescribeConfigsResult, int]:
    m = object.__new__(DescribeConfigsResult)
    m.encoded = None
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.error_message, at = read_nullable(read_string, data, at)
    (m.resource_type,) = _b.unpack_from(data, at)
    at += 1
    m.resource_name, at = read_string(data, at)
    m.configs, at = read_array(_decode_describe_configs_resource_result_v4, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_describe_configs_response_v4(m: DescribeConfigsResponse, write: Write) -> None:
    write(_i.pack(m.throttle_time_ms))
    write_array(m.results, _encode_describe_configs_result_v4, write)
    write(NO_TAGS)


def _decode_describe_configs_response_v4(data: bytes, at: int) -> tuple[DescribeConfigsResponse, int]:
    m = object.__new__(DescribeConfigsResponse)
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    m.results, at = read_array(_decode_describe_configs_result_v4, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


DescribeConfigsSynonym.LAYOUTS = {
    1: Layout(_encode_describe_configs_synonym_v1, _decode_describe_configs_synonym_v1),
    2: Layout(_encode_describe_configs_synonym_v1, _decode_describe_configs_synonym_v1),
    3: Layout(_encode_describe_configs_synonym_v1, _decode_describe_configs_synonym_v1),
    4: Layout(_encode_describe_configs_synonym_v4, _decode_describe_configs_synonym_v4),
}
DescribeConfigsResourceResult.LAYOUTS = {
    0: Layout(_encode_describe_configs_resource_result_v0, _decode_describe_configs_resource_result_v0),
    1: Layout(_encode_describe_configs_resource_result_v1, _decode_describe_configs_resource_result_v1),
    2: Layout(_encode_describe_configs_resource_result_v1, _decode_describe_configs_resource_result_v1),
    3: Layout(_encode_describe_configs_resource_result_v3, _decode_describe_configs_resource_result_v3),
    4: Layout(_encode_describe_configs_resource_result_v4, _decode_describe_configs_resource_result_v4),
}
DescribeConfigsResult.LAYOUTS = {
    0: Layout(_encode_describe_configs_result_v0, _decode_describe_configs_result_v0),
    1: Layout(_encode_describe_configs_result_v1, _decode_describe_configs_result_v1),
    2: Layout(_encode_describe_configs_result_v1, _decode_describe_configs_result_v1),
    3: Layout(_encode_describe_configs_result_v3, _decode_describe_configs_result_v3),
    4: Layout(_encode_describe_configs_result_v4, _decode_describe_configs_result_v4),
}
DescribeConfigsResponse.LAYOUTS = {
    0: Layout(_encode_describe_configs_response_v0, _decode_describe_configs_response_v0),
    1: Layout(_encode_describe_configs_response_v1, _decode_describe_configs_response_v1),
    2: Layout(_encode_describe_configs_response_v1, _decode_describe_configs_response_v1),
    3: Layout(_encode_describe_configs_response_v3, _decode_describe_configs_response_v3),
    4: Layout(_encode_describe_configs_response_v4, _decode_describe_configs_response_v4),
}
