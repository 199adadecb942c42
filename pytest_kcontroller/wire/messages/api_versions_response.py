# Generated from wire/schemas by `make generated`: edit those.
"""ApiVersionsResponse of API 18."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Response, Write
from pytest_kcontroller.wire.primitives import (
    joined,
    read_array,
    read_plain_array,
    read_string,
    read_tagged_fields,
    skip_tagged_fields,
    string,
    tagged_fields,
    write_array,
    write_plain_array,
)

_h = Struct(">h")
_hhB = Struct(">hhB")
_hhh = Struct(">hhh")
_hhhB = Struct(">hhhB")
_i = Struct(">i")
_q = Struct(">q")
_t = Struct(">?")


@dataclass(slots=True, kw_only=True)
class ApiVersion(Entry):
    api_key: int
    min_version: int
    max_version: int


@dataclass(slots=True, kw_only=True)
class SupportedFeatureKey(Entry):
    name: str = ""
    min_version: int = 0
    max_version: int = 0


@dataclass(slots=True, kw_only=True)
class FinalizedFeatureKey(Entry):
    name: str = ""
    max_version_level: int = 0
    min_version_level: int = 0


@dataclass(slots=True, kw_only=True)
class ApiVersionsResponse(Response):
    """The APIs that are served, with their versions."""

    API_KEY = 18
    error_code: int
    api_keys: list[ApiVersion]
    throttle_time_ms: int = 0
    supported_features: list[SupportedFeatureKey] = field(default_factory=list)
    finalized_features_epoch: int = -1
    finalized_features: list[FinalizedFeatureKey] = field(default_factory=list)
    zk_migration_ready: bool = False


def _encode_api_version_v0(m: ApiVersion, write: Write) -> None:
    write(_hhh.pack(m.api_key, m.min_version, m.max_version))


def _decode_api_version_v0(data: bytes, at: int) -> tuple[ApiVersion, int]:
    m = object.__new__(ApiVersion)
    m.encoded = None
    m.api_key, m.min_version, m.max_version = _hhh.unpack_from(data, at)
    at += 6
    return m, at


def _encode_api_versions_response_v0(m: ApiVersionsResponse, write: Write) -> None:
    write(_h.pack(m.error_code))
    write_plain_array(m.api_keys, _encode_api_version_v0, write)


def _decode_api_versions_response_v0(data: bytes, at: int) -> tuple[ApiVersionsResponse, int]:
    m = object.__new__(ApiVersionsResponse)
    m.throttle_time_ms = 0
    m.supported_features = []
    m.finalized_features_epoch = -1
    m.finalized_features = []
    m.zk_migration_ready = False
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.api_keys, at = read_plain_array(_decode_api_version_v0, data, at)
    return m, at


def _encode_api_versions_response_v1(m: ApiVersionsResponse, write: Write) -> None:
    write(_h.pack(m.error_code))
    write_plain_array(m.api_keys, _encode_api_version_v0, write)
    write(_i.pack(m.throttle_time_ms))


def _decode_api_versions_response_v1(data: bytes, at: int) -> tuple[ApiVersionsResponse, int]:
    m = object.__new__(ApiVersionsResponse)
    m.supported_features = []
    m.finalized_features_epoch = -1
    m.finalized_features = []
    m.zk_migration_ready = False
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.api_keys, at = read_plain_array(_decode_api_version_v0, data, at)
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    return m, at


def _encode_api_version_v3(m: ApiVersion, write: Write) -> None:
    write(_hhhB.pack(m.api_key, m.min_version, m.max_version, 0))


def _decode_api_version_v3(data: bytes, at: int) -> tuple[ApiVersion, int]:
    m = object.__new__(ApiVersion)
    m.encoded = None
    m.api_key, m.min_version, m.max_version, tags = _hhhB.unpack_from(data, at)
    at = at + 7 if tags == 0 else skip_tagged_fields(data, at + 6)
    return m, at


def _encode_supported_feature_key_v3(m: SupportedFeatureKey, write: Write) -> None:
    write(string(m.name))
    write(_hhB.pack(m.min_version, m.max_version, 0))


def _decode_supported_feature_key_v3(data: bytes, at: int) -> tuple[SupportedFeatureKey, int]:
    m = object.__new__(SupportedFeatureKey)
    m.encoded = None
    m.name, at = read_string(data, at)
    m.min_version, m.max_version, tags = _hhB.unpack_from(data, at)
    at = at + 5 if tags == 0 else skip_tagged_fields(data, at + 4)
    return m, at


def _encode_finalized_feature_key_v3(m: FinalizedFeatureKey, write: Write) -> None:
    write(string(m.name))
    write(_hhB.pack(m.max_version_level, m.min_version_level, 0))


def _decode_finalized_feature_key_v3(data: bytes, at: int) -> tuple[FinalizedFeatureKey, int]:
    m = object.__new__(FinalizedFeatureKey)
    m.encoded = None
    m.name, at = read_string(data, at)
    m.max_version_level, m.min_version_level, tags = _hhB.unpack_from(data, at)
    at = at + 5 if tags == 0 else skip_tagged_fields(data, at + 4)
    return m, at


def _encode_api_versions_response_v3(m: ApiVersionsResponse, write: Write) -> None:
    write(_h.pack(m.error_code))
    write_array(m.api_keys, _encode_api_version_v3, write)
    write(_i.pack(m.throttle_time_ms))
    tagged: dict[int, bytes] = {}
    if m.supported_features:
        tagged[0] = joined(lambda write: write_array(m.supported_features, _encode_supported_feature_key_v3, write))
    if m.finalized_features_epoch != -1:
        tagged[1] = _q.pack(m.finalized_features_epoch)
    if m.finalized_features:
        tagged[2] = joined(lambda write: write_array(m.finalized_features, _encode_finalized_feature_key_v3, write))
    if m.zk_migration_ready:
        tagged[3] = _t.pack(m.zk_migration_ready)
    write(tagged_fields(tagged))


def _decode_api_versions_response_v3(data: bytes, at: int) -> tuple[ApiVersionsResponse, int]:
    m = object.__new__(ApiVersionsResponse)
    m.supported_features = []
    m.finalized_features_epoch = -1
    m.finalized_features = []
    m.zk_migration_ready = False
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.api_keys, at = read_array(_decode_api_version_v3, data, at)
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    tagged, at = read_tagged_fields(data, at)
    if 0 in tagged:
        m.supported_features = read_array(_decode_supported_feature_key_v3, tagged[0], 0)[0]
    if 1 in tagged:
        (m.finalized_features_epoch,) = _q.unpack(tagged[1])
    if 2 in tagged:
        m.finalized_features = read_array(_decode_finalized_feature_key_v3, tagged[2], 0)[0]
    if 3 in tagged:
        (m.zk_migration_ready,) = _t.unpack(tagged[3])
    return m, at


ApiVersion.LAYOUTS = {
    0: Layout(_encode_api_version_v0, _decode_api_version_v0),
    1: Layout(_encode_api_version_v0, _decode_api_version_v0),
    2: Layout(_encode_api_version_v0, _decode_api_version_v0),
    3: Layout(_encode_api_version_v3, _decode_api_version_v3),
    4: Layout(_encode_api_version_v3, _decode_api_version_v3),
}
SupportedFeatureKey.LAYOUTS = {
    3: Layout(_encode_supported_feature_key_v3, _decode_supported_feature_key_v3),
    4: Layout(_encode_supported_feature_key_v3, _decode_supported_feature_key_v3),
}
FinalizedFeatureKey.LAYOUTS = {
    3: Layout(_encode_finalized_feature_key_v3, _decode_finalized_feature_key_v3),
    4: Layout(_encode_finalized_feature_key_v3, _decode_finalized_feature_key_v3),
}
ApiVersionsResponse.LAYOUTS = {
    0: Layout(_encode_api_versions_response_v0, _decode_api_versions_response_v0),
    1: Layout(_encode_api_versions_response_v1, _decode_api_versions_response_v1),
    2: Layout(_encode_api_versions_response_v1, _decode_api_versions_response_v1),
    3: Layout(_encode_api_versions_response_v3, _decode_api_versions_response_v3),
    4: Layout(_encode_api_versions_response_v3, _decode_api_versions_response_v3),
}
