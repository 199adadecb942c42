# Generated from wire/schemas by `make generated`: edit those.
"""DeleteTopicsRequest of API 20."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Request, Write
from pytest_kcontroller.wire.messages.delete_topics_response import DeleteTopicsResponse
from pytest_kcontroller.wire.primitives import (
    NULL,
    plain_strings,
    read_array,
    read_nullable,
    read_plain_array,
    read_plain_string,
    read_string,
    skip_tagged_fields,
    string,
    strings,
    write_array,
)

_i = Struct(">i")
_iB = Struct(">iB")
_uB = Struct(">16sB")


@dataclass(slots=True, kw_only=True)
class DeleteTopicState(Entry):
    name: str | None = None
    topic_id: bytes = bytes(16)


@dataclass(slots=True, kw_only=True)
class DeleteTopicsRequest(Request[DeleteTopicsResponse]):
    """Client to controller: delete these topics."""

    API_KEY = 20
    topics: list[DeleteTopicState] = field(default_factory=list)
    topic_names: list[str] = field(default_factory=list)
    timeout_ms: int


def _encode_delete_topics_request_v0(m: DeleteTopicsRequest, write: Write) -> None:
    write(plain_strings(m.topic_names))
    write(_i.pack(m.timeout_ms))


def _decode_delete_topics_request_v0(data: bytes, at: int) -> tuple[DeleteTopicsRequest, int]:
    m = object.__new__(DeleteTopicsRequest)
    m.topics = []
    m.topic_names, at = read_plain_array(read_plain_string, data, at)
    (m.timeout_ms,) = _i.unpack_from(data, at)
    at += 4
    return m, at


def _encode_delete_topics_request_v4(m: DeleteTopicsRequest, write: Write) -> None:
    write(strings(m.topic_names))
    write(_iB.pack(m.timeout_ms, 0))


def _decode_delete_topics_request_v4(data: bytes, at: int) -> tuple[DeleteTopicsRequest, int]:
    m = object.__new__(DeleteTopicsRequest)
    m.topics = []
    m.topic_names, at = read_array(read_string, data, at)
    m.timeout_ms, tags = _iB.unpack_from(data, at)
    at = at + 5 if tags == 0 else skip_tagged_fields(data, at + 4)
    return m, at


def _encode_delete_topic_state_v6(m: DeleteTopicState, write: Write) -> None:
    if m.name is None:
        write(NULL)
    else:
        write(string(m.name))
    write(_uB.pack(m.topic_id, 0))


def _decode_delete_topic_state_v6(data: bytes, at: int) -> tuple[DeleteTopicState, int]:
    m = object.__new__(DeleteTopicState)
    m.encoded = None
    m.name, at = read_nullable(read_string, data, at)
    m.topic_id, tags = _uB.unpack_from(data, at)
    at = at + 17 if tags == 0 else skip_tagged_fields(data, at + 16)
    return m, at


def _encode_delete_topics_request_v6(m: DeleteTopicsRequest, write: Write) -> None:
    write_array(m.topics, _encode_delete_topic_state_v6, write)
    write(_iB.pack(m.timeout_ms, 0))


def _decode_delete_topics_request_v6(data: bytes, at: int) -> tuple[DeleteTopicsRequest, int]:
    m = object.__new__(DeleteTopicsRequest)
    m.topic_names = []
    m.topics, at = read_array(_decode_delete_topic_state_v6, data, at)
    m.timeout_ms, tags = _iB.unpack_from(data, at)
    at = at + 5 if tags == 0 else skip_tagged_fields(data, at + 4)
    return m, at


DeleteTopicState.LAYOUTS = {
    6: Layout(_encode_delete_topic_state_v6, _decode_delete_topic_state_v6),
}
DeleteTopicsRequest.LAYOUTS = {
    0: Layout(_encode_delete_topics_request_v0, _decode_delete_topics_request_v0),
    1: Layout(_encode_delete_topics_request_v0, _decode_delete_topics_request_v0),
    2: Layout(_encode_delete_topics_request_v0, _decode_delete_topics_request_v0),
    3: Layout(_encode_delete_topics_request_v0, _decode_delete_topics_request_v0),
    4: Layout(_encode_delete_topics_request_v4, _decode_delete_topics_request_v4),
    5: Layout(_encode_delete_topics_request_v4, _decode_delete_topics_request_v4),
    6: Layout(_encode_delete_topics_request_v6, _decode_delete_topics_request_v6),
}
