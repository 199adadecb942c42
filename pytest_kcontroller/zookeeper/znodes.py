"""Paths and content of Kafka's znodes, byte-compatible with Kafka 3.9 so that its own tools read and drive a cluster.

Decoding is forgiving where Kafka is (unknown keys, older versions) and raises CorruptZnodeError with the path elsewhere.
Sources: kafka.zk.ZkData (3.9), KIP-497 (state), KIP-455 (topic znode v2), KIP-516 (v3), KIP-841 (leader_recovery_state).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from pytest_kcontroller.errors import KControllerError
from pytest_kcontroller.model.cluster import (
    Address,
    Assignment,
    Broker,
    LeaderAndIsr,
    TopicPartition,
    TopicState,
    make_state,
)
from pytest_kcontroller.model.text import whole_number

CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
BROKER_IDS = "/brokers/ids"
TOPICS = "/brokers/topics"
DELETE_TOPICS = "/admin/delete_topics"
REASSIGN_PARTITIONS = "/admin/reassign_partitions"
CLUSTER_ID = "/cluster/id"
ISR_CHANGE_NOTIFICATION = "/isr_change_notification"
LOG_DIR_EVENT_NOTIFICATION = "/log_dir_event_notification"
LOG_DIR_EVENT = f"{LOG_DIR_EVENT_NOTIFICATION}/log_dir_event_"
"""ZooKeeper puts a number behind it."""

PERSISTENT_PATHS = (
    "/consumers",
    BROKER_IDS,
    TOPICS,
    "/config/changes",
    DELETE_TOPICS,
    "/brokers/seqid",
    ISR_CHANGE_NOTIFICATION,
    "/latest_producer_id_block",
    LOG_DIR_EVENT_NOTIFICATION,
    "/config/topics",
    "/config/clients",
    "/config/users",
    "/config/brokers",
    "/config/ips",
)
"""What every broker creates at its start, in this order (kafka.zk.ZkData.PersistentZkPaths)."""


_LEAST, _MOST = -(2**31), 2**31 - 1
"""Kafka's INT32: what a request takes."""
_TOPIC_ID = re.compile(r"[A-Za-z0-9_-]{22}(==)?")
"""16 bytes in URL-safe base64 (org.apache.kafka.common.Uuid)."""


class CorruptZnodeError(KControllerError):
    """A znode's content cannot be understood."""

    def __init__(self, path: str, data: bytes, why: str) -> None:
        self.path, self.data, self.why = path, data, why
        super().__init__(f"znode {path}: {why}: {data[:80]!r}\n  -> correct it or delete it with a ZooKeeper client")


def broker_path(broker: int) -> str:
    return f"{BROKER_IDS}/{broker}"


def broker_of(name: str) -> int | None:
    """Of a child of /brokers/ids; None: it is no broker's."""
    return int(name) if name.isascii() and name.isdigit() and len(name) < len(str(_MOST)) else None


def topic_path(topic: str) -> str:
    return f"{TOPICS}/{topic}"


def delete_topic_path(topic: str) -> str:
    """The marker that asks for the deletion of a topic."""
    return f"{DELETE_TOPICS}/{topic}"


def state_path(tp: TopicPartition) -> str:
    return f"{TOPICS}/{tp.topic}/partitions/{tp.partition}/state"


def state_parents(tp: TopicPartition) -> tuple[str, str]:
    """The two znodes above a state znode, outermost first."""
    return f"{TOPICS}/{tp.topic}/partitions", f"{TOPICS}/{tp.topic}/partitions/{tp.partition}"


def parse_state_path(path: str) -> TopicPartition | None:
    """The partition whose state znode `path` is, or None."""
    parts = path.split("/")
    if len(parts) == 7 and parts[1:3] == ["brokers", "topics"] and parts[4] == "partitions" and parts[6] == "state":
        number = whole_number(parts[5])
        return None if number is None else TopicPartition(parts[3], number)
    return None


def encode_controller(broker: int, timestamp_ms: int) -> bytes:
    """/controller, version 2 as from Kafka 3.4 on; the timestamp is a string."""
    return json_bytes({"version": 2, "brokerid": broker, "timestamp": str(timestamp_ms), "kraftControllerEpoch": -1})


def decode_controller(data: bytes, path: str = CONTROLLER) -> int:
    """The id of the active controller. 0.8 to 1.0 read a bare integer too."""
    value = _load(data, path)
    broker = value.get("brokerid") if isinstance(value, dict) else value
    if not isinstance(broker, int) or isinstance(broker, bool):
        raise CorruptZnodeError(path, data, "names no broker id")
    return broker


def encode_controller_epoch(epoch: int) -> bytes:
    return str(epoch).encode()


