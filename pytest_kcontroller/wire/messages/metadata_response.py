# Generated from wire/schemas by `make generated`: edit those.
"""MetadataResponse of API 3."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from pytest_kcontroller.wire.message import Entry, Layout, Response, Write
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
    required,
    skip_tagged_fields,
    string,
    write_array,
    write_older_array,
    write_plain_array,
)

_h = Struct(">h")
_hii = Struct(">hii")
_hiii = Struct(">hiii")
_i = Struct(">i")
_iB = Struct(">iB")
_t = Struct(">?")
_ut = Struct(">16s?")
_int32s = Numbers("i")


@dataclass(slots=True, kw_only=True)
class MetadataResponseBroker(Entry):
    node_id: int
    host: str
    port: int
    rack: str | None = None


@dataclass(slots=True, kw_only=True)
class MetadataResponsePartition(Entry):
    error_code: int
    partition_index: int
    leader_id: int
    leader_epoch: int = -1
    replica_nodes: tuple[int, ...]
    isr_nodes: tuple[int, ...]
    offline_replicas: tuple[int, ...] = ()


@dataclass(slots=True, kw_only=True)
class MetadataResponseTopic(Entry):
    error_code: int
    name: str | None
    topic_id: bytes = bytes(16)
    is_internal: bool = False
    partitions: list[MetadataResponsePartition]
    topic_authorized_operations: int = -2147483648


@dataclass(slots=True, kw_only=True)
class MetadataResponse(Response):
    """Brokers, controller and partitions, as the broker was told."""

    API_KEY = 3
    throttle_time_ms: int = 0
    brokers: list[MetadataResponseBroker]
    cluster_id: str | None = None
    controller_id: int = -1
    topics: list[MetadataResponseTopic]
    cluster_authorized_operations: int = -2147483648


def _encode_metadata_response_broker_v0(m: MetadataResponseBroker, write: Write) -> None:
    write(_i.pack(m.node_id))
    write(plain_string(m.host))
    write(_i.pack(m.port))


def _decode_metadata_response_broker_v0(data: bytes, at: int) -> tuple[MetadataResponseBroker, int]:
    m = object.__new__(MetadataResponseBroker)
    m.encoded = None
    m.rack = None
    (m.node_id,) = _i.unpack_from(data, at)
    at += 4
    m.host, at = read_plain_string(data, at)
    (m.port,) = _i.unpack_from(data, at)
    at += 4
    return m, at


def _encode_metadata_response_partition_v0(m: MetadataResponsePartition, write: Write) -> None:
    write(_hii.pack(m.error_code, m.partition_index, m.leader_id))
    write(_int32s.plain_encode(m.replica_nodes))
    write(_int32s.plain_encode(m.isr_nodes))


def _decode_metadata_response_partition_v0(data: bytes, at: int) -> tuple[MetadataResponsePartition, int]:
    m = object.__new__(MetadataResponsePartition)
    m.encoded = None
    m.leader_epoch = -1
    m.offline_replicas = ()
    m.error_code, m.partition_index, m.leader_id = _hii.unpack_from(data, at)
    at += 10
    m.replica_nodes, at = _int32s.plain_read(data, at)
    m.isr_nodes, at = _int32s.plain_read(data, at)
    return m, at


def _encode_metadata_response_topic_v0(m: MetadataResponseTopic, write: Write) -> None:
    write(_h.pack(m.error_code))
    write(plain_string(required(m.name)))
    write_plain_array(m.partitions, _encode_metadata_response_partition_v0, write)


def _decode_metadata_response_topic_v0(data: bytes, at: int) -> tuple[MetadataResponseTopic, int]:
    m = object.__new__(MetadataResponseTopic)
    m.encoded = None
    m.topic_id = bytes(16)
    m.is_internal = False
    m.topic_authorized_operations = -2147483648
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.name, at = read_plain_string(data, at)
    m.partitions, at = read_plain_array(_decode_metadata_response_partition_v0, data, at)
    return m, at


def _encode_metadata_response_v0(m: MetadataResponse, write: Write) -> None:
    write_plain_array(m.brokers, _encode_metadata_response_broker_v0, write)
    write_plain_array(m.topics, _encode_metadata_response_topic_v0, write)


def _decode_metadata_response_v0(data: bytes, at: int) -> tuple[MetadataResponse, int]:
    m = object.__new__(MetadataResponse)
    m.throttle_time_ms = 0
    m.cluster_id = None
    m.controller_id = -1
    m.cluster_authorized_operations = -2147483648
    m.brokers, at = read_plain_array(_decode_metadata_response_broker_v0, data, at)
    m.topics, at = read_plain_array(_decode_metadata_response_topic_v0, data, at)
    return m, at


def _encode_metadata_response_broker_v1(m: MetadataResponseBroker, write: Write) -> None:
    write(_i.pack(m.node_id))
    write(plain_string(m.host))
    write(_i.pack(m.port))
    if m.rack is None:
        write(NULL_STRING)
    else:
        write(plain_string(m.rack))


def _decode_metadata_response_broker_v1(data: bytes, at: int) -> tuple[MetadataResponseBroker, int]:
    m = object.__new__(MetadataResponseBroker)
    m.encoded = None
    (m.node_id,) = _i.unpack_from(data, at)
    at += 4
    m.host, at = read_plain_string(data, at)
    (m.port,) = _i.unpack_from(data, at)
    at += 4
    m.rack, at = read_plain_nullable(NULL_STRING, read_plain_string, data, at)
    return m, at


def _encode_metadata_response_topic_v1(m: MetadataResponseTopic, write: Write) -> None:
    write(_h.pack(m.error_code))
    write(plain_string(required(m.name)))
    write(_t.pack(m.is_internal))
    write_plain_array(m.partitions, _encode_metadata_response_partition_v0, write)


def _decode_metadata_response_topic_v1(data: bytes, at: int) -> tuple[MetadataResponseTopic, int]:
    m = object.__new__(MetadataResponseTopic)
    m.encoded = None
    m.topic_id = bytes(16)
    m.topic_authorized_operations = -2147483648
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.name, at = read_plain_string(data, at)
    (m.is_internal,) = _t.unpack_from(data, at)
    at += 1
    m.partitions, at = read_plain_array(_decode_metadata_response_partition_v0, data, at)
    return m, at


def _encode_metadata_response_v1(m: MetadataResponse, write: Write) -> None:
    write_plain_array(m.brokers, _encode_metadata_response_broker_v1, write)
    write(_i.pack(m.controller_id))
    write_plain_array(m.topics, _encode_metadata_response_topic_v1, write)


def _decode_metadata_response_v1(data: bytes, at: int) -> tuple[MetadataResponse, int]:
    m = object.__new__(MetadataResponse)
    m.throttle_time_ms = 0
    m.cluster_id = None
    m.cluster_authorized_operations = -2147483648
    m.brokers, at = read_plain_array(_decode_metadata_response_broker_v1, data, at)
    (m.controller_id,) = _i.unpack_from(data, at)
    at += 4
    m.topics, at = read_plain_array(_decode_metadata_response_topic_v1, data, at)
    return m, at


def _encode_metadata_response_v2(m: MetadataResponse, write: Write) -> None:
    write_plain_array(m.brokers, _encode_metadata_response_broker_v1, write)
    if m.cluster_id is None:
        write(NULL_STRING)
    else:
        write(plain_string(m.cluster_id))
    write(_i.pack(m.controller_id))
    write_plain_array(m.topics, _encode_metadata_response_topic_v1, write)


def _decode_metadata_response_v2(data: bytes, at: int) -> tuple[MetadataResponse, int]:
    m = object.__new__(MetadataResponse)
    m.throttle_time_ms = 0
    m.cluster_authorized_operations = -2147483648
    m.brokers, at = read_plain_array(_decode_metadata_response_broker_v1, data, at)
    m.cluster_id, at = read_plain_nullable(NULL_STRING, read_plain_string, data, at)
    (m.controller_id,) = _i.unpack_from(data, at)
    at += 4
    m.topics, at = read_plain_array(_decode_metadata_response_topic_v1, data, at)
    return m, at


def _encode_metadata_response_v3(m: MetadataResponse, write: Write) -> None:
    write(_i.pack(m.throttle_time_ms))
    write_plain_array(m.brokers, _encode_metadata_response_broker_v1, write)
    if m.cluster_id is None:
        write(NULL_STRING)
    else:
        write(plain_string(m.cluster_id))
    write(_i.pack(m.controller_id))
    write_plain_array(m.topics, _encode_metadata_response_topic_v1, write)


def _decode_metadata_response_v3(data: bytes, at: int) -> tuple[MetadataResponse, int]:
    m = object.__new__(MetadataResponse)
    m.cluster_authorized_operations = -2147483648
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    m.brokers, at = read_plain_array(_decode_metadata_response_broker_v1, data, at)
    m.cluster_id, at = read_plain_nullable(NULL_STRING, read_plain_string, data, at)
    (m.controller_id,) = _i.unpack_from(data, at)
    at += 4
    m.topics, at = read_plain_array(_decode_metadata_response_topic_v1, data, at)
    return m, at


def _encode_metadata_response_partition_v5(m: MetadataResponsePartition, write: Write) -> None:
    write(_hii.pack(m.error_code, m.partition_index, m.leader_id))
    write(_int32s.plain_encode(m.replica_nodes))
    write(_int32s.plain_encode(m.isr_nodes))
    write(_int32s.plain_encode(m.offline_replicas))


def _decode_metadata_response_partition_v5(data: bytes, at: int) -> tuple[MetadataResponsePartition, int]:
    m = object.__new__(MetadataResponsePartition)
    m.encoded = None
    m.leader_epoch = -1
    m.error_code, m.partition_index, m.leader_id = _hii.unpack_from(data, at)
    at += 10
    m.replica_nodes, at = _int32s.plain_read(data, at)
    m.isr_nodes, at = _int32s.plain_read(data, at)
    m.offline_replicas, at = _int32s.plain_read(data, at)
    return m, at


def _encode_metadata_response_topic_v5(m: MetadataResponseTopic, write: Write) -> None:
    write(_h.pack(m.error_code))
    write(plain_string(required(m.name)))
    write(_t.pack(m.is_internal))
    write_plain_array(m.partitions, _encode_metadata_response_partition_v5, write)


def _decode_metadata_response_topic_v5(data: bytes, at: int) -> tuple[MetadataResponseTopic, int]:
    m = object.__new__(MetadataResponseTopic)
    m.encoded = None
    m.topic_id = bytes(16)
    m.topic_authorized_operations = -2147483648
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.name, at = read_plain_string(data, at)
    (m.is_internal,) = _t.unpack_from(data, at)
    at += 1
    m.partitions, at = read_plain_array(_decode_metadata_response_partition_v5, data, at)
    return m, at


def _encode_metadata_response_v5(m: MetadataResponse, write: Write) -> None:
    write(_i.pack(m.throttle_time_ms))
    write_plain_array(m.brokers, _encode_metadata_response_broker_v1, write)
    if m.cluster_id is None:
        write(NULL_STRING)
    else:
        write(plain_string(m.cluster_id))
    write(_i.pack(m.controller_id))
    write_plain_array(m.topics, _encode_metadata_response_topic_v5, write)


def _decode_metadata_response_v5(data: bytes, at: int) -> tuple[MetadataResponse, int]:
    m = object.__new__(MetadataResponse)
    m.cluster_authorized_operations = -2147483648
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    m.brokers, at = read_plain_array(_decode_metadata_response_broker_v1, data, at)
    m.cluster_id, at = read_plain_nullable(NULL_STRING, read_plain_string, data, at)
    (m.controller_id,) = _i.unpack_from(data, at)
    at += 4
    m.topics, at = read_plain_array(_decode_metadata_response_topic_v5, data, at)
    return m, at


def _encode_metadata_response_partition_v7(m: MetadataResponsePartition, write: Write) -> None:
    write(_hiii.pack(m.error_code, m.partition_index, m.leader_id, m.leader_epoch))
    write(_int32s.plain_encode(m.replica_nodes))
    write(_int32s.plain_encode(m.isr_nodes))
    write(_int32s.plain_encode(m.offline_replicas))


def _decode_metadata_response_partition_v7(data: bytes, at: int) -> tuple[MetadataResponsePartition, int]:
    m = object.__new__(MetadataResponsePartition)
    m.encoded = None
    m.error_code, m.partition_index, m.leader_id, m.leader_epoch = _hiii.unpack_from(data, at)
    at += 14
    m.replica_nodes, at = _int32s.plain_read(data, at)
    m.isr_nodes, at = _int32s.plain_read(data, at)
    m.offline_replicas, at = _int32s.plain_read(data, at)
    return m, at


def _encode_metadata_response_topic_v7(m: MetadataResponseTopic, write: Write) -> None:
    write(_h.pack(m.error_code))
    write(plain_string(required(m.name)))
    write(_t.pack(m.is_internal))
    write_plain_array(m.partitions, _encode_metadata_response_partition_v7, write)


def _decode_metadata_response_topic_v7(data: bytes, at: int) -> tuple[MetadataResponseTopic, int]:
    m = object.__new__(MetadataResponseTopic)
    m.encoded = None
    m.topic_id = bytes(16)
    m.topic_authorized_operations = -2147483648
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.name, at = read_plain_string(data, at)
    (m.is_internal,) = _t.unpack_from(data, at)
    at += 1
    m.partitions, at = read_plain_array(_decode_metadata_response_partition_v7, data, at)
    return m, at


def _encode_metadata_response_v7(m: MetadataResponse, write: Write) -> None:
    write(_i.pack(m.throttle_time_ms))
    write_plain_array(m.brokers, _encode_metadata_response_broker_v1, write)
    if m.cluster_id is None:
        write(NULL_STRING)
    else:
        write(plain_string(m.cluster_id))
    write(_i.pack(m.controller_id))
    write_plain_array(m.topics, _encode_metadata_response_topic_v7, write)


def _decode_metadata_response_v7(data: bytes, at: int) -> tuple[MetadataResponse, int]:
    m = object.__new__(MetadataResponse)
    m.cluster_authorized_operations = -2147483648
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    m.brokers, at = read_plain_array(_decode_metadata_response_broker_v1, data, at)
    m.cluster_id, at = read_plain_nullable(NULL_STRING, read_plain_string, data, at)
    (m.controller_id,) = _i.unpack_from(data, at)
    at += 4
    m.topics, at = read_plain_array(_decode_metadata_response_topic_v7, data, at)
    return m, at


def _encode_metadata_response_topic_v8(m: MetadataResponseTopic, write: Write) -> None:
    write(_h.pack(m.error_code))
    write(plain_string(required(m.name)))
    write(_t.pack(m.is_internal))
    write_plain_array(m.partitions, _encode_metadata_response_partition_v7, write)
    write(_i.pack(m.topic_authorized_operations))


def _decode_metadata_response_topic_v8(data: bytes, at: int) -> tuple[MetadataResponseTopic, int]:
    m = object.__new__(MetadataResponseTopic)
    m.encoded = None
    m.topic_id = bytes(16)
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.name, at = read_plain_string(data, at)
    (m.is_internal,) = _t.unpack_from(data, at)
    at += 1
    m.partitions, at = read_plain_array(_decode_metadata_response_partition_v7, data, at)
    (m.topic_authorized_operations,) = _i.unpack_from(data, at)
    at += 4
    return m, at


def _encode_metadata_response_v8(m: MetadataResponse, write: Write) -> None:
    write(_i.pack(m.throttle_time_ms))
    write_plain_array(m.brokers, _encode_metadata_response_broker_v1, write)
    if m.cluster_id is None:
        write(NULL_STRING)
    else:
        write(plain_string(m.cluster_id))
    write(_i.pack(m.controller_id))
    write_plain_array(m.topics, _encode_metadata_response_topic_v8, write)
    write(_i.pack(m.cluster_authorized_operations))


def _decode_metadata_response_v8(data: bytes, at: int) -> tuple[MetadataResponse, int]:
    m = object.__new__(MetadataResponse)
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    m.brokers, at = read_plain_array(_decode_metadata_response_broker_v1, data, at)
    m.cluster_id, at = read_plain_nullable(NULL_STRING, read_plain_string, data, at)
    (m.controller_id,) = _i.unpack_from(data, at)
    at += 4
    m.topics, at = read_plain_array(_decode_metadata_response_topic_v8, data, at)
    (m.cluster_authorized_operations,) = _i.unpack_from(data, at)
    at += 4
    return m, at


def _encode_metadata_response_broker_v9(m: MetadataResponseBroker, write: Write) -> None:
    write(_i.pack(m.node_id))
    write(string(m.host))
    write(_i.pack(m.port))
    if m.rack is None:
        write(NULL)
    else:
        write(string(m.rack))
    write(NO_TAGS)


def _decode_metadata_response_broker_v9(data: bytes, at: int) -> tuple[MetadataResponseBroker, int]:
    m = object.__new__(MetadataResponseBroker)
    m.encoded = None
    (m.node_id,) = _i.unpack_from(data, at)
    at += 4
    m.host, at = read_string(data, at)
    (m.port,) = _i.unpack_from(data, at)
    at += 4
    m.rack, at = read_nullable(read_string, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_metadata_response_partition_v9(m: MetadataResponsePartition, write: Write) -> None:
    write(_hiii.pack(m.error_code, m.partition_index, m.leader_id, m.leader_epoch))
    write(_int32s.encode(m.replica_nodes))
    write(_int32s.encode(m.isr_nodes))
    write(_int32s.encode(m.offline_replicas))
    write(NO_TAGS)


def _decode_metadata_response_partition_v9(data: bytes, at: int) -> tuple[MetadataResponsePartition, int]:
    m = object.__new__(MetadataResponsePartition)
    m.encoded = None
    m.error_code, m.partition_index, m.leader_id, m.leader_epoch = _hiii.unpack_from(data, at)
    at += 14
    m.replica_nodes, at = _int32s.read(data, at)
    m.isr_nodes, at = _int32s.read(data, at)
    m.offline_replicas, at = _int32s.read(data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_metadata_response_topic_v9(m: MetadataResponseTopic, write: Write) -> None:
    write(_h.pack(m.error_code))
    write(string(required(m.name)))
    write(_t.pack(m.is_internal))
    write_older_array(m.partitions, _encode_metadata_response_partition_v9, write)
    write(_iB.pack(m.topic_authorized_operations, 0))


def _decode_metadata_response_topic_v9(data: bytes, at: int) -> tuple[MetadataResponseTopic, int]:
    m = object.__new__(MetadataResponseTopic)
    m.encoded = None
    m.topic_id = bytes(16)
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.name, at = read_string(data, at)
    (m.is_internal,) = _t.unpack_from(data, at)
    at += 1
    m.partitions, at = read_array(_decode_metadata_response_partition_v9, data, at)
    m.topic_authorized_operations, tags = _iB.unpack_from(data, at)
    at = at + 5 if tags == 0 else skip_tagged_fields(data, at + 4)
    return m, at


def _encode_metadata_response_v9(m: MetadataResponse, write: Write) -> None:
    write(_i.pack(m.throttle_time_ms))
    write_older_array(m.brokers, _encode_metadata_response_broker_v9, write)
    if m.cluster_id is None:
        write(NULL)
    else:
        write(string(m.cluster_id))
    write(_i.pack(m.controller_id))
    write_older_array(m.topics, _encode_metadata_response_topic_v9, write)
    write(_iB.pack(m.cluster_authorized_operations, 0))


def _decode_metadata_response_v9(data: bytes, at: int) -> tuple[MetadataResponse, int]:
    m = object.__new__(MetadataResponse)
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    m.brokers, at = read_array(_decode_metadata_response_broker_v9, data, at)
    m.cluster_id, at = read_nullable(read_string, data, at)
    (m.controller_id,) = _i.unpack_from(data, at)
    at += 4
    m.topics, at = read_array(_decode_metadata_response_topic_v9, data, at)
    m.cluster_authorized_operations, tags = _iB.unpack_from(data, at)
    at = at + 5 if tags == 0 else skip_tagged_fields(data, at + 4)
    return m, at


def _encode_metadata_response_topic_v10(m: MetadataResponseTopic, write: Write) -> None:
    write(_h.pack(m.error_code))
    write(string(required(m.name)))
    write(_ut.pack(m.topic_id, m.is_internal))
    write_older_array(m.partitions, _encode_metadata_response_partition_v9, write)
    write(_iB.pack(m.topic_authorized_operations, 0))


def _decode_metadata_response_topic_v10(data: bytes, at: int) -> tuple[MetadataResponseTopic, int]:
    m = object.__new__(MetadataResponseTopic)
    m.encoded = None
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.name, at = read_string(data, at)
    m.topic_id, m.is_internal = _ut.unpack_from(data, at)
    at += 17
    m.partitions, at = read_array(_decode_metadata_response_partition_v9, data, at)
    m.topic_authorized_operations, tags = _iB.unpack_from(data, at)
    at = at + 5 if tags == 0 else skip_tagged_fields(data, at + 4)
    return m, at


def _encode_metadata_response_v10(m: MetadataResponse, write: Write) -> None:
    write(_i.pack(m.throttle_time_ms))
    write_older_array(m.brokers, _encode_metadata_response_broker_v9, write)
    if m.cluster_id is None:
        write(NULL)
    else:
        write(string(m.cluster_id))
    write(_i.pack(m.controller_id))
    write_older_array(m.topics, _encode_metadata_response_topic_v10, write)
    write(_iB.pack(m.cluster_authorized_operations, 0))


def _decode_metadata_response_v10(data: bytes, at: int) -> tuple[MetadataResponse, int]:
    m = object.__new__(MetadataResponse)
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    m.brokers, at = read_array(_decode_metadata_response_broker_v9, data, at)
    m.cluster_id, at = read_nullable(read_string, data, at)
    (m.controller_id,) = _i.unpack_from(data, at)
    at += 4
    m.topics, at = read_array(_decode_metadata_response_topic_v10, data, at)
    m.cluster_authorized_operations, tags = _iB.unpack_from(data, at)
    at = at + 5 if tags == 0 else skip_tagged_fields(data, at + 4)
    return m, at


def _encode_metadata_response_v11(m: MetadataResponse, write: Write) -> None:
    write(_i.pack(m.throttle_time_ms))
    write_older_array(m.brokers, _encode_metadata_response_broker_v9, write)
    if m.cluster_id is None:
        write(NULL)
    else:
        write(string(m.cluster_id))
    write(_i.pack(m.controller_id))
    write_older_array(m.topics, _encode_metadata_response_topic_v10, write)
    write(NO_TAGS)


def _decode_metadata_response_v11(data: bytes, at: int) -> tuple[MetadataResponse, int]:
    m = object.__new__(MetadataResponse)
    m.cluster_authorized_operations = -2147483648
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    m.brokers, at = read_array(_decode_metadata_response_broker_v9, data, at)
    m.cluster_id, at = read_nullable(read_string, data, at)
    (m.controller_id,) = _i.unpack_from(data, at)
    at += 4
    m.topics, at = read_array(_decode_metadata_response_topic_v10, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


def _encode_metadata_response_topic_v12(m: MetadataResponseTopic, write: Write) -> None:
    write(_h.pack(m.error_code))
    if m.name is None:
        write(NULL)
    else:
        write(string(m.name))
    write(_ut.pack(m.topic_id, m.is_internal))
    write_array(m.partitions, _encode_metadata_response_partition_v9, write)
    write(_iB.pack(m.topic_authorized_operations, 0))


def _decode_metadata_response_topic_v12(data: bytes, at: int) -> tuple[MetadataResponseTopic, int]:
    m = object.__new__(MetadataResponseTopic)
    m.encoded = None
    (m.error_code,) = _h.unpack_from(data, at)
    at += 2
    m.name, at = read_nullable(read_string, data, at)
    m.topic_id, m.is_internal = _ut.unpack_from(data, at)
    at += 17
    m.partitions, at = read_array(_decode_metadata_response_partition_v9, data, at)
    m.topic_authorized_operations, tags = _iB.unpack_from(data, at)
    at = at + 5 if tags == 0 else skip_tagged_fields(data, at + 4)
    return m, at


def _encode_metadata_response_v12(m: MetadataResponse, write: Write) -> None:
    write(_i.pack(m.throttle_time_ms))
    write_array(m.brokers, _encode_metadata_response_broker_v9, write)
    if m.cluster_id is None:
        write(NULL)
    else:
        write(string(m.cluster_id))
    write(_i.pack(m.controller_id))
    write_array(m.topics, _encode_metadata_response_topic_v12, write)
    write(NO_TAGS)


def _decode_metadata_response_v12(data: bytes, at: int) -> tuple[MetadataResponse, int]:
    m = object.__new__(MetadataResponse)
    m.cluster_authorized_operations = -2147483648
    (m.throttle_time_ms,) = _i.unpack_from(data, at)
    at += 4
    m.brokers, at = read_array(_decode_metadata_response_broker_v9, data, at)
    m.cluster_id, at = read_nullable(read_string, data, at)
    (m.controller_id,) = _i.unpack_from(data, at)
    at += 4
    m.topics, at = read_array(_decode_metadata_response_topic_v12, data, at)
    at = at + 1 if data[at] == 0 else skip_tagged_fields(data, at)
    return m, at


MetadataResponseBroker.LAYOUTS = {
    0: Layout(_encode_metadata_response_broker_v0, _decode_metadata_response_broker_v0),
    1: Layout(_encode_metadata_response_broker_v1, _decode_metadata_response_broker_v1),
    2: Layout(_encode_metadata_response_broker_v1, _decode_metadata_response_broker_v1),
    3: Layout(_encode_metadata_response_broker_v1, _decode_metadata_response_broker_v1),
    4: Layout(_encode_metadata_response_broker_v1, _decode_metadata_response_broker_v1),
    5: Layout(_encode_metadata_response_broker_v1, _decode_metadata_response_broker_v1),
    6: Layout(_encode_metadata_response_broker_v1, _decode_metadata_response_broker_v1),
    7: Layout(_encode_metadata_response_broker_v1, _decode_metadata_response_broker_v1),
    8: Layout(_encode_metadata_response_broker_v1, _decode_metadata_response_broker_v1),
    9: Layout(_encode_metadata_response_broker_v9, _decode_metadata_response_broker_v9),
    10: Layout(_encode_metadata_response_broker_v9, _decode_metadata_response_broker_v9),
    11: Layout(_encode_metadata_response_broker_v9, _decode_metadata_response_broker_v9),
    12: Layout(_encode_metadata_response_broker_v9, _decode_metadata_response_broker_v9),
}
MetadataResponsePartition.LAYOUTS = {
    0: Layout(_encode_metadata_response_partition_v0, _decode_metadata_response_partition_v0),
    1: Layout(_encode_metadata_response_partition_v0, _decode_metadata_response_partition_v0),
    2: Layout(_encode_metadata_response_partition_v0, _decode_metadata_response_partition_v0),
    3: Layout(_encode_metadata_response_partition_v0, _decode_metadata_response_partition_v0),
    4: Layout(_encode_metadata_response_partition_v0, _decode_metadata_response_partition_v0),
    5: Layout(_encode_metadata_response_partition_v5, _decode_metadata_response_partition_v5),
    6: Layout(_encode_metadata_response_partition_v5, _decode_metadata_response_partition_v5),
    7: Layout(_encode_metadata_response_partition_v7, _decode_metadata_response_partition_v7),
    8: Layout(_encode_metadata_response_partition_v7, _decode_metadata_response_partition_v7),
    9: Layout(_encode_metadata_response_partition_v9, _decode_metadata_response_partition_v9),
    10: Layout(_encode_metadata_response_partition_v9, _decode_metadata_response_partition_v9),
    11: Layout(_encode_metadata_response_partition_v9, _decode_metadata_response_partition_v9),
    12: Layout(_encode_metadata_response_partition_v9, _decode_metadata_response_partition_v9),
}
MetadataResponseTopic.LAYOUTS = {
    0: Layout(_encode_metadata_response_topic_v0, _decode_metadata_response_topic_v0),
    1: Layout(_encode_metadata_response_topic_v1, _decode_metadata_response_topic_v1),
    2: Layout(_encode_metadata_response_topic_v1, _decode_metadata_response_topic_v1),
    3: Layout(_encode_metadata_response_topic_v1, _decode_metadata_response_topic_v1),
    4: Layout(_encode_metadata_response_topic_v1, _decode_metadata_response_topic_v1),
    5: Layout(_encode_metadata_response_topic_v5, _decode_metadata_response_topic_v5),
    6: Layout(_encode_metadata_response_topic_v5, _decode_metadata_response_topic_v5),
    7: Layout(_encode_metadata_response_topic_v7, _decode_metadata_response_topic_v7),
    8: Layout(_encode_metadata_response_topic_v8, _decode_metadata_response_topic_v8),
    9: Layout(_encode_metadata_response_topic_v9, _decode_metadata_response_topic_v9),
    10: Layout(_encode_metadata_response_topic_v10, _decode_metadata_response_topic_v10),
    11: Layout(_encode_metadata_response_topic_v10, _decode_metadata_response_topic_v10),
    12: Layout(_encode_metadata_response_topic_v12, _decode_metadata_response_topic_v12),
}
MetadataResponse.LAYOUTS = {
    0: Layout(_encode_metadata_response_v0, _decode_metadata_response_v0),
    1: Layout(_encode_metadata_response_v1, _decode_metadata_response_v1),
    2: Layout(_encode_metadata_response_v2, _decode_metadata_response_v2),
    3: Layout(_encode_metadata_response_v3, _decode_metadata_response_v3),
    4: Layout(_encode_metadata_response_v3, _decode_metadata_response_v3),
    5: Layout(_encode_metadata_response_v5, _decode_metadata_response_v5),
    6: Layout(_encode_metadata_response_v5, _decode_metadata_response_v5),
    7: Layout(_encode_metadata_response_v7, _decode_metadata_response_v7),
    8: Layout(_encode_metadata_response_v8, _decode_metadata_response_v8),
    9: Layout(_encode_metadata_response_v9, _decode_metadata_response_v9),
    10: Layout(_encode_metadata_response_v10, _decode_metadata_response_v10),
    11: Layout(_encode_metadata_response_v11, _decode_metadata_response_v11),
    12: Layout(_encode_metadata_response_v12, _decode_metadata_response_v12),
}
