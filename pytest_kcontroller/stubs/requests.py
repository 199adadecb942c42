"""What a stub broker has received, and how requests of all versions are taken apart by partition.

Early versions have one list of partitions with their topics' names, later ones a list for each topic (KIP-380), StopReplica
says whether to delete of all at once until version 2 and of each partition from 3 on (KIP-570).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.wire.message import Request, Response
from pytest_kcontroller.wire.messages import (
    ApiKey,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    StopReplicaPartitionState,
    StopReplicaRequest,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)

State = LeaderAndIsrPartitionState | UpdateMetadataPartitionState | StopReplicaPartitionState
"""What a request says of one partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedRequest:
    """One request of a controller. `at_us`: when it had been read, in microseconds of the run; `message`: as it came."""

    api: ApiKey
    version: int
    at_us: int
    message: Request[Response]

    @property
    def states(self) -> list[tuple[TopicPartition, State]]:
        """What it says of each partition, in the order of the request, in the newest version's form."""
        return states_of(self.message)

    @property
    def topic_ids(self) -> dict[str, bytes]:
        """Topic -> id, of the topics that it has any partitions of; 16 zeros in versions without ids."""
        topics: list[Any] = getattr(self.message, "topic_states", [])
        return {topic.topic_name: getattr(topic, "topic_id", bytes(16)) for topic in topics}

    @property
    def controller(self) -> int:
        return int(getattr(self.message, "controller_id", -1))

    @property
    def controller_epoch(self) -> int:
        return int(getattr(self.message, "controller_epoch", -1))

    @property
    def broker_epoch(self) -> int:
        """Whom it is meant for; -1 in versions that do not say it."""
        return int(getattr(self.message, "broker_epoch", -1))

    def __str__(self) -> str:
        told = ", ".join(str(tp) for tp, _ in self.states[:3]) + (", ..." if len(self.states) > 3 else "")
        return f"{self.api.name} v{self.version} of controller {self.controller}, epoch {self.controller_epoch}: {told}"


def states_of(message: Request[Any]) -> list[tuple[TopicPartition, State]]:
    """See ReceivedRequest.states."""
    if isinstance(message, StopReplicaRequest):
        return [*_old_stops(message), *_grouped(message.topic_states)]
    if isinstance(message, LeaderAndIsrRequest | UpdateMetadataRequest):
        single = [(TopicPartition(e.topic_name, e.partition_index), e) for e in message.ungrouped_partition_states]
        return [*single, *_grouped(message.topic_states)]
    return []


def _grouped(topics: list[Any]) -> list[tuple[TopicPartition, Any]]:
    return [
        (TopicPartition(t.topic_name, entry.partition_index), entry) for t in topics for entry in t.partition_states
    ]


def _old_stops(message: StopReplicaRequest) -> list[tuple[TopicPartition, State]]:
    stopped = [TopicPartition(p.topic_name, p.partition_index) for p in message.ungrouped_partitions]
    stopped += [TopicPartition(topic.name, number) for topic in message.topics for number in topic.partition_indexes]
    delete = message.delete_partitions
    return [(tp, StopReplicaPartitionState(partition_index=tp.partition, delete_partition=delete)) for tp in stopped]
