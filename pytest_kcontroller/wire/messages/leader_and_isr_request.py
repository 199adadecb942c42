# Generated from wire/schemas by `make generated`: edit those.
"""LeaderAndIsrRequest of API 4."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Request, Write
from pytest_kcontroller.wire.messages.leader_and_isr_response import LeaderAndIsrResponse
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
_iB = Struct(">iB")
_ii = Struct(">ii")
_iiii = Struct(">iiii")
_iiq = Struct(">iiq")
_iiqb = Struct(">iiqb")
_itiqb = Struct(">i?iqb")
_t = Struct(">?")
_tB = Struct(">?B")
_tbB = Struct(">?bB")
_u = Struct(">16s")
_int32s = Numbers("i")


@dataclass(slots=True, kw_only=True)
class LeaderAndIsrPartitionState(Entry):
    topic_name: str = ""
    partition_index: int
    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    is_new: bool = False
    leader_recovery_state: int = 0


@dataclass(slots=True, kw_only=True)
class LeaderAndIsrTopicState(Entry):
    topic_name: str = ""
    topic_id: bytes = bytes(16)
    partition_states: list[LeaderAndIsrPartitionState]


@dataclass(slots=True, kw_only=True)
class LeaderAndIsrLiveLeader(Entry):
    broker_id: int
    host_name: str
    port: int


@dataclass(slots=True, kw_only=True)
class LeaderAndIsrRequest(Request[LeaderAndIsrResponse]):
    """Controller to broker: lead or follow these partitions."""

    API_KEY = 4
    controller_id: int
    is_kraft_controller: bool = False
    controller_epoch: int
    broker_epoch: int = -1
    request_type: int = 0
    ungrouped_partition_states: list[LeaderAndIsrPartitionState] = field(default_factory=list)
    topic_states: list[LeaderAndIsrTopicState] = field(default_factory=list)
    live_leaders: list[LeaderAndIsrLiveLeader]


def _encode_leader_and_isr_partition_state_v0(m: LeaderAndIsrPartitionState, write: Write) -> None:
    write(plain_string(m.topic_name))
    write(_iiii.pack(m.partition_index, m.controller_epoch, m.leader, m.leader_epoch))
    write(_int32s.plain_encode(m.isr))
    write(_i.pack(m.partition_epoch))
    write(_int32s.plain_encode(m.replicas))


def _decode_leader_and_isr_partition_state_v0(data: bytes, at: int) -> tuple[LeaderAndIsrPartitionState, int]:
    m = object.__new__(LeaderAndIsrPartitionState)
    m.encoded = None
    m.adding_replicas = ()
    m.removing_replicas = ()
    m.is_new = False
    m.leader_recovery_state = 0
    m.topic_name, at = read_plain_string(data, at)
    m.partition_index, m.controller_epoch, m.leader, m.leader_epoch = _iiii.unpack_from(data, at)
    at += 16
    m.isr, at = _int32s.plain_read(data, at)
    (m.partition_epoch,) = _i.unpack_from(data, at)
    at += 4
    m.replicas, at = _int32s.plain_read(data, at)
    return m, at


def _encode_leader_and_isr_live_leader_v0(m: LeaderAndIsrLiveLeader, write: Write) -> None:
    write(_i.pack(m.broker_id))
    write(plain_string(m.host_name))
    write(_i.pack(m.port))


def _decode_leader_and_isr_live_leader_v0(data: bytes, at: int) -> tuple[LeaderAndIsrLiveLeader, int]:
    m = object.__new__(LeaderAndIsrLiveLeader)
    m.encoded = None
    (m.broker_id,) = _i.unpack_from(data, at)
    at += 4
    m.host_name, at = read_plain_string(data, at)
    (m.port,) = _i.unpack_from(data, at)
    at += 4
    return m, at


def _encode_leader_and_isr_request_v0(m: LeaderAndIsrRequest, write: Write) -> None:
    write(_ii.pack(m.controller_id, m.controller_epoch))
    write_plain_array(m.ungrouped_partition_states, _encode_leader_and_isr_partition_state_v0, write)
    write_plain_array(m.live_leaders, _encode_leader_and_isr_live_leader_v0, write)


def _decode_leader_and_isr_request_v0(data: bytes, at: int) -> tuple[LeaderAndIsrRequest, int]:
    m = object.__new__(LeaderAndIsrRequest)
    m.is_kraft_controller = False
    m.broker_epoch = -1
    m.request_type = 0
    m.topic_states = []
    m.controller_id, m.controller_epoch = _ii.unpack_from(data, at)
    at += 8
    m.ungrouped_partition_states, at = read_plain_array(_decode_leader_and_isr_partition_state_v0, data, at)
    m.live_leaders, at = read_plain_array(_decode_leader_and_isr_live_leader_v0, data, at)
    return m, at


def _encode_leader_and_isr_partition_state_v1(m: LeaderAndIsrPartitionState, write: Write) -> None:
    write(plain_string(m.topic_name))
    write(_iiii.pack(m.partition_index, m.controller_epoch, m.leader, m.leader_epoch))
    write(_int32s.plain_encode(m.isr))
    write(_i.pack(m.partition_epoch))
    write(_int32s.plain_encode(m.replicas))
    write(_t.pack(m.is_new))


def _decode_leader_and_isr_partition_state_v1(data: bytes, at: int) -> tuple[LeaderAndIsrPartitionState, int]:
    m = object.__new__(LeaderAndIsrPartitionState)
    m.encoded = None
    m.adding_replicas = ()
    m.removing_replicas = ()
    m.leader_recovery_state = 0
    m.topic_name, at = read_plain_string(data, at)
    m.partition_index, m.controller_epoch, m.leader, m.leader_epoch = _iiii.unpack_from(data, at)
    at += 16
    m.isr, at = _int32s.plain_read(data, at)
    (m.partition_epoch,) = _i.unpack_from(data, at)
    at += 4
    m.replicas, at = _int32s.plain_read(data, at)
    (m.is_new,) = _t.unpack_from(data, at)
    at += 1
    return m, at


def _encode_leader_and_isr_request_v1(m: LeaderAndIsrRequest, write: Write) -> None:
    write(_ii.pack(m.controller_id, m.controller_epoch))
    write_plain_array(m.ungrouped_partition_states, _encode_leader_and_isr_partition_state_v1, write)
    write_plain_array(m.live_leaders, _encode_leader_and_isr_live_leader_v0, write)


def _decode_leader_and_isr_request_v1(data: bytes, at: int) -> tuple[LeaderAndIsrRequest, int]:
    m = object.__new__(LeaderAndIsrRequest)
    m.is_kraft_controller = False
    m.broker_epoch = -1
    m.request_type = 0
    m.topic_states = []
    m.controller_id, m.controller_epoch = _ii.unpack_from(data, at)
    at += 8
    m.ungrouped_partition_states, at = read_plain_array(_decode_leader_and_isr_partition_state_v1, data, at)
    m.live_leaders, at = read_plain_array(_decode_leader_and_isr_live_leader_v0, data, at)
    return m, at


def _encode_leader_and_isr_partition_state_v2(m: LeaderAndIsrPartitionState, write: Write) -> None:
    write(_iiii.pack(m.partition_index, m.controller_epoch, m.leader, m.leader_epoch))
    write(_int32s.plain_encode(m.isr))
    write(_i.pack(m.partition_epoch))
    write(_int32s.plain_encode(m.replicas))
    write(_t.pack(m.is_new))


def _decode_leader_and_isr_partition_state_v2(data: bytes, at: int) -> tuple[LeaderAndIsrPartitionState, int]:
    m = object.__new__(LeaderAndIsrPartitionState)
    m.encoded = None
    m.topic_name = ""
    m.adding_replicas = ()
    m.removing_replicas = ()
    m.leader_recovery_state = 0
    m.partition_index, m.controller_epoch, m.leader, m.leader_epoch = _iiii.unpack_from(data, at)
    at += 16
    m.isr, at = _int32s.plain_read(data, at)
    (m.partition_epoch,) = _i.unpack_from(data, at)
    at += 4
    m.replicas, at = _int32s.plain_read(data, at)
    (m.is_new,) = _t.unpack_from(data, at)
    at += 1
    return m, at


def _encode_leader_and_isr_topic_state_v2(m: LeaderAndIsrTopicState, write: Write) -> None:
    write(plain_string(m.topic_name))
    write_plain_array(m.partition_states, _encode_leader_and_isr_partition_state_v2, write)


def _decode_leader_and_isr_topic_state_v2(data: bytes, at: int) -> tuple[LeaderAndIsrTopicState, int]:
    m = object.__new__(LeaderAndIsrTopicState)
    m.encoded = None
    m.topic_id = bytes(16)
    m.topic_name, at = read_plain_string(data, at)
    m.partition_states, at = read_plain_array(_decode_leader_and_isr_partition_state_v2, data, at)
    return m, at


def _encode_leader_and_isr_request_v2(m: LeaderAndIsrRequest, write: Write) -> None:
    write(_iiq.pack(m.controller_id, m.controller_epoch, m.broker_epoch))
    write_plain_array(m.topic_states, _encode_leader_and_isr_topic_state_v2, write)
    write_plain_array(m.live_leaders, _encode_leader_and_isr_live_leader_v0, write)


def _decode_leader_and_isr_request_v2(data: bytes, at: int) -> tuple[LeaderAndIsrRequest, int]:
    m = object.__new__(LeaderAndIsrRequest)
    m.is_kraft_controller = False
    m.request_type = 0
    m.ungrouped_partition_states = []
    m.controller_id, m.controller_epoch, m.broker_epoch = _iiq.unpack_from(data, at)
    at += 16
    m.topic_states, at = read_plain_array(_decode_leader_and_isr_topic_state_v2, data, at)
    m.live_leaders, at = read_plain_array(_decode_leader_and_isr_live_leader_v0, data, at)
    return m, at


def _encode_leader_and_isr_partition_state_v3(m: LeaderAndIsrPartitionState, write: Write) -> None:
    write(_iiii.pack(m.partition_index, m.controller_epoch, m.leader, m.leader_epoch))
    write(_int32s.plain_encode(m.isr))
    write(_i.pack(m.partition_epoch))
    write(_int32s.plain_encode(m.replicas))
    write(_int32s.plain_encode(m.adding_replicas))
    write(_int32s.plain_encode(m.removing_replicas))
    write(_t.pack(m.is_new))


def _decode_leader_and_isr_partition_state_v3(data: bytes, at: int) -> tuple[LeaderAndIsrPartitionState, int]:
    m = object.__new__(LeaderAndIsrPartitionState)
    m.encoded = None
    m.topic_name = ""
    m.leader_recovery_state = 0
    m.partition_index, m.controller_epoch, m.leader, m.leader_epoch = _iiii.unpack_from(data, at)
    at += 16
    m.isr, at = _int32s.plain_read(data, at)
    (m.partition_epoch,) = _i.unpack_from(data, at)
    at += 4
    m.replicas, at = _int32s.plain_read(data, at)
    m.adding_replicas, at = _int32s.plain_read(data, at)
    m.removing_replicas, at = _int32s.plain_read(data, at)
    (m.is_new,) = _t.unpack_from(data, at)
    at += 1
    return m, at


def _encode_leader_and_isr_topic_state_v3(m: LeaderAndIsrTopicState, write: Write) -> None:
    write(plain_string(m.topic_name))
    write_plain_array(m.partition_states, _encode_leader_and_isr_partition_state_v3, write)


def _decode_leader_and_isr_topic_state_v3(data: bytes, at: int) -> tuple[LeaderAndIsrTopicState, int]:
    m = object.__new__(LeaderAndIsrTopicState)
    m.encoded = None
    m.topic_id = bytes(16)
    m.topic_name, at = read_plain_string(data, at)
    m.partition_states, at = read_plain_array(_decode_leader_and_isr_partition_state_v3, data, at)
    return m, at


def _encode_leader_and_isr_request_v3(m: LeaderAndIsrRequest, write: Write) -> None:
    write(_iiq.pack(m.controller_id, m.controller_epoch, m.broker_epoch))
    write_plain_array(m.topic_states, _encode_leader_and_isr_topic_state_v3, write)
    write_plain_array(m.live_leaders, _encode_leader_and_isr_live_leader_v0, write)


def _decode_leader_and_isr_request_v3(data: bytes, at: int) -> tuple[LeaderAndIsrRequest, int]:
    m = object.__new__(LeaderAndIsrRequest)
    m.is_kraft_controller = False
    m.request_type = 0
    m.ungrouped_partition_states = []
    m.controller_id, m.controller_epoch, m.broker_epoch = _iiq.unpack_from(data, at)
    at += 16
    m.topic_states, at = read_plain_array(_decode_leader_and_isr_topic_state_v3, data, at)
    m.live_leaders, at = read_plain_array(_decode_leader_and_isr_live_leader_v0, data, at)
    return m, at


def _encode_leader_and_isr_partition_state_v4(m: LeaderAndIsrPartitionState, write: Write) -> None:
    write(_iiii.pack(m.partition_index, m.controller_epoch, m.leader, m.leader_epoch))
    write(_int32s.encode(m.isr))
    write(_i.pack(m.partition_epoch))
    write(_int32s.encode(m.replicas))
    write(_int32s.encode(m.adding_replicas))
    write(_int32s.encode(m.removing_replicas))
    write(_tB.pack(m.is_new, 0))


def _decode_leader_and_isr_partition_state_v4(data: bytes, at: int) -> tuple[LeaderAndIsrPartitionState, int]:
    m = object.__new__(LeaderAndIsrPartitionState)
    m.encoded = None
    m.topic_name = ""
    m.leader_recovery_state = 0
    m.partition_index, m.controller_epoch, m.leader, m.leader_epoch = _iiii.unpack_from(data, at)
    at += 16
    m.isr, at = _int32s.read(data, at)
    (m.partition_epoch,) = _i.unpack_from(data, at)
    at += 4
    m.replicas, at = _int32s.read(data, at)
    m.adding_replicas, at = _int32s.read(data, at)
    m.removing_replicas, at = _int32s.read(data, at)
    m.is_new, tags = _tB.unpack_from(data, at)
    at = at + 2 if tags == 0 else skip_tagged_fields(data, at + 1)
    return m, at


def _encode_leader_and_isr_topic_state_v4(m: LeaderAndIsrTopicState, write: Write) -> None:
    write(string(m.topic_name))
    write_older_array(m.partition_states, _encode_leader_and_isr_partition_state_v4, write)
    write(NO_TAGS)


def _decode_leader_and_isr_topic_state_v4(data: bytes, at: int) -> tuple[LeaderAndIsrTopicState, int]:
    m = object.__new__(LeaderAndIsrTopicState)
    m.encoded = None
    m.topic_id = bytes(16)
    m.topic_name, at = read_string(data, at)
    m.partition_states, at = read_array(_decode_leader_and_isr_partition_state_v4, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_leader_and_isr_live_leader_v4(m: LeaderAndIsrLiveLeader, write: Write) -> None:
    write(_i.pack(m.broker_id))
    write(string(m.host_name))
    write(_iB.pack(m.port, 0))


def _decode_leader_and_isr_live_leader_v4(data: bytes, at: int) -> tuple[LeaderAndIsrLiveLeader, int]:
    m = object.__new__(LeaderAndIsrLiveLeader)
    m.encoded = None
    (m.broker_id,) = _i.unpack_from(data, at)
    at += 4
    m.host_name, at = read_string(data, at)
    m.port, tags = _iB.unpack_from(data, at)
    at = at + 5 if tags == 0 else skip_tagged_fields(data, at + 4)
    return m, at


def _encode_leader_and_isr_request_v4(m: LeaderAndIsrRequest, write: Write) -> None:
    write(_iiq.pack(m.controller_id, m.controller_epoch, m.broker_epoch))
    write_older_array(m.topic_states, _encode_leader_and_isr_topic_state_v4, write)
    write_older_array(m.live_leaders, _encode_leader_and_isr_live_leader_v4, write)
    write(NO_TAGS)


def _decode_leader_and_isr_request_v4(data: bytes, at: int) -> tuple[LeaderAndIsrRequest, int]:
    m = object.__new__(LeaderAndIsrRequest)
    m.is_kraft_controller = False
    m.request_type = 0
    m.ungrouped_partition_states = []
    m.controller_id, m.controller_epoch, m.broker_epoch = _iiq.unpack_from(data, at)
    at += 16
    m.topic_states, at = read_array(_decode_leader_and_isr_topic_state_v4, data, at)
    m.live_leaders, at = read_array(_decode_leader_and_isr_live_leader_v4, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_leader_and_isr_topic_state_v5(m: LeaderAndIsrTopicState, write: Write) -> None:
    write(string(m.topic_name))
    write(_u.pack(m.topic_id))
    write_older_array(m.partition_states, _encode_leader_and_isr_partition_state_v4, write)
    write(NO_TAGS)


def _decode_leader_and_isr_topic_state_v5(data: bytes, at: int) -> tuple[LeaderAndIsrTopicState, int]:
    m = object.__new__(LeaderAndIsrTopicState)
    m.encoded = None
    m.topic_name, at = read_string(data, at)
    (m.topic_id,) = _u.unpack_from(data, at)
    at += 16
    m.partition_states, at = read_array(_decode_leader_and_isr_partition_state_v4, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_leader_and_isr_request_v5(m: LeaderAndIsrRequest, write: Write) -> None:
    write(_iiqb.pack(m.controller_id, m.controller_epoch, m.broker_epoch, m.request_type))
    write_older_array(m.topic_states, _encode_leader_and_isr_topic_state_v5, write)
    write_older_array(m.live_leaders, _encode_leader_and_isr_live_leader_v4, write)
    write(NO_TAGS)


def _decode_leader_and_isr_request_v5(data: bytes, at: int) -> tuple[LeaderAndIsrRequest, int]:
    m = object.__new__(LeaderAndIsrRequest)
    m.is_kraft_controller = False
    m.ungrouped_partition_states = []
    m.controller_id, m.controller_epoch, m.broker_epoch, m.request_type = _iiqb.unpack_from(data, at)
    at += 17
    m.topic_states, at = read_array(_decode_leader_and_isr_topic_state_v5, data, at)
    m.live_leaders, at = read_array(_decode_leader_and_isr_live_leader_v4, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_leader_and_isr_partition_state_v6(m: LeaderAndIsrPartitionState, write: Write) -> None:
    write(_iiii.pack(m.partition_index, m.controller_epoch, m.leader, m.leader_epoch))
    write(_int32s.encode(m.isr))
    write(_i.pack(m.partition_epoch))
    write(_int32s.encode(m.replicas))
    write(_int32s.encode(m.adding_replicas))
    write(_int32s.encode(m.removing_replicas))
    write(_tbB.pack(m.is_new, m.leader_recovery_state, 0))


def _decode_leader_and_isr_partition_state_v6(data: bytes, at: int) -> tuple[LeaderAndIsrPartitionState, int]:
    m = object.__new__(LeaderAndIsrPartitionState)
    m.encoded = None
    m.topic_name = ""
    m.partition_index, m.controller_epoch, m.leader, m.leader_epoch = _iiii.unpack_from(data, at)
    at += 16
    m.isr, at = _int32s.read(data, at)
    (m.partition_epoch,) = _i.unpack_from(data, at)
    at += 4
    m.replicas, at = _int32s.read(data, at)
    m.adding_replicas, at = _int32s.read(data, at)
    m.removing_replicas, at = _int32s.read(data, at)
    m.is_new, m.leader_recovery_state, tags = _tbB.unpack_from(data, at)
    at = at + 3 if tags == 0 else skip_tagged_fields(data, at + 2)
    return m, at


def _encode_leader_and_isr_topic_state_v6(m: LeaderAndIsrTopicState, write: Write) -> None:
    write(string(m.topic_name))
    write(_u.pack(m.topic_id))
    write_older_array(m.partition_states, _encode_leader_and_isr_partition_state_v6, write)
    write(NO_TAGS)


def _decode_leader_and_isr_topic_state_v6(data: bytes, at: int) -> tuple[LeaderAndIsrTopicState, int]:
    m = object.__new__(LeaderAndIsrTopicState)
    m.encoded = None
    m.topic_name, at = read_string(data, at)
    (m.topic_id,) = _u.unpack_from(data, at)
    at += 16
    m.partition_states, at = read_array(_decode_leader_and_isr_partition_state_v6, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_leader_and_isr_request_v6(m: LeaderAndIsrRequest, write: Write) -> None:
    write(_iiqb.pack(m.controller_id, m.controller_epoch, m.broker_epoch, m.request_type))
    write_older_array(m.topic_states, _encode_leader_and_isr_topic_state_v6, write)
    write_older_array(m.live_leaders, _encode_leader_and_isr_live_leader_v4, write)
    write(NO_TAGS)


def _decode_leader_and_isr_request_v6(data: bytes, at: int) -> tuple[LeaderAndIsrRequest, int]:
    m = object.__new__(LeaderAndIsrRequest)
    m.is_kraft_controller = False
    m.ungrouped_partition_states = []
    m.controller_id, m.controller_epoch, m.broker_epoch, m.request_type = _iiqb.unpack_from(data, at)
    at += 17
    m.topic_states, at = read_array(_decode_leader_and_isr_topic_state_v6, data, at)
    m.live_leaders, at = read_array(_decode_leader_and_isr_live_leader_v4, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_leader_and_isr_topic_state_v7(m: LeaderAndIsrTopicState, write: Write) -> None:
    write(string(m.topic_name))
    write(_u.pack(m.topic_id))
    write_array(m.partition_states, _encode_leader_and_isr_partition_state_v6, write)
    write(NO_TAGS)


def _decode_leader_and_isr_topic_state_v7(data: bytes, at: int) -> tuple[LeaderAndIsrTopicState, int]:
    m = object.__new__(LeaderAndIsrTopicState)
    m.encoded = None
    m.topic_name, at = read_string(data, at)
    (m.topic_id,) = _u.unpack_from(data, at)
    at += 16
    m.partition_states, at = read_array(_decode_leader_and_isr_partition_state_v6, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_leader_and_isr_request_v7(m: LeaderAndIsrRequest, write: Write) -> None:
    write(_itiqb.pack(m.controller_id, m.is_kraft_controller, m.controller_epoch, m.broker_epoch, m.request_type))
    write_array(m.topic_states, _encode_leader_and_isr_topic_state_v7, write)
    write_array(m.live_leaders, _encode_leader_and_isr_live_leader_v4, write)
    write(NO_TAGS)


def _decode_leader_and_isr_request_v7(data: bytes, at: int) -> tuple[LeaderAndIsrRequest, int]:
    m = object.__new__(LeaderAndIsrRequest)
    m.ungrouped_partition_states = []
    (
        m.controller_id,
        m.is_kraft_controller,
        m.controller_epoch,
        m.broker_epoch,
        m.request_type,
    ) = _itiqb.unpack_from(data, at)
    at += 18
    m.topic_states, at = read_array(_decode_leader_and_isr_topic_state_v7, data, at)
    m.live_leaders, at = read_array(_decode_leader_and_isr_live_leader_v4, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


LeaderAndIsrPartitionState.LAYOUTS = {
    0: Layout(_encode_leader_and_isr_partition_state_v0, _decode_leader_and_isr_partition_state_v0),
    1: Layout(_encode_leader_and_isr_partition_state_v1, _decode_leader_and_isr_partition_state_v1),
    2: Layout(_encode_leader_and_isr_partition_state_v2, _decode_leader_and_isr_partition_state_v2),
    3: Layout(_encode_leader_and_isr_partition_state_v3, _decode_leader_and_isr_partition_state_v3),
    4: Layout(_encode_leader_and_isr_partition_state_v4, _decode_leader_and_isr_partition_state_v4),
    5: Layout(_encode_leader_and_isr_partition_state_v4, _decode_leader_and_isr_partition_state_v4),
    6: Layout(_encode_leader_and_isr_partition_state_v6, _decode_leader_and_isr_partition_state_v6),
    7: Layout(_encode_leader_and_isr_partition_state_v6, _decode_leader_and_isr_partition_state_v6),
}
LeaderAndIsrTopicState.LAYOUTS = {
    2: Layout(_encode_leader_and_isr_topic_state_v2, _decode_leader_and_isr_topic_state_v2),
    3: Layout(_encode_leader_and_isr_topic_state_v3, _decode_leader_and_isr_topic_state_v3),
    4: Layout(_encode_leader_and_isr_topic_state_v4, _decode_leader_and_isr_topic_state_v4),
    5: Layout(_encode_leader_and_isr_topic_state_v5, _decode_leader_and_isr_topic_state_v5),
    6: Layout(_encode_leader_and_isr_topic_state_v6, _decode_leader_and_isr_topic_state_v6),
    7: Layout(_encode_leader_and_isr_topic_state_v7, _decode_leader_and_isr_topic_state_v7),
}
LeaderAndIsrLiveLeader.LAYOUTS = {
    0: Layout(_encode_leader_and_isr_live_leader_v0, _decode_leader_and_isr_live_leader_v0),
    1: Layout(_encode_leader_and_isr_live_leader_v0, _decode_leader_and_isr_live_leader_v0),
    2: Layout(_encode_leader_and_isr_live_leader_v0, _decode_leader_and_isr_live_leader_v0),
    3: Layout(_encode_leader_and_isr_live_leader_v0, _decode_leader_and_isr_live_leader_v0),
    4: Layout(_encode_leader_and_isr_live_leader_v4, _decode_leader_and_isr_live_leader_v4),
    5: Layout(_encode_leader_and_isr_live_leader_v4, _decode_leader_and_isr_live_leader_v4),
    6: Layout(_encode_leader_and_isr_live_leader_v4, _decode_leader_and_isr_live_leader_v4),
    7: Layout(_encode_leader_and_isr_live_leader_v4, _decode_leader_and_isr_live_leader_v4),
}
LeaderAndIsrRequest.LAYOUTS = {
    0: Layout(_encode_leader_and_isr_request_v0, _decode_leader_and_isr_request_v0),
    1: Layout(_encode_leader_and_isr_request_v1, _decode_leader_and_isr_request_v1),
    2: Layout(_encode_leader_and_isr_request_v2, _decode_leader_and_isr_request_v2),
    3: Layout(_encode_leader_and_isr_request_v3, _decode_leader_and_isr_request_v3),
    4: Layout(_encode_leader_and_isr_request_v4, _decode_leader_and_isr_request_v4),
    5: Layout(_encode_leader_and_isr_request_v5, _decode_leader_and_isr_request_v5),
    6: Layout(_encode_leader_and_isr_request_v6, _decode_leader_and_isr_request_v6),
    7: Layout(_encode_leader_and_isr_request_v7, _decode_leader_and_isr_request_v7),
}