def decode_controller_epoch(data: bytes, path: str = CONTROLLER_EPOCH) -> int:
    try:
        return int(data)
    except ValueError:
        raise CorruptZnodeError(path, data, "is no decimal number") from None


def encode_broker(broker: Broker, timestamp_ms: int) -> bytes:
    """/brokers/ids/<id>, version 5 (IBP >= 2.7)."""
    host, port = broker.address.host, broker.address.port
    value: dict[str, Any] = {
        "features": {},
        "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT"},
        "endpoints": [f"PLAINTEXT://{host}:{port}"],
    }
    if broker.rack is not None:
        value["rack"] = broker.rack
    value |= {"jmx_port": -1, "port": port, "host": host, "version": 5, "timestamp": str(timestamp_ms)}
    return json_bytes(value)


def decode_broker(broker: int, data: bytes, czxid: int) -> Broker:
    """A registration of any version; the first PLAINTEXT endpoint, else host and port, is the address."""
    path = broker_path(broker)
    value = json_object(data, path)
    try:
        rack = None if value.get("rack") is None else _text(value["rack"])
        for endpoint in value.get("endpoints") or []:
            name, sep, rest = str(endpoint).partition("://")
            if sep and name == "PLAINTEXT":
                return Broker(id=broker, address=Address.parse(_text(rest)), epoch=czxid, rack=rack)
        host, port = _text(value.get("host")), value.get("port")
    except (TypeError, ValueError) as bad:
        raise CorruptZnodeError(path, data, str(bad)) from None
    if not isinstance(port, int) or not 0 <= port <= 65535:
        raise CorruptZnodeError(path, data, "has no PLAINTEXT endpoint")
    return Broker(id=broker, address=Address(host, port), epoch=czxid, rack=rack)


def _text(value: object) -> str:
    """JSON may have halves of characters, which no request takes. Raises ValueError."""
    if not isinstance(value, str) or any("\ud800" <= char <= "\udfff" for char in value):
        raise ValueError(f"{value!r} is no text")
    return value


def encode_state(state: LeaderAndIsr) -> bytes:
    """A partition's state; `leader_recovery_state` is written only while RECOVERING (3.2+)."""
    return (
        f'{{"controller_epoch":{state.controller_epoch},"leader":{state.leader},"version":1,'
        f'"leader_epoch":{state.leader_epoch},"isr":{_isr_text(state.isr)}'
        f"{_RECOVERING if state.recovering else ''}}}"
    ).encode()


def decode_state(tp: TopicPartition, data: bytes, version: int) -> LeaderAndIsr:
    """`version` is the znode's version, the partition epoch."""
    if (usual := _USUAL_STATE(data)) is not None:
        controller_epoch, leader, leader_epoch, isr_text, recovering = usual.groups()
        if (isr := _usual_isr(isr_text)) is not None:
            return make_state(
                leader=int(leader),
                leader_epoch=int(leader_epoch),
                isr=isr,
                controller_epoch=int(controller_epoch),
                partition_epoch=version,
                recovering=recovering is not None,
            )
    return _decode_any_state(tp, data, version)


_RECOVERING = ',"leader_recovery_state":1'
_INT = rb"(-?(?:0|[1-9]\d{0,8}))"
_USUAL_STATE = re.compile(
    rb'\{"controller_epoch":%b,"leader":%b,"version":1,"leader_epoch":%b,"isr":(\[[^]]*\])(%b)?\}'
    % (_INT, _INT, _INT, _RECOVERING.encode())
).fullmatch
"""A state as Kafka and we write it, byte for byte. json takes three times as long, and a failover reads every state."""
_ISRS = 16_384
"""So many different ISRs are remembered: there are far fewer of them than partitions."""


@lru_cache(maxsize=_ISRS)
def _isr_text(isr: tuple[int, ...]) -> str:
    return json.dumps(isr, separators=(",", ":"))


@lru_cache(maxsize=_ISRS)
def _usual_isr(text: bytes) -> tuple[int, ...] | None:
    """None: look at it more closely."""
    try:
        isr = json.loads(text)
    except ValueError:
        return None
    return tuple(isr) if all(type(replica) is int and _LEAST <= replica <= _MOST for replica in isr) else None


def _decode_any_state(tp: TopicPartition, data: bytes, version: int) -> LeaderAndIsr:
    """With unknown keys, in another order, with spaces; or corrupt."""
    path = state_path(tp)
    value = json_object(data, path)
    try:
        return LeaderAndIsr(
            leader=_int32(value["leader"]),
            leader_epoch=_int32(value["leader_epoch"]),
            isr=_brokers(value["isr"]),
            controller_epoch=_int32(value["controller_epoch"]),
            partition_epoch=version,
            recovering=value.get("leader_recovery_state", 0) == 1,
        )
    except (KeyError, TypeError, ValueError) as bad:
        raise CorruptZnodeError(path, data, f"is no partition state ({bad!r})") from None


