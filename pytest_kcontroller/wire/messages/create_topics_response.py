# Generated from wire/schemas by `make generated`: edit those.
"""CreateTopicsResponse of API 19."""

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
    read_tagged_fields,
    skip_tagged_fields,
    string,
    tagged_fields,
    write_array,
    write_older_array,
    write_plain_array,
)

_h = Struct(">h")
_i = Struct(">i")
_ih = Struct(">ih")
_tbtB = Struct(">?b?B")
_uh = Struct(">16sh")


@dataclass(slots=True, kw_only=True)
class CreatableTopicConfigs(Entry):
    name: str = ""
    value: str | None = ""
    read_only: bool = False
    config_source: int = -1
    is_sensitive: bool = False


@dataclass(slots=True, kw_only=True)
class CreatableTopicResult(Entry):
    name: str
    topic_id: bytes = bytes(16)
    error_code: int
    error_message: str | None = None
    topic_config_error_code: int = 0
    num_partitions: int = -1
    replication_factor: int = -1
    configs: list[CreatableTopicConfigs] | None = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class CreateTopicsResponse(Response):
    """What was made of each topic."""

    API_KEY = 19
    throttle_time_ms: int = 0
    topics: list[CreatableTopicResult]


def _encode_creatable_topic_result_v0(m: CreatableTopicResult, write: Write) -> None:
    write(plain_string(m.name))
    write(_h.pack(m.error_code))


def _decode_creatable_topic_result_v0(data: bytes, at: int) -> tuple[CreatableTopicResult, int]:
    m = object.__new__(CreatableTopicResult)
    m.encoded = None
    m.topic_id = bytes(16)
    m.error_message = None
    m.topic_config_error_code = 0
    m.num_partitions = -1
    m.replication_factor = -1
    m.configs = []
    m.name, at = read_plain_string(data, at)
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    return m, at


def _encode_create_topics_response_v0(m: CreateTopicsResponse, write: Write) -> None:
    write_plain_array(m.topics, _encode_creatable_topic_result_v0, write)


def _decode_create_topics_response_v0(data: bytes, at: int) -> tuple[CreateTopicsResponse, int]:
    m = object.__new__(CreateTopicsResponse)
    m.throttle_time_ms = 0
    m.topics, at = read_plain_array(_decode_creatable_topic_result_v0, data, at)
    return m, at


def _encode_creatable_topic_result_v1(m: CreatableTopicResult, write: Write) -> None:
    write(plain_string(m.name))
    write(_h.pack(m.error_code))
    if m.error_message is None:
        write(NULL_STRING)
    else:
        write(plain_string(m.error_message))


def _decode_creatable_topic_result_v1(data: bytes, at: int) -> tuple[CreatableTopicResult, int]:
    m = object.__new__(CreatableTopicResult)
    m.encoded = None
    m.topic_id = bytes(16)
    m.topic_config_error_code = 0
    m.num_partitions = -1
    m.replication_factor = -1
    m.configs = []
    m.name, at = read_plain_string(data, at)
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.error_message, at = read_plain_nullable(NULL_STRING, read_plain_string, data, at)
    return m, at


def _encode_create_topics_response_v1(m: CreateTopicsResponse, write: Write) -> None:
    write_plain_array(m.topics, _encode_creatable_topic_result_v1, write)


def _decode_create_topics_response_v1(data: bytes, at: int) -> tuple[CreateTopicsResponse, int]:
    m = object.__new__(CreateTopicsResponse)
    m.throttle_time_ms = 0
    m.topics, at = read_plain_array(_decode_creatable_topic_result_v1, data, at)
    return m, at


def _encode_create_topics_response_v2(m: CreateTopicsResponse, write: Write) -> None:
    write(_i.pack(m.throttle_time_ms))
    write_plain_array(m.topics, _encode_creatable_topic_result_v1, write)


def _decode_create_topics_response_v2(data: bytes, at: int) -> tuple[CreateTopicsResponse, int]:
    m = object.__new__(CreateTopicsResponse)
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    m.topics, at = read_plain_array(_decode_creatable_topic_result_v1, data, at)
    return m, at


def _encode_creatable_topic_configs_v5(m: CreatableTopicConfigs, write: Write) -> None:
    write(string(m.name))
    if m.value is None:
        write(NULL)
    else:
        write(string(m.value))
    write(_tbtB.pack(m.read_only, m.config_source, m.is_sensitive, 0))


def _decode_creatable_topic_configs_v5(data: bytes, at: int) -> tuple[CreatableTopicConfigs, int]:
    m = object.__new__(CreatableTopicConfigs)
    m.encoded = None
    m.name, at = read_string(data, at)
    m.value, at = read_nullable(read_string, data, at)
    m.read_only, m.config_source, m.is_sensitive, tags = _tbtB.unpack_from(data, at)
    at = at + 4 if tags == 0 else skip_tagged_fields(data, at + 3)
    return m, at


def _encode_creatable_topic_result_v5(m: CreatableTopicResult, write: Write) -> None:
    write(string(m.name))
    write(_h.pack(m.error_code))
    if m.error_message is None:
        write(NULL)
    else:
        write(string(m.error_message))
    write(_ih.pack(m.num_partitions, m.replication_factor))
    if m.configs is None:
        write(NULL)
    else:
        write_older_array(m.configs, _encode_creatable_topic_configs_v5, write)
    tagged: dict[int, bytes] = {}
    if m.topic_config_error_code != 0:
        tagged[0] = _h.pack(m.topic_config_error_code)
    write(tagged_fields(tagged))


