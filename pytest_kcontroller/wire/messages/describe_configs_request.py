# Generated from wire/schemas by `make generated`: edit those.
"""DescribeConfigsRequest of API 32."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Request, Write
from pytest_kcontroller.wire.messages.describe_configs_response import DescribeConfigsResponse
from pytest_kcontroller.wire.primitives import (
    NO_TAGS,
    NULL,
    NULL_LENGTH,
    plain_string,
    plain_strings,
    read_array,
    read_nullable,
    read_plain_array,
    read_plain_nullable,
    read_plain_string,
    read_string,
    skip_tagged_fields,
    string,
    strings,
    write_array,
    write_plain_array,
)

_b = Struct(">b")
_t = Struct(">?")
_tt = Struct(">??")
_ttB = Struct(">??B")


@dataclass(slots=True, kw_only=True)
class DescribeConfigsResource(Entry):
    resource_type: int
    resource_name: str
    configuration_keys: list[str] | None


@dataclass(slots=True, kw_only=True)
class DescribeConfigsRequest(Request[DescribeConfigsResponse]):
    """Client to broker: the settings of these topics and brokers."""

    API_KEY = 32
    resources: list[DescribeConfigsResource]
    include_synonyms: bool = False
    include_documentation: bool = False


def _encode_describe_configs_resource_v0(m: DescribeConfigsResource, write: Write) -> None:
    write(_b.pack(m.resource_type))
    write(plain_string(m.resource_name))
    if m.configuration_keys is None:
        write(NULL_LENGTH)
    else:
        write(plain_strings(m.configuration_keys))


def _decode_describe_configs_resource_v0(data: bytes, at: int) -> tuple[DescribeConfigsResource, int]:
    m = object.__new__(DescribeConfigsResource)
    m.encoded = None
    (m.resource_type,) = _b.unpack_from(data, at)
    at += 1
    m.resource_name, at = read_plain_string(data, at)
    m.configuration_keys, at = read_plain_nullable(
        NULL_LENGTH,
        lambda data, at: read_plain_array(read_plain_string, data, at),
        data,
        at,
    )
    return m, at


def _encode_describe_configs_request_v0(m: DescribeConfigsRequest, write: Write) -> None:
    write_plain_array(m.resources, _encode_describe_configs_resource_v0, write)


def _decode_describe_configs_request_v0(data: bytes, at: int) -> tuple[DescribeConfigsRequest, int]:
    m = object.__new__(DescribeConfigsRequest)
    m.include_synonyms = False
    m.include_documentation = False
    m.resources, at = read_plain_array(_decode_describe_configs_resource_v0, data, at)
    return m, at


def _encode_describe_configs_request_v1(m: DescribeConfigsRequest, write: Write) -> None:
    write_plain_array(m.resources, _encode_describe_configs_resource_v0, write)
    write(_t.pack(m.include_synonyms))


def _decode_describe_configs_request_v1(data: bytes, at: int) -> tuple[DescribeConfigsRequest, int]:
    m = object.__new__(DescribeConfigsRequest)
    m.include_documentation = False
    m.resources, at = read_plain_array(_decode_describe_configs_resource_v0, data, at)
    (m.include_synonyms,) = _t.unpack_from(data, at)
    at += 1
    return m, at


def _encode_describe_configs_request_v3(m: DescribeConfigsRequest, write: Write) -> None:
    write_plain_array(m.resources, _encode_describe_configs_resource_v0, write)
    write(_tt.pack(m.include_synonyms, m.include_documentation))


def _decode_describe_configs_request_v3(data: bytes, at: int) -> tuple[DescribeConfigsRequest, int]:
    m = object.__new__(DescribeConfigsRequest)
    m.resources, at = read_plain_array(_decode_describe_configs_resource_v0, data, at)
    m.include_synonyms, m.include_documentation = _tt.unpack_from(data, at)
    at += 2
    return m, at


def _encode_describe_configs_resource_v4(m: DescribeConfigsResource, write: Write) -> None:
    write(_b.pack(m.resource_type))
    write(string(m.resource_name))
    if m.configuration_keys is None:
        write(NULL)
    else:
        write(strings(m.configuration_keys))
    write(NO_TAGS)


def _decode_describe_configs_resource_v4(data: bytes, at: int) -> tuple[DescribeConfigsResource, int]:
    m = object.__new__(DescribeConfigsResource)
    m.encoded = None
    (m.resource_type,) = _b.unpack_from(data, at)
    at += 1
    m.resource_name, at = read_string(data, at)
    m.configuration_keys, at = read_nullable(lambda data, at: read_array(read_string, data, at), data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_describe_configs_request_v4(m: DescribeConfigsRequest, write: Write) -> None:
    write_array(m.resources, _encode_describe_configs_resource_v4, write)
    write(_ttB.pack(m.include_synonyms, m.include_documentation, 0))


def _decode_describe_configs_request_v4(data: bytes, at: int) -> tuple[DescribeConfigsRequest, int]:
    m = object.__new__(DescribeConfigsRequest)
    m.resources, at = read_array(_decode_describe_configs_resource_v4, data, at)
    m.include_synonyms, m.include_documentation, tags = _ttB.unpack_from(data, at)
    at = at + 3 if tags == 0 else skip_tagged_fields(data, at + 2)
    return m, at


DescribeConfigsResource.LAYOUTS = {
    0: Layout(_encode_describe_configs_resource_v0, _decode_describe_configs_resource_v0),
    1: Layout(_encode_describe_configs_resource_v0, _decode_describe_configs_resource_v0),
    2: Layout(_encode_describe_configs_resource_v0, _decode_describe_configs_resource_v0),
    3: Layout(_encode_describe_configs_resource_v0, _decode_describe_configs_resource_v0),
    4: Layout(_encode_describe_configs_resource_v4, _decode_describe_configs_resource_v4),
}
DescribeConfigsRequest.LAYOUTS = {
    0: Layout(_encode_describe_configs_request_v0, _decode_describe_configs_request_v0),
    1: Layout(_encode_describe_configs_request_v1, _decode_describe_configs_request_v1),
    2: Layout(_encode_describe_configs_request_v1, _decode_describe_configs_request_v1),
    3: Layout(_encode_describe_configs_request_v3, _decode_describe_configs_request_v3),
    4: Layout(_encode_describe_configs_request_v4, _decode_describe_configs_request_v4),
}
