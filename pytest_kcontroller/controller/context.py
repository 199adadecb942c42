"""What the active controller knows. A new one for each election, so that nothing of an older reign survives (KAFKA-5310)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pytest_kcontroller.controller.states import PARTITION_FROM, REPLICA_FROM, PartitionState, ReplicaState
from pytest_kcontroller.model.cluster import Assignment, Broker, LeaderAndIsr, TopicPartition
from pytest_kcontroller.model.election import BrokerTable, BrokerView

Replica = tuple[TopicPartition, int]


@dataclass(slots=True)
class Context:
    """`epoch` is the controller epoch of this reign, `epoch_version` the version of its znode: the right to write."""

    epoch: int
    epoch_version: int
    brokers: dict[int, Broker] = field(default_factory=dict)
    shutting_down: dict[int, None] = field(default_factory=dict)
    topic_ids: dict[str, str] = field(default_factory=dict)
    assignments: dict[TopicPartition, Assignment] = field(default_factory=dict)
    leadership: dict[TopicPartition, LeaderAndIsr] = field(default_factory=dict)
    partition_states: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    replica_states: dict[Replica, ReplicaState] = field(default_factory=dict)

    def live(self, broker: int) -> bool:
        """Registered and not shutting down (Kafka: online)."""
        return broker in self.brokers and broker not in self.shutting_down

    def registered_ids(self) -> tuple[int, ...]:
        """Live or shutting down: who gets UpdateMetadata."""
        return tuple(sorted(self.brokers))

    def topics(self) -> tuple[str, ...]:
        return tuple(sorted({tp.topic for tp in self.assignments}))

    def partitions_of(self, topic: str) -> tuple[TopicPartition, ...]:
        return tuple(sorted(tp for tp in self.assignments if tp.topic == topic))

    def replicas(self) -> Iterator[Replica]:
        """Every assigned replica, in order."""
        return ((tp, broker) for tp in sorted(self.assignments) for broker in self.assignments[tp].replicas)

    def replicas_on(self, broker: int) -> tuple[Replica, ...]:
        return tuple(
            (tp, broker) for tp, assignment in sorted(self.assignments.items()) if broker in assignment.replicas
        )

    def leaders_of(self) -> dict[int, int]:
        """Broker -> how many partitions it leads."""
        counts: dict[int, int] = {}
        for state in self.leadership.values():
            counts[state.leader] = counts.get(state.leader, 0) + 1
        return counts

    def table(self, counts: dict[int, int]) -> BrokerTable:
        views = {
            broker.id: BrokerView(id=broker.id, shutting_down=broker.id in self.shutting_down, rack=broker.rack)
            for broker in self.brokers.values()
        }
        return BrokerTable(views, counts)

    def drop_topic(self, topic: str) -> None:
        for tp in self.partitions_of(topic):
            for broker in self.assignments.pop(tp).replicas:
                self.replica_states.pop((tp, broker), None)
            self.leadership.pop(tp, None)
            self.partition_states.pop(tp, None)
        self.topic_ids.pop(topic, None)

    def partitions_in(self, *states: PartitionState) -> tuple[TopicPartition, ...]:
        return tuple(tp for tp in sorted(self.partition_states) if self.partition_states[tp] in states)

    def may_become(self, tps: Iterable[TopicPartition], target: PartitionState) -> list[TopicPartition]:
        """Those of `tps` whose transition to `target` is legal."""
        return [tp for tp in tps if self.state_of(tp) in PARTITION_FROM[target]]

    def replicas_may_become(self, replicas: Iterable[Replica], target: ReplicaState) -> list[Replica]:
        return [
            replica
            for replica in replicas
            if self.replica_states.get(replica, ReplicaState.NON_EXISTENT) in REPLICA_FROM[target]
        ]

    def state_of(self, tp: TopicPartition) -> PartitionState:
        return self.partition_states.get(tp, PartitionState.NON_EXISTENT)
