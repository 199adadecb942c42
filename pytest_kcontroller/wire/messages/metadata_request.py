# Generated from wire/schemas by `make generated`: edit those.
"""MetadataRequest of API 3."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Request, Write
from pytest_kcontroller.wire.messages.metadata_response import MetadataResponse
from pytest_kcontroller.wire.primitives import (
    NO_TAGS,
    NULL,
    NULL_LENGTH,
    plain_string,
    read_array,
    read_nullable,
    read_plain_array,
    read_plain_nullable,
    read_plain_string,
    read_string,
    required,
    skip_tagged_fields,
    string,
    write_array,
    write_older_array,
    write_plain_array,
)

_t = Struct(">?")
_ttB = Struct(">??B")
_ttt = Struct(">???")
_tttB = Struct(">???B")
_u = Struct(">16s")


@dataclass(slots=True, kw_only=True)
class MetadataRequestTopic(Entry):
    topic_id: bytes = bytes(16)
    name: str | None


@dataclass(slots=True, kw_only=True)
class MetadataRequest(Request[MetadataResponse]):
    """Client to broker: who is there, and who leads what."""

    API_KEY = 3
    topics: list[MetadataRequestTopic] | None
    allow_auto_topic_creation: bool = True
    include_cluster_authorized_operations: bool = False
    include_topic_authorized_operations: bool = False


def _encode_metadata_request_topic_v0(m: MetadataRequestTopic, write: Write) -> None:
    write(plain_string(required(m.name)))


def _decode_metadata_request_topic_v0(data: bytes, at: int) -> tuple[MetadataRequestTopic, int]:
    m = object.__new__(MetadataRequestTopic)
    m.encoded = None
    m.topic_id = bytes(16)
    m.name, at = read_plain_string(data, at)
    return m, at


def _encode_metadata_request_v0(m: MetadataRequest, write: Write) -> None:
    write_plain_array(required(m.topics), _encode_metadata_request_topic_v0, write)


def _decode_metadata_request_v0(data: bytes, at: int) -> tuple[MetadataRequest, int]:
    m = object.__new__(MetadataRequest)
    m.allow_auto_topic_creation = True
    m.include_cluster_authorized_operations = False
    m.include_topic_authorized_operations = False
    m.topics, at = read_plain_array(_decode_metadata_request_topic_v0, data, at)
    return m, at


def _encode_metadata_request_v1(m: MetadataRequest, write: Write) -> None:
    if m.topics is None:
        write(NULL_LENGTH)
    else:
        write_plain_array(m.topics, _encode_metadata_request_topic_v0, write)


def _decode_metadata_request_v1(data: bytes, at: int) -> tuple[MetadataRequest, int]:
    m = object.__new__(MetadataRequest)
    m.allow_auto_topic_creation = True
    m.include_cluster_authorized_operations = False
    m.include_topic_authorized_operations = False
    m.topics, at = read_plain_nullable(
        NULL_LENGTH,
        lambda data, at: read_plain_array(_decode_metadata_request_topic_v0, data, at),
        data,
        at,
    )
    return m, at


def _encode_metadata_request_v4(m: MetadataRequest, write: Write) -> None:
    if m.topics is None:
        write(NULL_LENGTH)
    else:
        write_plain_array(m.topics, _encode_metadata_request_topic_v0, write)
    write(_t.pack(m.allow_auto_topic_creation))


def _decode_metadata_request_v4(data: bytes, at: int) -> tuple[MetadataRequest, int]:
    m = object.__new__(MetadataRequest)
    m.include_cluster_authorized_operations = False
    m.include_topic_authorized_operations = False
    m.topics, at = read_plain_nullable(
        NULL_LENGTH,
        lambda data, at: read_plain_array(_decode_metadata_request_topic_v0, data, at),
        data,
        at,
    )
    (m.allow_auto_topic_creation,) = _t.unpack_from(data, at)
    at += 1
    return m, at


def _encode_metadata_request_v8(m: MetadataRequest, write: Write) -> None:
    if m.topics is None:
        write(NULL_LENGTH)
    else:
        write_plain_array(m.topics, _encode_metadata_request_topic_v0, write)
    write(
        _ttt.pack(
            m.allow_auto_topic_creation,
            m.include_cluster_authorized_operations,
            m.include_topic_authorized_operations,
        )
    )


def _decode_metadata_request_v8(data: bytes, at: int) -> tuple[MetadataRequest, int]:
    m = object.__new__(MetadataRequest)
    m.topics, at = read_plain_nullable(
        NULL_LENGTH,
        lambda data, at: read_plain_array(_decode_metadata_request_topic_v0, data, at),
        data,
        at,
    )
    (
        m.allow_auto_topic_creation,
        m.include_cluster_authorized_operations,
        m.include_topic_authorized_operations,
    ) = _ttt.unpack_from(data, at)
    at += 3
    return m, at


def _encode_metadata_request_topic_v9(m: MetadataRequestTopic, write: Write) -> None:
    write(string(required(m.name)))
    write(NO_TAGS)


def _decode_metadata_request_topic_v9(data: bytes, at: int) -> tuple[MetadataRequestTopic, int]:
    m = object.__new__(MetadataRequestTopic)
    m.encoded = None
    m.topic_id = bytes(16)
    m.name, at = read_string(data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_metadata_request_v9(m: MetadataRequest, write: Write) -> None:
    if m.topics is None:
        write(NULL)
    else:
        write_older_array(m.topics, _encode_metadata_request_topic_v9, write)
    write(
        _tttB.pack(
            m.allow_auto_topic_creation,
            m.include_cluster_authorized_operations,
            m.include_topic_authorized_operations,
            0,
        )
    )


def _decode_metadata_request_v9(data: bytes, at: int) -> tuple[MetadataRequest, int]:
    m = object.__new__(MetadataRequest)
    m.topics, at = read_nullable(lambda data, at: read_array(_decode_metadata_request_topic_v9, data, at), data, at)
    (
        m.allow_auto_topic_creation,
        m.include_cluster_authorized_operations,
        m.include_topic_authorized_operations,
        tags,
    ) = _tttB.unpack_from(data, at)
    at = at + 4 if tags == 0 else skip_tagged_fields(data, at + 3)
    return m, at


def _encode_metadata_request_topic_v10(m: MetadataRequestTopic, write: Write) -> None:
    write(_u.pack(m.topic_id))
    if m.name is None:
        write(NULL)
    else:
        write(string(m.name))
    write(NO_TAGS)


def _decode_metadata_request_topic_v10(data: bytes, at: int) -> tuple[MetadataRequestTopic, int]:
    m = object.__new__(MetadataRequestTopic)
    m.encoded = None
    (m.topic_id,) = _u.unpack_from(data, at)
    at += 16
    m.name, at = read_nullable(read_string, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_metadata_request_v10(m: MetadataRequest, write: Write) -> None:
    if m.topics is None:
        write(NULL)
    else:
        write_older_array(m.topics, _encode_metadata_request_topic_v10, write)
    write(
        _tttB.pack(
            m.allow_auto_topic_creation,
            m.include_cluster_authorized_operations,
            m.include_topic_authorized_operations,
            0,
        )
    )


def _decode_metadata_request_v10(data: bytes, at: int) -> tuple[MetadataRequest, int]:
    m = object.__new__(MetadataRequest)
    m.topics, at = read_nullable(lambda data, at: read_array(_decode_metadata_request_topic_v10, data, at), data, at)
    (
        m.allow_auto_topic_creation,
        m.include_cluster_authorized_operations,
        m.include_topic_authorized_operations,
        tags,
    ) = _tttB.unpack_from(data, at)
    at = at + 4 if tags == 0 else skip_tagged_fields(data, at + 3)
    return m, at


def _encode_metadata_request_v11(m: MetadataRequest, write: Write) -> None:
    if m.topics is None:
        write(NULL)
    else:
        write_array(m.topics, _encode_metadata_request_topic_v10, write)
    write(_ttB.pack(m.allow_auto_topic_creation, m.include_topic_authorized_operations, 0))


def _decode_metadata_request_v11(data: bytes, at: int) -> tuple[MetadataRequest, int]:
    m = object.__new__(MetadataRequest)
    m.include_cluster_authorized_operations = False
    m.topics, at = read_nullable(lambda data, at: read_array(_decode_metadata_request_topic_v10, data, at), data, at)
    m.allow_auto_topic_creation, m.include_topic_authorized_operations, tags = _ttB.unpack_from(data, at)
    at = at + 3 if tags == 0 else skip_tagged_fields(data, at + 2)
    return m, at


MetadataRequestTopic.LAYOUTS = {
    0: Layout(_encode_metadata_request_topic_v0, _decode_metadata_request_topic_v0),
    1: Layout(_encode_metadata_request_topic_v0, _decode_metadata_request_topic_v0),
    2: Layout(_encode_metadata_request_topic_v0, _decode_metadata_request_topic_v0),
    3: Layout(_encode_metadata_request_topic_v0, _decode_metadata_request_topic_v0),
    4: Layout(_encode_metadata_request_topic_v0, _decode_metadata_request_topic_v0),
    5: Layout(_encode_metadata_request_topic_v0, _decode_metadata_request_topic_v0),
    6: Layout(_encode_metadata_request_topic_v0, _decode_metadata_request_topic_v0),
    7: Layout(_encode_metadata_request_topic_v0, _decode_metadata_request_topic_v0),
    8: Layout(_encode_metadata_request_topic_v0, _decode_metadata_request_topic_v0),
    9: Layout(_encode_metadata_request_topic_v9, _decode_metadata_request_topic_v9),
    10: Layout(_encode_metadata_request_topic_v10, _decode_metadata_request_topic_v10),
    11: Layout(_encode_metadata_request_topic_v10, _decode_metadata_request_topic_v10),
    12: Layout(_encode_metadata_request_topic_v10, _decode_metadata_request_topic_v10),
}
MetadataRequest.LAYOUTS = {
    0: Layout(_encode_metadata_request_v0, _decode_metadata_request_v0),
    1: Layout(_encode_metadata_request_v1, _decode_metadata_request_v1),
    2: Layout(_encode_metadata_request_v1, _decode_metadata_request_v1),
    3: Layout(_encode_metadata_request_v1, _decode_metadata_request_v1),
    4: Layout(_encode_metadata_request_v4, _decode_metadata_request_v4),
    5: Layout(_encode_metadata_request_v4, _decode_metadata_request_v4),
    6: Layout(_encode_metadata_request_v4, _decode_metadata_request_v4),
    7: Layout(_encode_metadata_request_v4, _decode_metadata_request_v4),
    8: Layout(_encode_metadata_request_v8, _decode_metadata_request_v8),
    9: Layout(_encode_metadata_request_v9, _decode_metadata_request_v9),
    10: Layout(_encode_metadata_request_v10, _decode_metadata_request_v10),
    11: Layout(_encode_metadata_request_v11, _decode_metadata_request_v11),
    12: Layout(_encode_metadata_request_v11, _decode_metadata_request_v11),
}
