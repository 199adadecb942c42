# Generated from wire/schemas by `make generated`: edit those.
"""IncrementalAlterConfigsRequest of API 44."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Request, Write
from pytest_kcontroller.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
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
_t = Struct(">?")
_tB = Struct(">?B")


@dataclass(slots=True, kw_only=True)
class AlterableConfig(Entry):
    name: str
    config_operation: int
    value: str | None


@dataclass(slots=True, kw_only=True)
class AlterConfigsResource(Entry):
    resource_type: int
    resource_name: str
    configs: list[AlterableConfig]


@dataclass(slots=True, kw_only=True)
class IncrementalAlterConfigsRequest(Request[IncrementalAlterConfigsResponse]):
    """Client to broker: change these settings."""

    API_KEY = 44
    resources: list[AlterConfigsResource]
    validate_only: bool


def _encode_alterable_config_v0(m: AlterableConfig, write: Write) -> None:
    write(plain_string(m.name))
    write(_b.pack(m.config_operation))
    if m.value is None:
        write(NULL_STRING)
    else:
        write(plain_string(m.value))


def _decode_alterable_config_v0(data: bytes, at: int) -> tuple[AlterableConfig, int]:
    m = object.__new__(AlterableConfig)
    m.encoded = None
    m.name, at = read_plain_string(data, at)
    (m.config_operation,) = _b.unpack_from(data, at)
    at += 1
    m.value, at = read_plain_nullable(NULL_STRING, read_plain_string, data, at)
    return m, at


def _encode_alter_configs_resource_v0(m: AlterConfigsResource, write: Write) -> None:
    write(_b.pack(m.resource_type))
    write(plain_string(m.resource_name))
    write_plain_array(m.configs, _encode_alterable_config_v0, write)


def _decode_alter_configs_resource_v0(data: bytes, at: int) -> tuple[AlterConfigsResource, int]:
    m = object.__new__(AlterConfigsResource)
    m.encoded = None
    (m.resource_type,) = _b.unpack_from(data, at)
    at += 1
    m.resource_name, at = read_plain_string(data, at)
    m.configs, at = read_plain_array(_decode_alterable_config_v0, data, at)
    return m, at


def _encode_incremental_alter_configs_request_v0(m: IncrementalAlterConfigsRequest, write: Write) -> None:
    write_plain_array(m.resources, _encode_alter_configs_resource_v0, write)
    write(_t.pack(m.validate_only))


def _decode_incremental_alter_configs_request_v0(data: bytes, at: int) -> tuple[IncrementalAlterConfigsRequest, int]:
    m = object.__new__(IncrementalAlterConfigsRequest)
    m.resources, at = read_plain_array(_decode_alter_configs_resource_v0, data, at)
    (m.validate_only,) = _t.unpack_from(data, at)
    at += 1
    return m, at


def _encode_alterable_config_v1(m: AlterableConfig, write: Write) -> None:
    write(string(m.name))
    write(_b.pack(m.config_operation))
    if m.value is None:
        write(NULL)
    else:
        write(string(m.value))
    write(NO_TAGS)


def _decode_alterable_config_v1(data: bytes, at: int) -> tuple[AlterableConfig, int]:
    m = object.__new__(AlterableConfig)
    m.encoded = None
    m.name, at = read_string(data, at)
    (m.config_operation,) = _b.unpack_from(data, at)
    at += 1
    m.value, at = read_nullable(read_string, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_alter_configs_resource_v1(m: AlterConfigsResource, write: Write) -> None:
    write(_b.pack(m.resource_type))
    write(string(m.resource_name))
    write_array(m.configs, _encode_alterable_config_v1, write)
    write(NO_TAGS)


def _decode_alter_configs_resource_v1(data: bytes, at: int) -> tuple[AlterConfigsResource, int]:
    m = object.__new__(AlterConfigsResource)
    m.encoded = None
    (m.resource_type,) = _b.unpack_from(data, at)
    at += 1
    m.resource_name, at = read_string(data, at)
    m.configs, at = read_array(_decode_alterable_config_v1, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_incremental_alter_configs_request_v1(m: IncrementalAlterConfigsRequest, write: Write) -> None:
    write_array(m.resources, _encode_alter_configs_resource_v1, write)
    write(_tB.pack(m.validate_only, 0))


def _decode_incremental_alter_configs_request_v1(data: bytes, at: int) -> tuple[IncrementalAlterConfigsRequest, int]:
    m = object.__new__(IncrementalAlterConfigsRequest)
    m.resources, at = read_array(_decode_alter_configs_resource_v1, data, at)
    m.validate_only, tags = _tB.unpack_from(data, at)
    at = at + 2 if tags == 0 else skip_tagged_fields(data, at + 1)
    return m, at


AlterableConfig.LAYOUTS = {
    0: Layout(_encode_alterable_config_v0, _decode_alterable_config_v0),
    1: Layout(_encode_alterable_config_v1, _decode_alterable_config_v1),
}
AlterConfigsResource.LAYOUTS = {
    0: Layout(_encode_alter_configs_resource_v0, _decode_alter_configs_resource_v0),
    1: Layout(_encode_alter_configs_resource_v1, _decode_alter_configs_resource_v1),
}
IncrementalAlterConfigsRequest.LAYOUTS = {
    0: Layout(_encode_incremental_alter_configs_request_v0, _decode_incremental_alter_configs_request_v0),
    1: Layout(_encode_incremental_alter_configs_request_v1, _decode_incremental_alter_configs_request_v1),
}
