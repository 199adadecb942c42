# Generated from wire/schemas by `make generated`: edit those.
"""UpdateMetadataRequest of API 6."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Request, Write
from pytest_kcontroller.wire.messages.update_metadata_response import UpdateMetadataResponse
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
    read_tagged_fields,
    skip_tagged_fields,
    string,
    tagged_fields,
    write_array,
    write_older_array,
    write_plain_array,
)

_b = Struct(">b")
_h = Struct(">h")
_hB = Struct(">hB")
_i = Struct(">i")
_ii = Struct(">ii")
_iiii = Struct(">iiii")
_iiq = Struct(">iiq")
_itiq = Struct(">i?iq")
_u = Struct(">16s")
_int32s = Numbers("i")


@dataclass(slots=True, kw_only=True)
class UpdateMetadataPartitionState(Entry):
    topic_name: str = ""
    partition_index: int
    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    zk_version: int
    replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...] = ()


@dataclass(slots=True, kw_only=True)
class UpdateMetadataTopicState(Entry):
    topic_name: str = ""
    topic_id: bytes = bytes(16)
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
    ungrouped_partition_states: list[UpdateMetadataPartitionState] = field(default_factory=list)
    topic_states: list[UpdateMetadataTopicState] = field(default_factory=list)
    live_brokers: list[UpdateMetadataBroker]


def _encode_update_metadata_partition_state_v3(m: UpdateMetadataPartitionState, write: Write) -> None:
    write(plain_string(m.topic_name))
    write(_iiii.pack(m.partition_index, m.controller_epoch, m.leader, m.leader_epoch))
    write(_int32s.plain_encode(m.isr))
    write(_i.pack(m.zk_version))
    write(_int32s.plain_encode(m.replicas))


def _decode_update_metadata_partition_state_v3(data: bytes, at: int) -> tuple[UpdateMetadataPartitionState, int]:
    m = object.__new__(UpdateMetadataPartitionState)
    m.encoded = None
    m.offline_replicas = ()
    m.topic_name, at = read_plain_string(data, at)
    m.partition_index, m.controller_epoch, m.leader, m.leader_epoch = _iiii.unpack_from(data, at)
    at += 16
    m.isr, at = _int32s.plain_read(data, at)
    (m.zk_version,) = _i.unpack_from(data, at)
    at += 4
    m.replicas, at = _int32s.plain_read(data, at)
    return m, at


def _encode_update_metadata_endpoint_v3(m: UpdateMetadataEndpoint, write: Write) -> None:
    write(_i.pack(m.port))
    write(plain_string(m.host))
    write(plain_string(m.listener))
    write(_h.pack(m.security_protocol))


def _decode_update_metadata_endpoint_v3(data: bytes, at: int) -> tuple[UpdateMetadataEndpoint, int]:
    m = object.__new__(UpdateMetadataEndpoint)
    m.encoded = None
    (m.port,) = _i.unpack_from(data, at)
    at += 4
    m.host, at = read_plain_string(data, at)
    m.listener, at = read_plain_string(data, at)
    (m.security_protocol,) = _h.unpack_from(data, at)
    at += 2
    return m, at


def _encode_update_metadata_broker_v3(m: UpdateMetadataBroker, write: Write) -> None:
    write(_i.pack(m.id))
    write_plain_array(m.endpoints, _encode_update_metadata_endpoint_v3, write)
    if m.rack is None:
        write(NULL_STRING)
    else:
        write(plain_string(m.rack))


def _decode_update_metadata_broker_v3(data: bytes, at: int) -> tuple[UpdateMetadataBroker, int]:
    m = object.__new__(UpdateMetadataBroker)
    m.encoded = None
    (m.id,) = _i.unpack_from(data, at)
    at += 4
    m.endpoints, at = read_plain_array(_decode_update_metadata_endpoint_v3, data, at)
    m.rack, at = read_plain_nullable(NULL_STRING, read_plain_string, data, at)
    return m, at


def _encode_update_metadata_request_v3(m: UpdateMetadataRequest, write: Write) -> None:
    write(_ii.pack(m.controller_id, m.controller_epoch))
    write_plain_array(m.ungrouped_partition_states, _encode_update_metadata_partition_state_v3, write)
    write_plain_array(m.live_brokers, _encode_update_metadata_broker_v3, write)


def _decode_update_metadata_request_v3(data: bytes, at: int) -> tuple[UpdateMetadataRequest, int]:
    m = object.__new__(UpdateMetadataRequest)
    m.is_kraft_controller = False
    m.broker_epoch = -1
    m.request_type = 0
    m.topic_states = []
    m.controller_id, m.controller_epoch = _ii.unpack_from(data, at)
    at += 8
    m.ungrouped_partition_states, at = read_plain_array(_decode_update_metadata_partition_state_v3, data, at)
    m.live_brokers, at = read_plain_array(_decode_update_metadata_broker_v3, data, at)
    return m, at


def _encode_update_metadata_partition_state_v4(m: UpdateMetadataPartitionState, write: Write) -> None:
    write(plain_string(m.topic_name))
    write(_iiii.pack(m.partition_index, m.controller_epoch, m.leader, m.leader_epoch))
    write(_int32s.plain_encode(m.isr))
    write(_i.pack(m.zk_version))
    write(_int32s.plain_encode(m.replicas))
    write(_int32s.plain_encode(m.offline_replicas))


def _decode_update_metadata_partition_state_v4(data: bytes, at: int) -> tuple[UpdateMetadataPartitionState, int]:
    m = object.__new__(UpdateMetadataPartitionState)
    m.encoded = None
    m.topic_name, at = read_plain_string(data, at)
    m.partition_index, m.controller_epoch, m.leader, m.leader_epoch = _iiii.unpack_from(data, at)
    at += 16
    m.isr, at = _int32s.plain_read(data, at)
    (m.zk_version,) = _i.unpack_from(data, at)
    at += 4
    m.replicas, at = _int32s.plain_read(data, at)
    m.offline_replicas, at = _int32s.plain_read(data, at)
    return m, at


def _encode_update_metadata_request_v4(m: UpdateMetadataRequest, write: Write) -> None:
    write(_ii.pack(m.controller_id, m.controller_epoch))
    write_plain_array(m.ungrouped_partition_states, _encode_update_metadata_partition_state_v4, write)
    write_plain_array(m.live_brokers, _encode_update_metadata_broker_v3, write)


def _decode_update_metadata_request_v4(data: bytes, at: int) -> tuple[UpdateMetadataRequest, int]:
    m = object.__new__(UpdateMetadataRequest)
    m.is_kraft_controller = False
    m.broker_epoch = -1
    m.request_type = 0
    m.topic_states = []
    m.controller_id, m.controller_epoch = _ii.unpack_from(data, at)
    at += 8
    m.ungrouped_partition_states, at = read_plain_array(_decode_update_metadata_partition_state_v4, data, at)
    m.live_brokers, at = read_plain_array(_decode_update_metadata_broker_v3, data, at)
    return m, at


def _encode_update_metadata_partition_state_v5(m: UpdateMetadataPartitionState, write: Write) -> None:
    write(_iiii.pack(m.partition_index, m.controller_epoch, m.leader, m.leader_epoch))
    write(_int32s.plain_encode(m.isr))
    write(_i.pack(m.zk_version))
    write(_int32s.plain_encode(m.replicas))
    write(_int32s.plain_encode(m.offline_replicas))


def _decode_update_metadata_partition_state_v5(data: bytes, at: int) -> tuple[UpdateMetadataPartitionState, int]:
    m = object.__new__(UpdateMetadataPartitionState)
    m.encoded = None
    m.topic_name = ""
    m.partition_index, m.controller_epoch, m.leader, m.leader_epoch = _iiii.unpack_from(data, at)
    at += 16
    m.isr, at = _int32s.plain_read(data, at)
    (m.zk_version,) = _i.unpack_from(data, at)
    at += 4
    m.replicas, at = _int32s.plain_read(data, at)
    m.offline_replicas, at = _int32s.plain_read(data, at)
    return m, at


def _encode_update_metadata_topic_state_v5(m: UpdateMetadataTopicState, write: Write) -> None:
    write(plain_string(m.topic_name))
    write_plain_array(m.partition_states, _encode_update_metadata_partition_state_v5, write)


def _decode_update_metadata_topic_state_v5(data: bytes, at: int) -> tuple[UpdateMetadataTopicState, int]:
    m = object.__new__(UpdateMetadataTopicState)
    m.encoded = None
    m.topic_id = bytes(16)
    m.topic_name, at = read_plain_string(data, at)
    m.partition_states, at = read_plain_array(_decode_update_metadata_partition_state_v5, data, at)
    return m, at


def _encode_update_metadata_request_v5(m: UpdateMetadataRequest, write: Write) -> None:
    write(_iiq.pack(m.controller_id, m.controller_epoch, m.broker_epoch))
    write_plain_array(m.topic_states, _encode_update_metadata_topic_state_v5, write)
    write_plain_array(m.live_brokers, _encode_update_metadata_broker_v3, write)


def _decode_update_metadata_request_v5(data: bytes, at: int) -> tuple[UpdateMetadataRequest, int]:
    m = object.__new__(UpdateMetadataRequest)
    m.is_kraft_controller = False
    m.request_type = 0
    m.ungrouped_partition_states = []
    m.controller_id, m.controller_epoch, m.broker_epoch = _iiq.unpack_from(data, at)
    at += 16
    m.topic_states, at = read_plain_array(_decode_update_metadata_topic_state_v5, data, at)
    m.live_brokers, at = read_plain_array(_decode_update_metadata_broker_v3, data, at)
    return m, at


def _encode_update_metadata_partition_state_v6(m: UpdateMetadataPartitionState, write: Write) -> None:
    write(_iiii.pack(m.partition_index, m.controller_epoch, m.leader, m.leader_epoch))
    write(_int32s.encode(m.isr))
    write(_i.pack(m.zk_version))
    write(_int32s.encode(m.replicas))
    write(_int32s.encode(m.offline_replicas))
    write(NO_TAGS)


def _decode_update_metadata_partition_state_v6(data: bytes, at: int) -> tuple[UpdateMetadataPartitionState, int]:
    m = object.__new__(UpdateMetadataPartitionState)
    m.encoded = None
    m.topic_name = ""
    m.partition_index, m.controller_epoch, m.leader, m.leader_epoch = _iiii.unpack_from(data, at)
    at += 16
    m.isr, at = _int32s.read(data, at)
    (m.zk_version,) = _i.unpack_from(data, at)
    at += 4
    m.replicas, at = _int32s.read(data, at)
    m.offline_replicas, at = _int32s.read(data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_update_metadata_topic_state_v6(m: UpdateMetadataTopicState, write: Write) -> None:
    write(string(m.topic_name))
    write_older_array(m.partition_states, _encode_update_metadata_partition_state_v6, write)
    write(NO_TAGS)


def _decode_update_metadata_topic_state_v6(data: bytes, at: int) -> tuple[UpdateMetadataTopicState, int]:
    m = object.__new__(UpdateMetadataTopicState)
    m.encoded = None
    m.topic_id = bytes(16)
    m.topic_name, at = read_string(data, at)
    m.partition_states, at = read_array(_decode_update_metadata_partition_state_v6, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_update_metadata_endpoint_v6(m: UpdateMetadataEndpoint, write: Write) -> None:
    write(_i.pack(m.port))
    write(string(m.host))
    write(string(m.listener))
    write(_hB.pack(m.security_protocol, 0))


def _decode_update_metadata_endpoint_v6(data: bytes, at: int) -> tuple[UpdateMetadataEndpoint, int]:
    m = object.__new__(UpdateMetadataEndpoint)
    m.encoded = None
    (m.port,) = _i.unpack_from(data, at)
    at += 4
    m.host, at = read_string(data, at)
    m.listener, at = read_string(data, at)
    m.security_protocol, tags = _hB.unpack_from(data, at)
    at = at + 3 if tags == 0 else skip_tagged_fields(data, at + 2)
    return m, at


def _encode_update_metadata_broker_v6(m: UpdateMetadataBroker, write: Write) -> None:
    write(_i.pack(m.id))
    write_older_array(m.endpoints, _encode_update_metadata_endpoint_v6, write)
    if m.rack is None:
        write(NULL)
    else:
        write(string(m.rack))
    write(NO_TAGS)


def _decode_update_metadata_broker_v6(data: bytes, at: int) -> tuple[UpdateMetadataBroker, int]:
    m = object.__new__(UpdateMetadataBroker)
    m.encoded = None
    (m.id,) = _i.unpack_from(data, at)
    at += 4
    m.endpoints, at = read_array(_decode_update_metadata_endpoint_v6, data, at)
    m.rack, at = read_nullable(read_string, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_update_metadata_request_v6(m: UpdateMetadataRequest, write: Write) -> None:
    write(_iiq.pack(m.controller_id, m.controller_epoch, m.broker_epoch))
    write_older_array(m.topic_states, _encode_update_metadata_topic_state_v6, write)
    write_older_array(m.live_brokers, _encode_update_metadata_broker_v6, write)
    write(NO_TAGS)


def _decode_update_metadata_request_v6(data: bytes, at: int) -> tuple[UpdateMetadataRequest, int]:
    m = object.__new__(UpdateMetadataRequest)
    m.is_kraft_controller = False
    m.request_type = 0
    m.ungrouped_partition_states = []
    m.controller_id, m.controller_epoch, m.broker_epoch = _iiq.unpack_from(data, at)
    at += 16
    m.topic_states, at = read_array(_decode_update_metadata_topic_state_v6, data, at)
    m.live_brokers, at = read_array(_decode_update_metadata_broker_v6, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_update_metadata_topic_state_v7(m: UpdateMetadataTopicState, write: Write) -> None:
    write(string(m.topic_name))
    write(_u.pack(m.topic_id))
    write_older_array(m.partition_states, _encode_update_metadata_partition_state_v6, write)
    write(NO_TAGS)


def _decode_update_metadata_topic_state_v7(data: bytes, at: int) -> tuple[UpdateMetadataTopicState, int]:
    m = object.__new__(UpdateMetadataTopicState)
    m.encoded = None
    m.topic_name, at = read_string(data, at)
    (m.topic_id,) = _u.unpack_from(data, at)
    at += 16
    m.partition_states, at = read_array(_decode_update_metadata_partition_state_v6, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_update_metadata_request_v7(m: UpdateMetadataRequest, write: Write) -> None:
    write(_iiq.pack(m.controller_id, m.controller_epoch, m.broker_epoch))
    write_older_array(m.topic_states, _encode_update_metadata_topic_state_v7, write)
    write_older_array(m.live_brokers, _encode_update_metadata_broker_v6, write)
    write(NO_TAGS)


def _decode_update_metadata_request_v7(data: bytes, at: int) -> tuple[UpdateMetadataRequest, int]:
    m = object.__new__(UpdateMetadataRequest)
    m.is_kraft_controller = False
    m.request_type = 0
    m.ungrouped_partition_states = []
    m.controller_id, m.controller_epoch, m.broker_epoch = _iiq.unpack_from(data, at)
    at += 16
    m.topic_states, at = read_array(_decode_update_metadata_topic_state_v7, data, at)
    m.live_brokers, at = read_array(_decode_update_metadata_broker_v6, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_update_metadata_topic_state_v8(m: UpdateMetadataTopicState, write: Write) -> None:
    write(string(m.topic_name))
    write(_u.pack(m.topic_id))
    write_array(m.partition_states, _encode_update_metadata_partition_state_v6, write)
    write(NO_TAGS)


def _decode_update_metadata_topic_state_v8(data: bytes, at: int) -> tuple[UpdateMetadataTopicState, int]:
    m = object.__new__(UpdateMetadataTopicState)
    m.encoded = None
    m.topic_name, at = read_string(data, at)
    (m.topic_id,) = _u.unpack_from(data, at)
    at += 16
    m.partition_states, at = read_array(_decode_update_metadata_partition_state_v6, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_update_metadata_broker_v8(m: UpdateMetadataBroker, write: Write) -> None:
    write(_i.pack(m.id))
    write_array(m.endpoints, _encode_update_metadata_endpoint_v6, write)
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
    m.endpoints, at = read_array(_decode_update_metadata_endpoint_v6, data, at)
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
    m.ungrouped_partition_states = []
    m.controller_id, m.is_kraft_controller, m.controller_epoch, m.broker_epoch = _itiq.unpack_from(data, at)
    at += 17
    m.topic_states, at = read_array(_decode_update_metadata_topic_state_v8, data, at)
    m.live_brokers, at = read_array(_decode_update_metadata_broker_v8, data, at)
    tagged, at = read_tagged_fields(data, at)
    if 0 in tagged:
        (m.request_type,) = _b.unpack(tagged[0])
    return m, at


UpdateMetadataPartitionState.LAYOUTS = {
    3: Layout(_encode_update_metadata_partition_state_v3, _decode_update_metadata_partition_state_v3),
    4: Layout(_encode_update_metadata_partition_state_v4, _decode_update_metadata_partition_state_v4),
    5: Layout(_encode_update_metadata_partition_state_v5, _decode_update_metadata_partition_state_v5),
    6: Layout(_encode_update_metadata_partition_state_v6, _decode_update_metadata_partition_state_v6),
    7: Layout(_encode_update_metadata_partition_state_v6, _decode_update_metadata_partition_state_v6),
    8: Layout(_encode_update_metadata_partition_state_v6, _decode_update_metadata_partition_state_v6),
}
UpdateMetadataTopicState.LAYOUTS = {
    5: Layout(_encode_update_metadata_topic_state_v5, _decode_update_metadata_topic_state_v5),
    6: Layout(_encode_update_metadata_topic_state_v6, _decode_update_metadata_topic_state_v6),
    7: Layout(_encode_update_metadata_topic_state_v7, _decode_update_metadata_topic_state_v7),
    8: Layout(_encode_update_metadata_topic_state_v8, _decode_update_metadata_topic_state_v8),
}
UpdateMetadataEndpoint.LAYOUTS = {
    3: Layout(_encode_update_metadata_endpoint_v3, _decode_update_metadata_endpoint_v3),
    4: Layout(_encode_update_metadata_endpoint_v3, _decode_update_metadata_endpoint_v3),
    5: Layout(_encode_update_metadata_endpoint_v3, _decode_update_metadata_endpoint_v3),
    6: Layout(_encode_update_metadata_endpoint_v6, _decode_update_metadata_endpoint_v6),
    7: Layout(_encode_update_metadata_endpoint_v6, _decode_update_metadata_endpoint_v6),
    8: Layout(_encode_update_metadata_endpoint_v6, _decode_update_metadata_endpoint_v6),
}
UpdateMetadataBroker.LAYOUTS = {
    3: Layout(_encode_update_metadata_broker_v3, _decode_update_metadata_broker_v3),
    4: Layout(_encode_update_metadata_broker_v3, _decode_update_metadata_broker_v3),
    5: Layout(_encode_update_metadata_broker_v3, _decode_update_metadata_broker_v3),
    6: Layout(_encode_update_metadata_broker_v6, _decode_update_metadata_broker_v6),
    7: Layout(_encode_update_metadata_broker_v6, _decode_update_metadata_broker_v6),
    8: Layout(_encode_update_metadata_broker_v8, _decode_update_metadata_broker_v8),
}
UpdateMetadataRequest.LAYOUTS = {
    3: Layout(_encode_update_metadata_request_v3, _decode_update_metadata_request_v3),
    4: Layout(_encode_update_metadata_request_v4, _decode_update_metadata_request_v4),
    5: Layout(_encode_update_metadata_request_v5, _decode_update_metadata_request_v5),
    6: Layout(_encode_update_metadata_request_v6, _decode_update_metadata_request_v6),
    7: Layout(_encode_update_metadata_request_v7, _decode_update_metadata_request_v7),
    8: Layout(_encode_update_metadata_request_v8, _decode_update_metadata_request_v8),
}
