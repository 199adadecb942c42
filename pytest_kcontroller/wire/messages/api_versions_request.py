# Generated from wire/schemas by `make generated`: edit those.
"""ApiVersionsRequest of API 18."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_kcontroller.wire.message import Layout, Request, Write
from pytest_kcontroller.wire.messages.api_versions_response import ApiVersionsResponse
from pytest_kcontroller.wire.primitives import NO_TAGS, read_string, skip_tagged_fields, string


@dataclass(slots=True, kw_only=True)
class ApiVersionsRequest(Request[ApiVersionsResponse]):
    """Anybody to anybody: which requests do you serve?"""

    API_KEY = 18
    client_software_name: str = ""
    client_software_version: str = ""


def _encode_api_versions_request_v0(m: ApiVersionsRequest, write: Write) -> None:
    return


def _decode_api_versions_request_v0(data: bytes, at: int) -> tuple[ApiVersionsRequest, int]:
    m = object.__new__(ApiVersionsRequest)
    m.client_software_name = ""
    m.client_software_version = ""
    return m, at


def _encode_api_versions_request_v3(m: ApiVersionsRequest, write: Write) -> None:
    write(string(m.client_software_name))
    write(string(m.client_software_version))
    write(NO_TAGS)


def _decode_api_versions_request_v3(data: bytes, at: int) -> tuple[ApiVersionsRequest, int]:
    m = object.__new__(ApiVersionsRequest)
    m.client_software_name, at = read_string(data, at)
    m.client_software_version, at = read_string(data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


ApiVersionsRequest.LAYOUTS = {
    0: Layout(_encode_api_versions_request_v0, _decode_api_versions_request_v0),
    1: Layout(_encode_api_versions_request_v0, _decode_api_versions_request_v0),
    2: Layout(_encode_api_versions_request_v0, _decode_api_versions_request_v0),
    3: Layout(_encode_api_versions_request_v3, _decode_api_versions_request_v3),
    4: Layout(_encode_api_versions_request_v3, _decode_api_versions_request_v3),
}
