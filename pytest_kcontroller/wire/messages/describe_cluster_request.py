# Generated from wire/schemas by `make generated`: edit those.
"""DescribeClusterRequest of API 60."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from pytest_kcontroller.wire.message import Layout, Request, Write
from pytest_kcontroller.wire.messages.describe_cluster_response import DescribeClusterResponse
from pytest_kcontroller.wire.primitives import skip_tagged_fields

_tB = Struct(">?B")
_tbB = Struct(">?bB")


@dataclass(slots=True, kw_only=True)
class DescribeClusterRequest(Request[DescribeClusterResponse]):
    """Client to broker: who is there."""

    API_KEY = 60
    include_cluster_authorized_operations: bool
    endpoint_type: int = 1


def _encode_describe_cluster_request_v0(m: DescribeClusterRequest, write: Write) -> None:
    write(_tB.pack(m.include_cluster_authorized_operations, 0))


def _decode_describe_cluster_request_v0(data: bytes, at: int) -> tuple[DescribeClusterRequest, int]:
    m = object.__new__(DescribeClusterRequest)
    m.endpoint_type = 1
    m.include_cluster_authorized_operations, tags = _tB.unpack_from(data, at)
    at = at + 2 if tags == 0 else skip_tagged_fields(data, at + 1)
    return m, at


def _encode_describe_cluster_request_v1(m: DescribeClusterRequest, write: Write) -> None:
    write(_tbB.pack(m.include_cluster_authorized_operations, m.endpoint_type, 0))


def _decode_describe_cluster_request_v1(data: bytes, at: int) -> tuple[DescribeClusterRequest, int]:
    m = object.__new__(DescribeClusterRequest)
    m.include_cluster_authorized_operations, m.endpoint_type, tags = _tbB.unpack_from(data, at)
    at = at + 3 if tags == 0 else skip_tagged_fields(data, at + 2)
    return m, at


DescribeClusterRequest.LAYOUTS = {
    0: Layout(_encode_describe_cluster_request_v0, _decode_describe_cluster_request_v0),
    1: Layout(_encode_describe_cluster_request_v1, _decode_describe_cluster_request_v1),
}
