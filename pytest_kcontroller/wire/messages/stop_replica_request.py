# Generated from wire/schemas by `make generated`: edit those.
"""StopReplicaRequest of API 5."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Request, Write
from pytest_kcontroller.wire.messages.stop_replica_response import StopReplicaResponse
from pytest_kcontroller.wire.primitives import NO_TAGS, read_array, read_string, skip_tagged_fields, string, write_array

_iitB = Struct(">ii?B")
_itiq = Struct(">i?iq")


@dataclass(slots=True, kw_only=True)
class StopReplicaPartitionState(Entry):
    partition_index: int
    leader_epoch: int = -1
    delete_partition: bool


@dataclass(slots=True, kw_only=True)
class StopReplicaTopicState(Entry):
    topic_name: str
    partition_states: list[StopReplicaPartitionState]


@dataclass(slots=True, kw_only=True)
class StopReplicaRequest(Request[StopReplicaResponse]):
    """Controller to broker: stop, and maybe delete, these replicas."""

    API_KEY = 5
    controller_id: int
    is_kraft_controller: bool = False
    controller_epoch: int
    broker_epoch: int = -1
    topic_states: list[StopReplicaTopicState]


def _encode_stop_replica_partition_state_v4(m: StopReplicaPartitionState, write: Write) -> None:
    write(_iitB.pack(m.partition_index, m.leader_epoch, m.delete_partition, 0))


def _decode_stop_replica_partition_state_v4(data: bytes, at: int) -> tuple[StopReplicaPartitionState, int]:
    m = object.__new__(StopReplicaPartitionState)
    m.encoded = None
    m.partition_index, m.leader_epoch, m.delete_partition, tags = _iitB.unpack_from(data, at)
    at = at + 10 if tags == 0 else skip_tagged_fields(data, at + 9)
    return m, at


def _encode_stop_replica_topic_state_v4(m: StopReplicaTopicState, write: Write) -> None:
    write(string(m.topic_name))
    write_array(m.partition_states, _encode_stop_replica_partition_state_v4, write)
    write(NO_TAGS)


def _decode_stop_replica_topic_state_v4(data: bytes, at: int) -> tuple[StopReplicaTopicState, int]:
    m = object.__new__(StopReplicaTopicState)
    m.encoded = None
    m.topic_name, at = read_string(data, at)
    m.partition_states, at = read_array(_decode_stop_replica_partition_state_v4, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_stop_replica_request_v4(m: StopReplicaRequest, write: Write) -> None:
    write(_itiq.pack(m.controller_id, m.is_kraft_controller, m.controller_epoch, m.broker_epoch))
    write_array(m.topic_states, _encode_stop_replica_topic_state_v4, write)
    write(NO_TAGS)


def _decode_stop_replica_request_v4(data: bytes, at: int) -> tuple[StopReplicaRequest, int]:
    m = object.__new__(StopReplicaRequest)
    m.controller_id, m.is_kraft_controller, m.controller_epoch, m.broker_epoch = _itiq.unpack_from(data, at)
    at += 17
    m.topic_states, at = read_array(_decode_stop_replica_topic_state_v4, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


StopReplicaPartitionState.LAYOUTS = {
    4: Layout(_encode_stop_replica_partition_state_v4, _decode_stop_replica_partition_state_v4),
}
StopReplicaTopicState.LAYOUTS = {
    4: Layout(_encode_stop_replica_topic_state_v4, _decode_stop_replica_topic_state_v4),
}
StopReplicaRequest.LAYOUTS = {
    4: Layout(_encode_stop_replica_request_v4, _decode_stop_replica_request_v4),
}
