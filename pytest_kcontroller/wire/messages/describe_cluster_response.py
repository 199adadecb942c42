# Generated from wire/schemas by `make generated`: edit those.
"""DescribeClusterResponse of API 60."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Response, Write
from pytest_kcontroller.wire.primitives import (
    NO_TAGS,
    NULL,
    read_array,
    read_nullable,
    read_string,
    skip_tagged_fields,
    string,
    write_array,
    write_older_array,
)

_b = Struct(">b")
_i = Struct(">i")
_iB = Struct(">iB")
_ih = Struct(">ih")


@dataclass(slots=True, kw_only=True)
class DescribeClusterBroker(Entry):
    broker_id: int
    host: str
    port: int
    rack: str | None = None


@dataclass(slots=True, kw_only=True)
class DescribeClusterResponse(Response):
    """Brokers and controller, as the broker was told."""

    API_KEY = 60
    throttle_time_ms: int
    error_code: int
    error_message: str | None = None
    endpoint_type: int = 1
    cluster_id: str
    controller_id: int = -1
    brokers: list[DescribeClusterBroker]
    cluster_authorized_operations: int = -2147483648


def _encode_describe_cluster_broker_v0(m: DescribeClusterBroker, write: Write) -> None:
    write(_i.pack(m.broker_id))
    write(string(m.host))
    write(_i.pack(m.port))
    if m.rack is None:
        write(NULL)
    else:
        write(string(m.rack))
    write(NO_TAGS)


def _decode_describe_cluster_broker_v0(data: bytes, at: int) -> tuple[DescribeClusterBroker, int]:
    m = object.__new__(DescribeClusterBroker)
    m.encoded = None
    (m.broker_id,) = _i.unpack_from(data, at)
    at += 4
    m.host, at = read_string(data, at)
    (m.port,) = _i.unpack_from(data, at)
    at += 4
    m.rack, at = read_nullable(read_string, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_describe_cluster_response_v0(m: DescribeClusterResponse, write: Write) -> None:
    write(_ih.pack(m.throttle_time_ms, m.error_code))
    if m.error_message is None:
        write(NULL)
    else:
        write(string(m.error_message))
    write(string(m.cluster_id))
    write(_i.pack(m.controller_id))
    write_older_array(m.brokers, _encode_describe_cluster_broker_v0, write)
    write(_iB.pack(m.cluster_authorized_operations, 0))


def _decode_describe_cluster_response_v0(data: bytes, at: int) -> tuple[DescribeClusterResponse, int]:
    m = object.__new__(DescribeClusterResponse)
    m.endpoint_type = 1
    m.throttle_time_ms, m.error_code = _ih.unpack_from(data, at)
    at += 6
    m.error_message, at = read_nullable(read_string, data, at)
    m.cluster_id, at = read_string(data, at)
    (m.controller_id,) = _i.unpack_from(data, at)
    at += 4
    m.brokers, at = read_array(_decode_describe_cluster_broker_v0, data, at)
    m.cluster_authorized_operations, tags = _iB.unpack_from(data, at)
    at = at + 5 if tags == 0 else skip_tagged_fields(data, at + 4)
    return m, at


def _encode_describe_cluster_response_v1(m: DescribeClusterResponse, write: Write) -> None:
    write(_ih.pack(m.throttle_time_ms, m.error_code))
    if m.error_message is None:
        write(NULL)
    else:
        write(string(m.error_message))
    write(_b.pack(m.endpoint_type))
    write(string(m.cluster_id))
    write(_i.pack(m.controller_id))
    write_array(m.brokers, _encode_describe_cluster_broker_v0, write)
    write(_iB.pack(m.cluster_authorized_operations, 0))


def _decode_describe_cluster_response_v1(data: bytes, at: int) -> tuple[DescribeClusterResponse, int]:
    m = object.__new__(DescribeClusterResponse)
    m.throttle_time_ms, m.error_code = _ih.unpack_from(data, at)
    at += 6
    m.error_message, at = read_nullable(read_string, data, at)
    (m.endpoint_type,) = _b.unpack_from(data, at)
    at += 1
    m.cluster_id, at = read_string(data, at)
    (m.controller_id,) = _i.unpack_from(data, at)
    at += 4
    m.brokers, at = read_array(_decode_describe_cluster_broker_v0, data, at)
    m.cluster_authorized_operations, tags = _iB.unpack_from(data, at)
    at = at + 5 if tags == 0 else skip_tagged_fields(data, at + 4)
    return m, at


DescribeClusterBroker.LAYOUTS = {
    0: Layout(_encode_describe_cluster_broker_v0, _decode_describe_cluster_broker_v0),
    1: Layout(_encode_describe_cluster_broker_v0, _decode_describe_cluster_broker_v0),
}
DescribeClusterResponse.LAYOUTS = {
    0: Layout(_encode_describe_cluster_response_v0, _decode_describe_cluster_response_v0),
    1: Layout(_encode_describe_cluster_response_v1, _decode_describe_cluster_response_v1),
}
