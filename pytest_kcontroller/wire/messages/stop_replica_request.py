# Generated from wire/schemas by `make generated`: edit those.
"""StopReplicaRequest of API 5."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Request, Write
from pytest_kcontroller.wire.messages.stop_replica_response import StopReplicaResponse
from pytest_kcontroller.wire.primitives import (
    NO_TAGS,
    Numbers,
    plain_string,
    read_array,
    read_plain_array,
    read_plain_string,
    read_string,
    skip_tagged_fields,
    string,
    write_array,
    write_older_array,
    write_plain_array,
)

_i = Struct(">i")
_iiq = Struct(">iiq")
_iiqt = Struct(">iiq?")
_iit = Struct(">ii?")
_iitB = Struct(">ii?B")
_itiq = Struct(">i?iq")
_int32s = Numbers("i")


@dataclass(slots=True, kw_only=True)
class StopReplicaPartitionV0(Entry):
    topic_name: str = ""
    partition_index: int = 0


@dataclass(slots=True, kw_only=True)
class StopReplicaTopicV1(Entry):
    name: str = ""
    partition_indexes: tuple[int, ...] = ()


@dataclass(slots=True, kw_only=True)
class StopReplicaPartitionState(Entry):
    partition_index: int = 0
    leader_epoch: int = -1
    delete_partition: bool = False


@dataclass(slots=True, kw_only=True)
class StopReplicaTopicState(Entry):
    topic_name: str = ""
    partition_states: list[StopReplicaPartitionState] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class StopReplicaRequest(Request[StopReplicaResponse]):
    """Controller to broker: stop, and maybe delete, these replicas."""

    API_KEY = 5
    controller_id: int
    is_kraft_controller: bool = False
    controller_epoch: int
    broker_epoch: int = -1
    delete_partitions: bool = False
    ungrouped_partitions: list[StopReplicaPartitionV0] = field(default_factory=list)
    topics: list[StopReplicaTopicV1] = field(default_factory=list)
    topic_states: list[StopReplicaTopicState] = field(default_factory=list)


def _encode_stop_replica_partition_v0_v0(m: StopReplicaPartitionV0, write: Write) -> None:
    write(plain_string(m.topic_name))
    write(_i.pack(m.partition_index))


def _decode_stop_replica_partition_v0_v0(data: bytes, at: int) -> tuple[StopReplicaPartitionV0, int]:
    m = object.__new__(StopReplicaPartitionV0)
    m.encoded = None
    m.topic_name, at = read_plain_string(data, at)
    (m.partition_index,) = _i.unpack_from(data, at)
    at += 4
    return m, at


def _encode_stop_replica_request_v0(m: StopReplicaRequest, write: Write) -> None:
    write(_iit.pack(m.controller_id, m.controller_epoch, m.delete_partitions))
    write_plain_array(m.ungrouped_partitions, _encode_stop_replica_partition_v0_v0, write)


def _decode_stop_replica_request_v0(data: bytes, at: int) -> tuple[StopReplicaRequest, int]:
    m = object.__new__(StopReplicaRequest)
    m.is_kraft_controller = False
    m.broker_epoch = -1
    m.topics = []
    m.topic_states = []
    m.controller_id, m.controller_epoch, m.delete_partitions = _iit.unpack_from(data, at)
    at += 9
    m.ungrouped_partitions, at = read_plain_array(_decode_stop_replica_partition_v0_v0, data, at)
    return m, at


def _encode_stop_replica_topic_v1_v1(m: StopReplicaTopicV1, write: Write) -> None:
    write(plain_string(m.name))
    write(_int32s.plain_encode(m.partition_indexes))


def _decode_stop_replica_topic_v1_v1(data: bytes, at: int) -> tuple[StopReplicaTopicV1, int]:
    m = object.__new__(StopReplicaTopicV1)
    m.encoded = None
    m.name, at = read_plain_string(data, at)
    m.partition_indexes, at = _int32s.plain_read(data, at)
    return m, at


def _encode_stop_replica_request_v1(m: StopReplicaRequest, write: Write) -> None:
    write(_iiqt.pack(m.controller_id, m.controller_epoch, m.broker_epoch, m.delete_partitions))
    write_plain_array(m.topics, _encode_stop_replica_topic_v1_v1, write)


def _decode_stop_replica_request_v1(data: bytes, at: int) -> tuple[StopReplicaRequest, int]:
    m = object.__new__(StopReplicaRequest)
    m.is_kraft_controller = False
    m.ungrouped_partitions = []
    m.topic_states = []
    m.controller_id, m.controller_epoch, m.broker_epoch, m.delete_partitions = _iiqt.unpack_from(data, at)
    at += 17
    m.topics, at = read_plain_array(_decode_stop_replica_topic_v1_v1, data, at)
    return m, at


def _encode_stop_replica_topic_v1_v2(m: StopReplicaTopicV1, write: Write) -> None:
    write(string(m.name))
    write(_int32s.encode(m.partition_indexes))
    write(NO_TAGS)


def _decode_stop_replica_topic_v1_v2(data: bytes, at: int) -> tuple[StopReplicaTopicV1, int]:
    m = object.__new__(StopReplicaTopicV1)
    m.encoded = None
    m.name, at = read_string(data, at)
    m.partition_indexes, at = _int32s.read(data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_stop_replica_request_v2(m: StopReplicaRequest, write: Write) -> None:
    write(_iiqt.pack(m.controller_id, m.controller_epoch, m.broker_epoch, m.delete_partitions))
    write_older_array(m.topics, _encode_stop_replica_topic_v1_v2, write)
    write(NO_TAGS)


def _decode_stop_replica_request_v2(data: bytes, at: int) -> tuple[StopReplicaRequest, int]:
    m = object.__new__(StopReplicaRequest)
    m.is_kraft_controller = False
    m.ungrouped_partitions = []
    m.topic_states = []
    m.controller_id, m.controller_epoch, m.broker_epoch, m.delete_partitions = _iiqt.unpack_from(data, at)
    at += 17
    m.topics, at = read_array(_decode_stop_replica_topic_v1_v2, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_stop_replica_partition_state_v3(m: StopReplicaPartitionState, write: Write) -> None:
    write(_iitB.pack(m.partition_index, m.leader_epoch, m.delete_partition, 0))


def _decode_stop_replica_partition_state_v3(data: bytes, at: int) -> tuple[StopReplicaPartitionState, int]:
    m = object.__new__(StopReplicaPartitionState)
    m.encoded = None
    m.partition_index, m.leader_epoch, m.delete_partition, tags = _iitB.unpack_from(data, at)
    at = at + 10 if tags == 0 else skip_tagged_fields(data, at + 9)
    return m, at


def _encode_stop_replica_topic_state_v3(m: StopReplicaTopicState, write: Write) -> None:
    write(string(m.topic_name))
    write_older_array(m.partition_states, _encode_stop_replica_partition_state_v3, write)
    write(NO_TAGS)


def _decode_stop_replica_topic_state_v3(data: bytes, at: int) -> tuple[StopReplicaTopicState, int]:
    m = object.__new__(StopReplicaTopicState)
    m.encoded = None
    m.topic_name, at = read_string(data, at)
    m.partition_states, at = read_array(_decode_stop_replica_partition_state_v3, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_stop_replica_request_v3(m: StopReplicaRequest, write: Write) -> None:
    write(_iiq.pack(m.controller_id, m.controller_epoch, m.broker_epoch))
    write_older_array(m.topic_states, _encode_stop_replica_topic_state_v3, write)
    write(NO_TAGS)


def _decode_stop_replica_request_v3(data: bytes, at: int) -> tuple[StopReplicaRequest, int]:
    m = object.__new__(StopReplicaRequest)
    m.is_kraft_controller = False
    m.delete_partitions = False
    m.ungrouped_partitions = []
    m.topics = []
    m.controller_id, m.controller_epoch, m.broker_epoch = _iiq.unpack_from(data, at)
    at += 16
    m.topic_states, at = read_array(_decode_stop_replica_topic_state_v3, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_stop_replica_topic_state_v4(m: StopReplicaTopicState, write: Write) -> None:
    write(string(m.topic_name))
    write_array(m.partition_states, _encode_stop_replica_partition_state_v3, write)
    write(NO_TAGS)


def _decode_stop_replica_topic_state_v4(data: bytes, at: int) -> tuple[StopReplicaTopicState, int]:
    m = object.__new__(StopReplicaTopicState)
    m.encoded = None
    m.topic_name, at = read_string(data, at)
    m.partition_states, at = read_array(_decode_stop_replica_partition_state_v3, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_stop_replica_request_v4(m: StopReplicaRequest, write: Write) -> None:
    write(_itiq.pack(m.controller_id, m.is_kraft_controller, m.controller_epoch, m.broker_epoch))
    write_array(m.topic_states, _encode_stop_replica_topic_state_v4, write)
    write(NO_TAGS)


def _decode_stop_replica_request_v4(data: bytes, at: int) -> tuple[StopReplicaRequest, int]:
    m = object.__new__(StopReplicaRequest)
    m.delete_partitions = False
    m.ungrouped_partitions = []
    m.topics = []
    m.controller_id, m.is_kraft_controller, m.controller_epoch, m.broker_epoch = _itiq.unpack_from(data, at)
    at += 17
    m.topic_states, at = read_array(_decode_stop_replica_topic_state_v4, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


StopReplicaPartitionV0.LAYOUTS = {
    0: Layout(_encode_stop_replica_partition_v0_v0, _decode_stop_replica_partition_v0_v0),
}
StopReplicaTopicV1.LAYOUTS = {
    1: Layout(_encode_stop_replica_topic_v1_v1, _decode_stop_replica_topic_v1_v1),
    2: Layout(_encode_stop_replica_topic_v1_v2, _decode_stop_replica_topic_v1_v2),
}
StopReplicaPartitionState.LAYOUTS = {
    3: Layout(_encode_stop_replica_partition_state_v3, _decode_stop_replica_partition_state_v3),
    4: Layout(_encode_stop_replica_partition_state_v3, _decode_stop_replica_partition_state_v3),
}
StopReplicaTopicState.LAYOUTS = {
    3: Layout(_encode_stop_replica_topic_state_v3, _decode_stop_replica_topic_state_v3),
    4: Layout(_encode_stop_replica_topic_state_v4, _decode_stop_replica_topic_state_v4),
}
StopReplicaRequest.LAYOUTS = {
    0: Layout(_encode_stop_replica_request_v0, _decode_stop_replica_request_v0),
    1: Layout(_encode_stop_replica_request_v1, _decode_stop_replica_request_v1),
    2: Layout(_encode_stop_replica_request_v2, _decode_stop_replica_request_v2),
    3: Layout(_encode_stop_replica_request_v3, _decode_stop_replica_request_v3),
    4: Layout(_encode_stop_replica_request_v4, _decode_stop_replica_request_v4),
}