def _decode_creatable_topic_result_v5(data: bytes, at: int) -> tuple[CreatableTopicResult, int]:
    m = object.__new__(CreatableTopicResult)
    m.encoded = None
    m.topic_id = bytes(16)
    m.topic_config_error_code = 0
    m.name, at = read_string(data, at)
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.error_message, at = read_nullable(read_string, data, at)
    m.num_partitions, m.replication_factor = _ih.unpack_from(data, at)
    at += 6
    m.configs, at = read_nullable(lambda data, at: read_array(_decode_creatable_topic_configs_v5, data, at), data, at)
    tagged, at = read_tagged_fields(data, at)
    if 0 in tagged:
        (m.topic_config_error_code,) = _h.unpack(tagged[0])
    return m, at


def _encode_create_topics_response_v5(m: CreateTopicsResponse, write: Write) -> None:
    write(_i.pack(m.throttle_time_ms))
    write_older_array(m.topics, _encode_creatable_topic_result_v5, write)
    write(NO_TAGS)


def _decode_create_topics_response_v5(data: bytes, at: int) -> tuple[CreateTopicsResponse, int]:
    m = object.__new__(CreateTopicsResponse)
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    m.topics, at = read_array(_decode_creatable_topic_result_v5, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_creatable_topic_result_v7(m: CreatableTopicResult, write: Write) -> None:
    write(string(m.name))
    write(_uh.pack(m.topic_id, m.error_code))
    if m.error_message is None:
        write(NULL)
    else:
        write(string(m.error_message))
    write(_ih.pack(m.num_partitions, m.replication_factor))
    if m.configs is None:
        write(NULL)
    else:
        write_array(m.configs, _encode_creatable_topic_configs_v5, write)
    tagged: dict[int, bytes] = {}
    if m.topic_config_error_code != 0:
        tagged[0] = _h.pack(m.topic_config_error_code)
    write(tagged_fields(tagged))


def _decode_creatable_topic_result_v7(data: bytes, at: int) -> tuple[CreatableTopicResult, int]:
    m = object.__new__(CreatableTopicResult)
    m.encoded = None
    m.topic_config_error_code = 0
    m.name, at = read_string(data, at)
    m.topic_id, m.error_code = _uh.unpack_from(data, at)
    at += 18
    m.error_message, at = read_nullable(read_string, data, at)
    m.num_partitions, m.replication_factor = _ih.unpack_from(data, at)
    at += 6
    m.configs, at = read_nullable(lambda data, at: read_array(_decode_creatable_topic_configs_v5, data, at), data, at)
    tagged, at = read_tagged_fields(data, at)
    if 0 in tagged:
        (m.topic_config_error_code,) = _h.unpack(tagged[0])
    return m, at


def _encode_create_topics_response_v7(m: CreateTopicsResponse, write: Write) -> None:
    write(_i.pack(m.throttle_time_ms))
    write_array(m.topics, _encode_creatable_topic_result_v7, write)
    write(NO_TAGS)


def _decode_create_topics_response_v7(data: bytes, at: int) -> tuple[CreateTopicsResponse, int]:
    m = object.__new__(CreateTopicsResponse)
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    m.topics, at = read_array(_decode_creatable_topic_result_v7, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


CreatableTopicConfigs.LAYOUTS = {
    5: Layout(_encode_creatable_topic_configs_v5, _decode_creatable_topic_configs_v5),
    6: Layout(_encode_creatable_topic_configs_v5, _decode_creatable_topic_configs_v5),
    7: Layout(_encode_creatable_topic_configs_v5, _decode_creatable_topic_configs_v5),
}
CreatableTopicResult.LAYOUTS = {
    0: Layout(_encode_creatable_topic_result_v0, _decode_creatable_topic_result_v0),
    1: Layout(_encode_creatable_topic_result_v1, _decode_creatable_topic_result_v1),
    2: Layout(_encode_creatable_topic_result_v1, _decode_creatable_topic_result_v1),
    3: Layout(_encode_creatable_topic_result_v1, _decode_creatable_topic_result_v1),
    4: Layout(_encode_creatable_topic_result_v1, _decode_creatable_topic_result_v1),
    5: Layout(_encode_creatable_topic_result_v5, _decode_creatable_topic_result_v5),
    6: Layout(_encode_creatable_topic_result_v5, _decode_creatable_topic_result_v5),
    7: Layout(_encode_creatable_topic_result_v7, _decode_creatable_topic_result_v7),
}
CreateTopicsResponse.LAYOUTS = {
    0: Layout(_encode_create_topics_response_v0, _decode_create_topics_response_v0),
    1: Layout(_encode_create_topics_response_v1, _decode_create_topics_response_v1),
    2: Layout(_encode_create_topics_response_v2, _decode_create_topics_response_v2),
    3: Layout(_encode_create_topics_response_v2, _decode_create_topics_response_v2),
    4: Layout(_encode_create_topics_response_v2, _decode_create_topics_response_v2),
    5: Layout(_encode_create_topics_response_v5, _decode_create_topics_response_v5),
    6: Layout(_encode_create_topics_response_v5, _decode_create_topics_response_v5),
    7: Layout(_encode_create_topics_response_v7, _decode_create_topics_response_v7),
}
