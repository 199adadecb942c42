# Generated from wire/schemas by `make generated`: edit those.
"""DeleteTopicsResponse of API 20."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Response, Write
from pytest_kcontroller.wire.primitives import (
    NO_TAGS,
    NULL,
    plain_string,
    read_array,
    read_nullable,
    read_plain_array,
    read_plain_string,
    read_string,
    required,
    skip_tagged_fields,
    string,
    write_array,
    write_older_array,
    write_plain_array,
)

_h = Struct(">h")
_hB = Struct(">hB")
_i = Struct(">i")
_uh = Struct(">16sh")


@dataclass(slots=True, kw_only=True)
class DeletableTopicResult(Entry):
    name: str | None
    topic_id: bytes = bytes(16)
    error_code: int
    error_message: str | None = None


@dataclass(slots=True, kw_only=True)
class DeleteTopicsResponse(Response):
    """What became of each topic."""

    API_KEY = 20
    throttle_time_ms: int = 0
    responses: list[DeletableTopicResult]


def _encode_deletable_topic_result_v0(m: DeletableTopicResult, write: Write) -> None:
    write(plain_string(required(m.name)))
    write(_h.pack(m.error_code))


def _decode_deletable_topic_result_v0(data: bytes, at: int) -> tuple[DeletableTopicResult, int]:
    m = object.__new__(DeletableTopicResult)
    m.encoded = None
    m.topic_id = bytes(16)
    m.error_message = None
    m.name, at = read_plain_string(data, at)
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    return m, at


def _encode_delete_topics_response_v0(m: DeleteTopicsResponse, write: Write) -> None:
    write_plain_array(m.responses, _encode_deletable_topic_result_v0, write)


def _decode_delete_topics_response_v0(data: bytes, at: int) -> tuple[DeleteTopicsResponse, int]:
    m = object.__new__(DeleteTopicsResponse)
    m.throttle_time_ms = 0
    m.responses, at = read_plain_array(_decode_deletable_topic_result_v0, data, at)
    return m, at


def _encode_delete_topics_response_v1(m: DeleteTopicsResponse, write: Write) -> None:
    write(_i.pack(m.throttle_time_ms))
    write_plain_array(m.responses, _encode_deletable_topic_result_v0, write)


def _decode_delete_topics_response_v1(data: bytes, at: int) -> tuple[DeleteTopicsResponse, int]:
    m = object.__new__(DeleteTopicsResponse)
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    m.responses, at = read_plain_array(_decode_deletable_topic_result_v0, data, at)
    return m, at


def _encode_deletable_topic_result_v4(m: DeletableTopicResult, write: Write) -> None:
    write(string(required(m.name)))
    write(_hB.pack(m.error_code, 0))


def _decode_deletable_topic_result_v4(data: bytes, at: int) -> tuple[DeletableTopicResult, int]:
    m = object.__new__(DeletableTopicResult)
    m.encoded = None
    m.topic_id = bytes(16)
    m.error_message = None
    m.name, at = read_string(data, at)
    m.error_code, tags = _hB.unpack_from(data, at)
    at = at + 3 if tags == 0 else skip_tagged_fields(data, at + 2)
    return m, at


def _encode_delete_topics_response_v4(m: DeleteTopicsResponse, write: Write) -> None:
    write(_i.pack(m.throttle_time_ms))
    write_older_array(m.responses, _encode_deletable_topic_result_v4, write)
    write(NO_TAGS)


def _decode_delete_topics_response_v4(data: bytes, at: int) -> tuple[DeleteTopicsResponse, int]:
    m = object.__new__(DeleteTopicsResponse)
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    m.responses, at = read_array(_decode_deletable_topic_result_v4, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_deletable_topic_result_v5(m: DeletableTopicResult, write: Write) -> None:
    write(string(required(m.name)))
    write(_h.pack(m.error_code))
    if m.error_message is None:
        write(NULL)
    else:
        write(string(m.error_message))
    write(NO_TAGS)


def _decode_deletable_topic_result_v5(data: bytes, at: int) -> tuple[DeletableTopicResult, int]:
    m = object.__new__(DeletableTopicResult)
    m.encoded = None
    m.topic_id = bytes(16)
    m.name, at = read_string(data, at)
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.error_message, at = read_nullable(read_string, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_delete_topics_response_v5(m: DeleteTopicsResponse, write: Write) -> None:
    write(_i.pack(m.throttle_time_ms))
    write_older_array(m.responses, _encode_deletable_topic_result_v5, write)
    write(NO_TAGS)


def _decode_delete_topics_response_v5(data: bytes, at: int) -> tuple[DeleteTopicsResponse, int]:
    m = object.__new__(DeleteTopicsResponse)
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    m.responses, at = read_array(_decode_deletable_topic_result_v5, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_deletable_topic_result_v6(m: DeletableTopicResult, write: Write) -> None:
    if m.name is None:
        write(NULL)
    else:
        write(string(m.name))
    write(_uh.pack(m.topic_id, m.error_code))
    if m.error_message is None:
        write(NULL)
    else:
        write(string(m.error_message))
    write(NO_TAGS)


def _decode_deletable_topic_result_v6(data: bytes, at: int) -> tuple[DeletableTopicResult, int]:
    m = object.__new__(DeletableTopicResult)
    m.encoded = None
    m.name, at = read_nullable(read_string, data, at)
    m.topic_id, m.error_code = _uh.unpack_from(data, at)
    at += 18
    m.error_message, at = read_nullable(read_string, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_delete_topics_response_v6(m: DeleteTopicsResponse, write: Write) -> None:
    write(_i.pack(m.throttle_time_ms))
    write_array(m.responses, _encode_deletable_topic_result_v6, write)
    write(NO_TAGS)


def _decode_delete_topics_response_v6(data: bytes, at: int) -> tuple[DeleteTopicsResponse, int]:
    m = object.__new__(DeleteTopicsResponse)
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    m.responses, at = read_array(_decode_deletable_topic_result_v6, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


DeletableTopicResult.LAYOUTS = {
    0: Layout(_encode_deletable_topic_result_v0, _decode_deletable_topic_result_v0),
    1: Layout(_encode_deletable_topic_result_v0, _decode_deletable_topic_result_v0),
    2: Layout(_encode_deletable_topic_result_v0, _decode_deletable_topic_result_v0),
    3: Layout(_encode_deletable_topic_result_v0, _decode_deletable_topic_result_v0),
    4: Layout(_encode_deletable_topic_result_v4, _decode_deletable_topic_result_v4),
    5: Layout(_encode_deletable_topic_result_v5, _decode_deletable_topic_result_v5),
    6: Layout(_encode_deletable_topic_result_v6, _decode_deletable_topic_result_v6),
}
DeleteTopicsResponse.LAYOUTS = {
    0: Layout(_encode_delete_topics_response_v0, _decode_delete_topics_response_v0),
    1: Layout(_encode_delete_topics_response_v1, _decode_delete_topics_response_v1),
    2: Layout(_encode_delete_topics_response_v1, _decode_delete_topics_response_v1),
    3: Layout(_encode_delete_topics_response_v1, _decode_delete_topics_response_v1),
    4: Layout(_encode_delete_topics_response_v4, _decode_delete_topics_response_v4),
    5: Layout(_encode_delete_topics_response_v5, _decode_delete_topics_response_v5),
    6: Layout(_encode_delete_topics_response_v6, _decode_delete_topics_response_v6),
}
