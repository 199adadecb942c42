# Generated from wire/schemas by `make generated`: edit those.
"""CreateTopicsRequest of API 19."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Request, Write
from pytest_kcontroller.wire.messages.create_topics_response import CreateTopicsResponse
from pytest_kcontroller.wire.primitives import (
    NO_TAGS,
    NULL,
    NULL_STRING,
    Numbers,
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

_i = Struct(">i")
_ih = Struct(">ih")
_it = Struct(">i?")
_itB = Struct(">i?B")
_int32s = Numbers("i")


@dataclass(slots=True, kw_only=True)
class CreatableReplicaAssignment(Entry):
    partition_index: int
    broker_ids: tuple[int, ...]


@dataclass(slots=True, kw_only=True)
class CreatableTopicConfig(Entry):
    name: str
    value: str | None


@dataclass(slots=True, kw_only=True)
class CreatableTopic(Entry):
    name: str
    num_partitions: int
    replication_factor: int
    assignments: list[CreatableReplicaAssignment]
    configs: list[CreatableTopicConfig]


@dataclass(slots=True, kw_only=True)
class CreateTopicsRequest(Request[CreateTopicsResponse]):
    """Client to controller: make these topics."""

    API_KEY = 19
    topics: list[CreatableTopic]
    timeout_ms: int = 60000
    validate_only: bool = False


def _encode_creatable_replica_assignment_v0(m: CreatableReplicaAssignment, write: Write) -> None:
    write(_i.pack(m.partition_index))
    write(_int32s.plain_encode(m.broker_ids))


def _decode_creatable_replica_assignment_v0(data: bytes, at: int) -> tuple[CreatableReplicaAssignment, int]:
    m = object.__new__(CreatableReplicaAssignment)
    m.encoded = None
    (m.partition_index,) = _i.unpack_from(data, at)
    at += 4
    m.broker_ids, at = _int32s.plain_read(data, at)
    return m, at


def _encode_creatable_topic_config_v0(m: CreatableTopicConfig, write: Write) -> None:
    write(plain_string(m.name))
    if m.value is None:
        write(NULL_STRING)
    else:
        write(plain_string(m.value))


def _decode_creatable_topic_config_v0(data: bytes, at: int) -> tuple[CreatableTopicConfig, int]:
    m = object.__new__(CreatableTopicConfig)
    m.encoded = None
    m.name, at = read_plain_string(data, at)
    m.value, at = read_plain_nullable(NULL_STRING, read_plain_string, data, at)
    return m, at


def _encode_creatable_topic_v0(m: CreatableTopic, write: Write) -> None:
    write(plain_string(m.name))
    write(_ih.pack(m.num_partitions, m.replication_factor))
    write_plain_array(m.assignments, _encode_creatable_replica_assignment_v0, write)
    write_plain_array(m.configs, _encode_creatable_topic_config_v0, write)


def _decode_creatable_topic_v0(data: bytes, at: int) -> tuple[CreatableTopic, int]:
    m = object.__new__(CreatableTopic)
    m.encoded = None
    m.name, at = read_plain_string(data, at)
    m.num_partitions, m.replication_factor = _ih.unpack_from(data, at)
    at += 6
    m.assignments, at = read_plain_array(_decode_creatable_replica_assignment_v0, data, at)
    m.configs, at = read_plain_array(_decode_creatable_topic_config_v0, data, at)
    return m, at


def _encode_create_topics_request_v0(m: CreateTopicsRequest, write: Write) -> None:
    write_plain_array(m.topics, _encode_creatable_topic_v0, write)
    write(_i.pack(m.timeout_ms))


def _decode_create_topics_request_v0(data: bytes, at: int) -> tuple[CreateTopicsRequest, int]:
    m = object.__new__(CreateTopicsRequest)
    m.validate_only = False
    m.topics, at = read_plain_array(_decode_creatable_topic_v0, data, at)
    (m.timeout_ms,) = _i.unpack_from(data, at)
    at += 4
    return m, at


def _encode_create_topics_request_v1(m: CreateTopicsRequest, write: Write) -> None:
    write_plain_array(m.topics, _encode_creatable_topic_v0, write)
    write(_it.pack(m.timeout_ms, m.validate_only))


def _decode_create_topics_request_v1(data: bytes, at: int) -> tuple[CreateTopicsRequest, int]:
    m = object.__new__(CreateTopicsRequest)
    m.topics, at = read_plain_array(_decode_creatable_topic_v0, data, at)
    m.timeout_ms, m.validate_only = _it.unpack_from(data, at)
    at += 5
    return m, at


def _encode_creatable_replica_assignment_v5(m: CreatableReplicaAssignment, write: Write) -> None:
    write(_i.pack(m.partition_index))
    write(_int32s.encode(m.broker_ids))
    write(NO_TAGS)


def _decode_creatable_replica_assignment_v5(data: bytes, at: int) -> tuple[CreatableReplicaAssignment, int]:
    m = object.__new__(CreatableReplicaAssignment)
    m.encoded = None
    (m.partition_index,) = _i.unpack_from(data, at)
    at += 4
    m.broker_ids, at = _int32s.read(data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_creatable_topic_config_v5(m: CreatableTopicConfig, write: Write) -> None:
    write(string(m.name))
    if m.value is None:
        write(NULL)
    else:
        write(string(m.value))
    write(NO_TAGS)


def _decode_creatable_topic_config_v5(data: bytes, at: int) -> tuple[CreatableTopicConfig, int]:
    m = object.__new__(CreatableTopicConfig)
    m.encoded = None
    m.name, at = read_string(data, at)
    m.value, at = read_nullable(read_string, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_creatable_topic_v5(m: CreatableTopic, write: Write) -> None:
    write(string(m.name))
    write(_ih.pack(m.num_partitions, m.replication_factor))
    write_array(m.assignments, _encode_creatable_replica_assignment_v5, write)
    write_array(m.configs, _encode_creatable_topic_config_v5, write)
    write(NO_TAGS)


def _decode_creatable_topic_v5(data: bytes, at: int) -> tuple[CreatableTopic, int]:
    m = object.__new__(CreatableTopic)
    m.encoded = None
    m.name, at = read_string(data, at)
    m.num_partitions, m.replication_factor = _ih.unpack_from(data, at)
    at += 6
    m.assignments, at = read_array(_decode_creatable_replica_assignment_v5, data, at)
    m.configs, at = read_array(_decode_creatable_topic_config_v5, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_create_topics_request_v5(m: CreateTopicsRequest, write: Write) -> None:
    write_array(m.topics, _encode_creatable_topic_v5, write)
    write(_itB.pack(m.timeout_ms, m.validate_only, 0))


def _decode_create_topics_request_v5(data: bytes, at: int) -> tuple[CreateTopicsRequest, int]:
    m = object.__new__(CreateTopicsRequest)
    m.topics, at = read_array(_decode_creatable_topic_v5, data, at)
    m.timeout_ms, m.validate_only, tags = _itB.unpack_from(data, at)
    at = at + 6 if tags == 0 else skip_tagged_fields(data, at + 5)
    return m, at


CreatableReplicaAssignment.LAYOUTS = {
    0: Layout(_encode_creatable_replica_assignment_v0, _decode_creatable_replica_assignment_v0),
    1: Layout(_encode_creatable_replica_assignment_v0, _decode_creatable_replica_assignment_v0),
    2: Layout(_encode_creatable_replica_assignment_v0, _decode_creatable_replica_assignment_v0),
    3: Layout(_encode_creatable_replica_assignment_v0, _decode_creatable_replica_assignment_v0),
    4: Layout(_encode_creatable_replica_assignment_v0, _decode_creatable_replica_assignment_v0),
    5: Layout(_encode_creatable_replica_assignment_v5, _decode_creatable_replica_assignment_v5),
    6: Layout(_encode_creatable_replica_assignment_v5, _decode_creatable_replica_assignment_v5),
    7: Layout(_encode_creatable_replica_assignment_v5, _decode_creatable_replica_assignment_v5),
}
CreatableTopicConfig.LAYOUTS = {
    0: Layout(_encode_creatable_topic_config_v0, _decode_creatable_topic_config_v0),
    1: Layout(_encode_creatable_topic_config_v0, _decode_creatable_topic_config_v0),
    2: Layout(_encode_creatable_topic_config_v0, _decode_creatable_topic_config_v0),
    3: Layout(_encode_creatable_topic_config_v0, _decode_creatable_topic_config_v0),
    4: Layout(_encode_creatable_topic_config_v0, _decode_creatable_topic_config_v0),
    5: Layout(_encode_creatable_topic_config_v5, _decode_creatable_topic_config_v5),
    6: Layout(_encode_creatable_topic_config_v5, _decode_creatable_topic_config_v5),
    7: Layout(_encode_creatable_topic_config_v5, _decode_creatable_topic_config_v5),
}
CreatableTopic.LAYOUTS = {
    0: Layout(_encode_creatable_topic_v0, _decode_creatable_topic_v0),
    1: Layout(_encode_creatable_topic_v0, _decode_creatable_topic_v0),
    2: Layout(_encode_creatable_topic_v0, _decode_creatable_topic_v0),
    3: Layout(_encode_creatable_topic_v0, _decode_creatable_topic_v0),
    4: Layout(_encode_creatable_topic_v0, _decode_creatable_topic_v0),
    5: Layout(_encode_creatable_topic_v5, _decode_creatable_topic_v5),
    6: Layout(_encode_creatable_topic_v5, _decode_creatable_topic_v5),
    7: Layout(_encode_creatable_topic_v5, _decode_creatable_topic_v5),
}
CreateTopicsRequest.LAYOUTS = {
    0: Layout(_encode_create_topics_request_v0, _decode_create_topics_request_v0),
    1: Layout(_encode_create_topics_request_v1, _decode_create_topics_request_v1),
    2: Layout(_encode_create_topics_request_v1, _decode_create_topics_request_v1),
    3: Layout(_encode_create_topics_request_v1, _decode_create_topics_request_v1),
    4: Layout(_encode_create_topics_request_v1, _decode_create_topics_request_v1),
    5: Layout(_encode_create_topics_request_v5, _decode_create_topics_request_v5),
    6: Layout(_encode_create_topics_request_v5, _decode_create_topics_request_v5),
    7: Layout(_encode_create_topics_request_v5, _decode_create_topics_request_v5),
}