def _int32(value: Any) -> int:
    """Raises TypeError or ValueError."""
    if not _LEAST <= (number := int(value)) <= _MOST:
        raise ValueError(f"{number} is over 32 bits")
    return number


def _brokers(ids: Any) -> tuple[int, ...]:
    """Raises TypeError or ValueError."""
    if not isinstance(ids, list):
        raise TypeError(f"{ids!r} is no list of brokers")
    brokers = tuple(map(int, ids))
    if brokers and not _LEAST <= min(brokers) <= max(brokers) <= _MOST:
        raise ValueError(f"{brokers} has a number over 32 bits")
    return brokers


def encode_topic(topic: TopicState) -> bytes:
    """A topic znode, version 3; `adding_replicas` and `removing_replicas` name only partitions that have some."""
    parts = sorted(topic.partitions.items())
    value: dict[str, Any] = {
        "removing_replicas": {str(p): list(a.removing) for p, a in parts if a.removing},
        "partitions": {str(p): list(a.replicas) for p, a in parts},
    }
    if topic.topic_id is not None:
        value["topic_id"] = topic.topic_id
    value |= {"adding_replicas": {str(p): list(a.adding) for p, a in parts if a.adding}, "version": 3}
    return json_bytes(value)


def decode_topic(name: str, data: bytes) -> TopicState:
    """A topic znode of version 1, 2 or 3."""
    path = topic_path(name)
    value = json_object(data, path)
    try:
        adding, removing = (dict((value.get(key) or {}).items()) for key in ("adding_replicas", "removing_replicas"))
        partitions = {
            _int32(p): Assignment(
                _brokers(replicas),
                _brokers(adding[p]) if p in adding else (),
                _brokers(removing[p]) if p in removing else (),
            )
            for p, replicas in value["partitions"].items()
        }
    except (KeyError, TypeError, ValueError, AttributeError) as bad:
        raise CorruptZnodeError(path, data, f"is no assignment ({bad!r})") from None
    topic_id = value.get("topic_id")
    if topic_id is not None and not (isinstance(topic_id, str) and _TOPIC_ID.fullmatch(topic_id)):
        raise CorruptZnodeError(path, data, f"{topic_id!r} is no topic id")
    return TopicState(name=name, topic_id=topic_id, partitions=dict(sorted(partitions.items())))


def encode_reassignments(targets: Mapping[TopicPartition, Sequence[int]]) -> bytes:
    """/admin/reassign_partitions: which replicas each partition shall have."""
    entries = [
        {"topic": tp.topic, "partition": tp.partition, "replicas": list(replicas)} for tp, replicas in targets.items()
    ]
    return json_bytes({"version": 1, "partitions": entries})


def decode_reassignments(data: bytes, path: str = REASSIGN_PARTITIONS) -> dict[TopicPartition, tuple[int, ...]]:
    """The last one of a partition that is named twice counts, as in Kafka."""
    entries = json_object(data, path).get("partitions")
    try:
        return {
            TopicPartition(_text(entry["topic"]), _int32(entry["partition"])): _brokers(entry["replicas"])
            for entry in entries or []
        }
    except (KeyError, TypeError, ValueError, AttributeError) as bad:
        raise CorruptZnodeError(path, data, f"is no reassignment ({bad!r})") from None


def encode_log_dir_event(broker: int) -> bytes:
    """A broker says that a log directory of its has failed (1.0+)."""
    return json_bytes({"version": 1, "broker": broker, "event": 1})


def decode_log_dir_event(data: bytes, path: str) -> int:
    """The broker. Raises CorruptZnodeError."""
    broker = json_object(data, path).get("broker")
    if type(broker) is not int:
        raise CorruptZnodeError(path, data, "names no broker id")
    return broker


def encode_cluster_id(cluster_id: str) -> bytes:
    """/cluster/id; the version is a string, as Kafka writes it."""
    return json_bytes({"version": "1", "id": cluster_id})


def decode_cluster_id(data: bytes, path: str = CLUSTER_ID) -> str:
    value = json_object(data, path)
    if not isinstance(value.get("id"), str):
        raise CorruptZnodeError(path, data, "has no id")
    return str(value["id"])


def json_bytes(value: Mapping[str, Any]) -> bytes:
    """As Kafka writes it: without spaces."""
    return json.dumps(value, separators=(",", ":")).encode()


def _load(data: bytes, path: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as bad:  # brackets in brackets in brackets
        raise CorruptZnodeError(path, data, f"is no JSON ({bad})") from None


def json_object(data: bytes, path: str) -> dict[str, Any]:
    """What a znode holds. Raises CorruptZnodeError."""
    value = _load(data, path)
    if not isinstance(value, dict):
        raise CorruptZnodeError(path, data, "is no JSON object")
    return value
