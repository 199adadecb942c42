# Generated from wire/schemas by `make generated`: edit those.
"""UpdateMetadataRequest of API 6."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Request, Write
from pytest_kcontroller.wire.messages.update_metadata_response import UpdateMetadataResponse
from pytest_kcontroller.wire.primitives import (
    NO_TAGS,
    NULL,
    Numbers,
    read_array,
    read_nullable,
    read_string,
    read_tagged_fields,
    skip_tagged_fields,
    string,
    tagged_fields,
    write_array,
)

_b = Struct(">b")
_hB = Struct(">hB")
_i = Struct(">i")
_iiii = Struct(">iiii")
_itiq = Struct(">i?iq")
_u = Struct(">16s")
_int32s = Numbers("i")


@dataclass(slots=True, kw_only=True)
class UpdateMetadataPartitionState(Entry):
    partition_index: int
    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    zk_version: int
    replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...]


@dataclass(slots=True, kw_only=True)
class UpdateMetadataTopicState(Entry):
    topic_name: str
    topic_id: bytes
    partition_states: list[UpdateMetadataPartitionState]


@dataclass(slots=True, kw_only=True)
class UpdateMetadataEndpoint(Entry):
    port: int
    host: str
    listener: str
    security_protocol: int


@dataclass(slots=True, kw_only=True)
class UpdateMetadataBroker(Entry):
    id: int
    endpoints: list[UpdateMetadataEndpoint]
    rack: str | None


@dataclass(slots=True, kw_only=True)
class UpdateMetadataRequest(Request[UpdateMetadataResponse]):
    """Controller to broker: who is live, who leads what."""

    API_KEY = 6
    controller_id: int
    is_kraft_controller: bool = False
    controller_epoch: int
    broker_epoch: int = -1
    request_type: int = 0
    topic_states: list[UpdateMetadataTopicState]
    live_brokers: list[UpdateMetadataBroker]


def _encode_update_metadata_partition_state_v8(m: UpdateMetadataPartitionState, write: Write) -> None:
    write(_iiii.pack(m.partition_index, m.controller_epoch, m.leader, m.leader_epoch))
    write(_int32s.encode(m.isr))
    write(_i.pack(m.zk_version))
    write(_int32s.encode(m.replicas))
    write(_int32s.encode(m.offline_replicas))
    write(NO_TAGS)


def _decode_update_metadata_partition_state_v8(data: bytes, at: int) -> tuple[UpdateMetadataPartitionState, int]:
    m = object.__new__(UpdateMetadataPartitionState)
    m.encoded = None
    m.partition_index, m.controller_epoch, m.leader, m.leader_epoch = _iiii.unpack_from(data, at)
    at += 16
    m.isr, at = _int32s.read(data, at)
    (m.zk_version,) = _i.unpack_from(data, at)
    at += 4
    m.replicas, at = _int32s.read(data, at)
    m.offline_replicas, at = _int32s.read(data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_update_metadata_topic_state_v8(m: UpdateMetadataTopicState, write: Write) -> None:
    write(string(m.topic_name))
    write(_u.pack(m.topic_id))
    write_array(m.partition_states, _encode_update_metadata_partition_state_v8, write)
    write(NO_TAGS)


def _decode_update_metadata_topic_state_v8(data: bytes, at: int) -> tuple[UpdateMetadataTopicState, int]:
    m = object.__new__(UpdateMetadataTopicState)
    m.encoded = None
    m.topic_name, at = read_string(data, at)
    (m.topic_id,) = _u.unpack_from(data, at)
    at += 16
    m.partition_states, at = read_array(_decode_update_metadata_partition_state_v8, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_update_metadata_endpoint_v8(m: UpdateMetadataEndpoint, write: Write) -> None:
    write(_i.pack(m.port))
    write(string(m.host))
    write(string(m.listener))
    write(_hB.pack(m.security_protocol, 0))


def _decode_update_metadata_endpoint_v8(data: bytes, at: int) -> tuple[UpdateMetadataEndpoint, int]:
    m = object.__new__(UpdateMetadataEndpoint)
    m.encoded = None
    (m.port,) = _i.unpack_from(data, at)
    at += 4
    m.host, at = read_string(data, at)
    m.listener, at = read_string(data, at)
    m.security_protocol, tags = _hB.unpack_from(data, at)
    at = at + 3 if tags == 0 else skip_tagged_fields(data, at + 2)
    return m, at


def _encode_update_metadata_broker_v8(m: UpdateMetadataBroker, write: Write) -> None:
    write(_i.pack(m.id))
    write_array(m.endpoints, _encode_update_metadata_endpoint_v8, write)
    if m.rack is None:
        write(NULL)
    else:
        write(string(m.rack))
    write(NO_TAGS)


def _decode_update_metadata_broker_v8(data: bytes, at: int) -> tuple[UpdateMetadataBroker, int]:
    m = object.__new__(UpdateMetadataBroker)
    m.encoded = None
    (m.id,) = _i.unpack_from(data, at)
    at += 4
    m.endpoints, at = read_array(_decode_update_metadata_endpoint_v8, data, at)
    m.rack, at = read_nullable(read_string, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_update_metadata_request_v8(m: UpdateMetadataRequest, write: Write) -> None:
    write(_itiq.pack(m.controller_id, m.is_kraft_controller, m.controller_epoch, m.broker_epoch))
    write_array(m.topic_states, _encode_update_metadata_topic_state_v8, write)
    write_array(m.live_brokers, _encode_update_metadata_broker_v8, write)
    tagged: dict[int, bytes] = {}
    if m.request_type != 0:
        tagged[0] = _b.pack(m.request_type)
    write(tagged_fields(tagged))


def _decode_update_metadata_request_v8(data: bytes, at: int) -> tuple[UpdateMetadataRequest, int]:
    m = object.__new__(UpdateMetadataRequest)
    m.request_type = 0
    m.controller_id, m.is_kraft_controller, m.controller_epoch, m.broker_epoch = _itiq.unpack_from(data, at)
    at += 17
    m.topic_states, at = read_array(_decode_update_metadata_topic_state_v8, data, at)
    m.live_brokers, at = read_array(_decode_update_metadata_broker_v8, data, at)
    tagged, at = read_tagged_fields(data, at)
    if 0 in tagged:
        (m.request_type,) = _b.unpack(tagged[0])
    return m, at


UpdateMetadataPartitionState.LAYOUTS = {
    8: Layout(_encode_update_metadata_partition_state_v8, _decode_update_metadata_partition_state_v8),
}
UpdateMetadataTopicState.LAYOUTS = {
    8: Layout(_encode_update_metadata_topic_state_v8, _decode_update_metadata_topic_state_v8),
}
UpdateMetadataEndpoint.LAYOUTS = {
    8: Layout(_encode_update_metadata_endpoint_v8, _decode_update_metadata_endpoint_v8),
}
UpdateMetadataBroker.LAYOUTS = {
    8: Layout(_encode_update_metadata_broker_v8, _decode_update_metadata_broker_v8),
}
UpdateMetadataRequest.LAYOUTS = {
    8: Layout(_encode_update_metadata_request_v8, _decode_update_metadata_request_v8),
}
