"""Znodes that name partitions: preferred elections that a tool asks for, and ISR changes that a leader tells of.

Sources: kafka.zk.PreferredReplicaElectionZNode, IsrChangeNotificationSequenceZNode (3.9).
"""

from __future__ import annotations

from collections.abc import Iterable

from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.zookeeper.znodes import CorruptZnodeError, json_bytes, json_object

PREFERRED_ELECTION = "/admin/preferred_replica_election"


def encode_partitions(tps: Iterable[TopicPartition]) -> bytes:
    return json_bytes({"version": 1, "partitions": [{"topic": tp.topic, "partition": tp.partition} for tp in tps]})


def decode_partitions(data: bytes, path: str) -> tuple[TopicPartition, ...]:
    """Each once, in the order in which they were named. Raises CorruptZnodeError."""
    entries = json_object(data, path)
    try:
        named = [(entry["topic"], entry["partition"]) for entry in entries["partitions"]]
    except (KeyError, TypeError) as bad:
        raise CorruptZnodeError(path, data, f"names no partitions ({bad!r})") from None
    for topic, partition in named:
        if not isinstance(topic, str) or type(partition) is not int:
            raise CorruptZnodeError(path, data, f"{topic!r}-{partition!r} is no partition")
    return tuple(dict.fromkeys(TopicPartition(topic, partition) for topic, partition in named))
