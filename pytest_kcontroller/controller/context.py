"""What the active controller knows, and its indices. A new one for each term: nothing of an older one survives (KAFKA-5310).

Only the methods here write it, so that no index can be forgotten; whoever reads gets read-only mappings. Order: what is
given back as a tuple or a list is sorted by partition; an index is sorted when it is asked, and only the part that is asked.

Source: kafka.controller.ControllerContext (3.9).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from pytest_kcontroller.controller.deletions import Deletions
from pytest_kcontroller.controller.transitions import PartitionState, ReplicaState
from pytest_kcontroller.model.cluster import Assignment, Broker, LeaderAndIsr, TopicPartition
from pytest_kcontroller.model.election import BrokerTable, BrokerView

Replicas = Mapping[int, Sequence[TopicPartition]]
"""Broker -> partitions of which it has a replica; brokers and partitions ascending."""

_Set = dict[TopicPartition, None]
"""A set that keeps its order of insertion."""


@dataclass(slots=True)
class _Topic:
    id: str | None = None
    """As in its znode; None: it has none."""
    partitions: list[TopicPartition] = field(default_factory=list)
    """Ascending."""


class Context:
    """`epoch` is the controller epoch of this term, `epoch_version` the version of its znode: the right to write."""

    def __init__(self, epoch: int, epoch_version: int) -> None:
        self.epoch, self.epoch_version = epoch, epoch_version
        self._brokers: dict[int, Broker] = {}
        self._shutting_down: dict[int, None] = {}
        self._offline: dict[tuple[int, ...], tuple[int, ...]] = {}
        """Replicas -> those of them that are not live: few lists of replicas are many partitions' own."""
        self._failed_disks: dict[int, _Set] = {}
        """Broker -> partitions of which it has a replica that it cannot reach: their log directory has failed."""
        self._topics: dict[str, _Topic] = {}
        self._topic_names: list[str] = []
        self._names_by_id: dict[str, str] = {}
        self._assignments: dict[TopicPartition, Assignment] = {}
        self._leadership: dict[TopicPartition, LeaderAndIsr] = {}
        self._partition_states: dict[TopicPartition, PartitionState] = {}
        self._replica_states: dict[int, dict[TopicPartition, ReplicaState]] = {}
        self._hosted: dict[int, _Set] = {}
        self._led: dict[int, _Set] = {}
        self._in_state: dict[PartitionState, _Set] = {state: {} for state in PartitionState}
        self._reassigning: _Set = {}
        self.requested: Mapping[TopicPartition, tuple[int, ...]] = {}
        """What /admin/reassign_partitions held when its entries were looked at last."""
        self.strays: dict[TopicPartition, tuple[int, ...]] = {}
        """Who led or was in sync when the term began, and is no replica, until it is stopped: that it leads no more, because
        the dead have left the ISR, does not stop it (decide.reassignment.strangers)."""
        self.deletions = Deletions()

    # --- brokers

    @property
    def brokers(self) -> Mapping[int, Broker]:
        """Registered, shutting down or not."""
        return self._brokers

    def register(self, broker: Broker) -> None:
        """It is registered, for the first time or otherwise than before."""
        self._brokers[broker.id] = broker
        self._offline.clear()

    def unregister(self, broker: int) -> None:
        self._brokers.pop(broker, None)
        self._shutting_down.pop(broker, None)
        self._failed_disks.pop(broker, None)
        self._offline.clear()

    def begin_shutdown(self, broker: int) -> None:
        """It asked for a controlled shutdown: nobody elects it until it has registered again."""
        self._shutting_down[broker] = None
        self._offline.clear()

    def live(self, broker: int) -> bool:
        """Registered and not shutting down (Kafka: online)."""
        return broker in self._brokers and broker not in self._shutting_down

    def failed_on(self, broker: int) -> Collection[TopicPartition]:
        """The partitions whose replica `broker` cannot reach: their log directory has failed (KIP-112)."""
        return self._failed_disks.get(broker, {}).keys()

    def online(self, tp: TopicPartition, broker: int) -> bool:
        """The replica of `tp` on `broker`: that one is live, and so is the disk (Kafka: isReplicaOnline)."""
        return self.live(broker) and tp not in self.failed_on(broker)

    def set_on_failed_disk(self, broker: int, tps: Iterable[TopicPartition], *, failed: bool) -> list[TopicPartition]:
        """The broker has said so of these replicas; those for which it is news. All is well with a new registration."""
        known = self._failed_disks.setdefault(broker, {})
        changed = [tp for tp in tps if (tp in known) is not failed]
        for tp in changed:
            if failed:
                known[tp] = None
            else:
                del known[tp]
        if not known:
            del self._failed_disks[broker]
        return changed

    def _brokers_with_failed(self, tp: TopicPartition) -> list[int]:
        return [broker for broker, tps in self._failed_disks.items() if tp in tps] if self._failed_disks else []

    def offline_of(self, tp: TopicPartition) -> tuple[int, ...]:
        """The assigned replicas that are not online, in their order."""
        replicas = self._assignments[tp].replicas
        if self._brokers_with_failed(tp):
            return tuple(replica for replica in replicas if not self.online(tp, replica))
        if (offline := self._offline.get(replicas)) is None:
            offline = self._offline[replicas] = tuple(replica for replica in replicas if not self.live(replica))
        return offline

    def shutting_down(self, broker: int) -> bool:
        return broker in self._shutting_down

    def registered_ids(self) -> tuple[int, ...]:
        """Live or shutting down: who gets UpdateMetadata. Ascending."""
        return tuple(sorted(self._brokers))

    def table(self, counts: dict[int, int]) -> BrokerTable:
        """What a selector is shown of most partitions; `counts` is who leads how many partitions."""
        views = {
            broker.id: BrokerView(id=broker.id, shutting_down=broker.id in self._shutting_down, rack=broker.rack)
            for broker in self._brokers.values()
        }
        return BrokerTable(MappingProxyType(views), MappingProxyType(counts))

    def table_of(self, tp: TopicPartition, table: BrokerTable) -> BrokerTable:
        """What it is shown of this one: without the brokers whose disk with it has failed, as if they were not there."""
        if not (failed := self._brokers_with_failed(tp)):
            return table
        views = {broker: view for broker, view in table.brokers.items() if broker not in failed}
        return BrokerTable(MappingProxyType(views), table.leader_counts)

    # --- topics and their assignments

    @property
    def assignments(self) -> Mapping[TopicPartition, Assignment]:
        return self._assignments

    def topics(self) -> Sequence[str]:
        """Ascending. Not to be kept: it changes with the topics."""
        return self._topic_names

    def has_topic(self, topic: str) -> bool:
        return topic in self._topics

    def topic_id(self, topic: str) -> str | None:
        """As in its znode; None: it has none, or is unknown."""
        known = self._topics.get(topic)
        return None if known is None else known.id

    def topic_of_id(self, topic_id: str) -> str | None:
        return self._names_by_id.get(topic_id)

    def partitions_of(self, topic: str) -> tuple[TopicPartition, ...]:
        known = self._topics.get(topic)
        return () if known is None else tuple(known.partitions)

    def partitions(self) -> Iterator[TopicPartition]:
        """All, ascending."""
        return (tp for name in self._topic_names for tp in self._topics[name].partitions)

    def hosted_by(self, broker: int) -> list[TopicPartition]:
        """Partitions of which `broker` is assigned a replica."""
        return sorted(self._hosted.get(broker, ()))

    def hosts(self) -> list[int]:
        """Brokers, registered or not, that are assigned replicas. Ascending."""
        return sorted(broker for broker, hosted in self._hosted.items() if hosted)

    def replicas_on(self, brokers: Iterable[int]) -> dict[int, list[TopicPartition]]:
        return {broker: hosted for broker in sorted(brokers) if (hosted := self.hosted_by(broker))}

    def replicas_of(self, topics: Iterable[str]) -> dict[int, list[TopicPartition]]:
        """Their replicas, by broker."""
        replicas: dict[int, list[TopicPartition]] = {}
        for topic in sorted(topics):
            for tp in self.partitions_of(topic):
                for broker in self._assignments[tp].replicas:
                    replicas.setdefault(broker, []).append(tp)
        return dict(sorted(replicas.items()))

    def add_topic(self, topic: str, topic_id: str | None) -> None:
        """It exists, and this is its id."""
        if (known := self._topics.get(topic)) is None:
            known = self._topics[topic] = _Topic()
            insort(self._topic_names, topic)
        if known.id is not None:
            self._names_by_id.pop(known.id, None)
        known.id = topic_id
        if topic_id is not None:
            self._names_by_id[topic_id] = topic

    def assign(self, topic: str, partitions: Mapping[int, Assignment]) -> tuple[TopicPartition, ...]:
        """Takes over the replicas of these partitions of a topic that has been added; returns the partitions."""
        known = self._topics[topic].partitions
        assigned = tuple(TopicPartition(topic, number) for number in sorted(partitions))
        for tp in assigned:
            if tp not in self._assignments:
                if known and tp < known[-1]:
                    insort(known, tp)
                else:
                    known.append(tp)
            self.reassign(tp, partitions[tp.partition])
        return assigned

    def reassign(self, tp: TopicPartition, assignment: Assignment) -> None:
        """A partition that has been assigned has these replicas from now on."""
        if (before := self._assignments.get(tp)) is not None:
            for broker in before.replicas:
                self._hosted[broker].pop(tp, None)
        self._assignments[tp] = assignment
        for broker in assignment.replicas:
            self._hosted.setdefault(broker, {})[tp] = None

    def reassigning(self) -> list[TopicPartition]:
        """Partitions whose reassignment has begun and not ended."""
        return sorted(self._reassigning)

    @property
    def any_reassigning(self) -> bool:
        return bool(self._reassigning)

    def is_reassigning(self, tp: TopicPartition) -> bool:
        return tp in self._reassigning

    def begin_reassignment(self, tp: TopicPartition) -> None:
        self._reassigning[tp] = None

    def end_reassignment(self, tp: TopicPartition) -> None:
        self._reassigning.pop(tp, None)

    def to_be_deleted(self, tp: TopicPartition) -> bool:
        """Its topic is queued for deletion: it is elected no leader, and no LeaderAndIsr tells of it."""
        return tp.topic in self.deletions.queued

    def not_deleted(self, tps: list[TopicPartition]) -> list[TopicPartition]:
        """Those whose topics are not queued for deletion."""
        return [tp for tp in tps if tp.topic not in self.deletions.queued] if self.deletions.queued else tps

    def drop_topic(self, topic: str) -> None:
        self.deletions.forget(topic)
        if (known := self._topics.pop(topic, None)) is None:
            return
        del self._topic_names[bisect_left(self._topic_names, topic)]
        if known.id is not None and self._names_by_id.get(known.id) == topic:
            del self._names_by_id[known.id]
        for tp in known.partitions:
            for broker in self._brokers_with_failed(tp):
                self.set_on_failed_disk(broker, [tp], failed=False)
            self.end_reassignment(tp)
            self.strays.pop(tp, None)
            for broker in self._assignments.pop(tp).replicas:
                self._hosted[broker].pop(tp, None)
            for states in self._replica_states.values():
                states.pop(tp, None)
            if (leadership := self._leadership.pop(tp, None)) is not None:
                del self._led[leadership.leader][tp]
            if (state := self._partition_states.pop(tp, None)) is not None:
                del self._in_state[state][tp]

    # --- leadership

    @property
    def leadership(self) -> Mapping[TopicPartition, LeaderAndIsr]:
        """The state of each partition that has one, with the version of its znode."""
        return self._leadership

    def set_leadership(self, states: Mapping[TopicPartition, LeaderAndIsr]) -> None:
        """These are in ZooKeeper."""
        for tp, state in states.items():
            before = self._leadership.get(tp)
            self._leadership[tp] = state
            if before is not None:
                if before.leader == state.leader:
                    continue
                del self._led[before.leader][tp]
            self._led.setdefault(state.leader, {})[tp] = None

    def has_leadership(self, topic: str) -> bool:
        """One of its partitions has a state, so the znodes above its states are there."""
        return any(tp in self._leadership for tp in self._topics[topic].partitions)

    def led_by(self, broker: int) -> list[TopicPartition]:
        return sorted(self._led.get(broker, ()))

    def leader_counts(self) -> dict[int, int]:
        """Broker -> how many partitions it leads. A copy."""
        return {broker: len(led) for broker, led in sorted(self._led.items()) if led}

    def led_by_nobody_live(self) -> list[TopicPartition]:
        """Partitions with a leader that is not online, or with none in their state; none that is to be deleted."""
        dead = [tp for leader in sorted(self._led) if not self.live(leader) for tp in self._led[leader]]
        failed = [
            tp
            for broker in sorted(self._failed_disks)
            if self.live(broker)
            for tp in self._failed_disks[broker]
            if tp in self._led.get(broker, ())
        ]
        return self.not_deleted(sorted(dead + failed))

    # --- states of the machines

    @property
    def partition_states(self) -> Mapping[TopicPartition, PartitionState]:
        """Of the partitions that are not NonExistent."""
        return self._partition_states

    def partition_state(self, tp: TopicPartition) -> PartitionState:
        return self._partition_states.get(tp, PartitionState.NON_EXISTENT)

    def partitions_in(self, *states: PartitionState) -> list[TopicPartition]:
        """Those in one of these states, of which none may be NonExistent: that is whatever is not known."""
        return sorted(tp for state in states for tp in self._in_state[state])

    def count_in(self, state: PartitionState) -> int:
        return len(self._in_state[state])

    @property
    def offline_partition_count(self) -> int:
        """Kafka's metric OfflinePartitionsCount: without those whose deletion has started."""
        offline, started = self._in_state[PartitionState.OFFLINE], self.deletions.started
        return sum(tp.topic not in started for tp in offline) if started else len(offline)

    def set_partition_state(self, tps: Iterable[TopicPartition], state: PartitionState) -> None:
        """Of partitions that are assigned."""
        states, in_state = self._partition_states, self._in_state
        for tp in tps:
            if (before := states.pop(tp, None)) is not None:
                del in_state[before][tp]
            if state is not PartitionState.NON_EXISTENT:
                states[tp] = state
                in_state[state][tp] = None

    def replica_states(self, broker: int) -> Mapping[TopicPartition, ReplicaState]:
        """Of the replicas on `broker` that are not NonExistent."""
        return self._replica_states.get(broker, {})

    def replica_state(self, tp: TopicPartition, broker: int) -> ReplicaState:
        return self.replica_states(broker).get(tp, ReplicaState.NON_EXISTENT)

    def set_replica_state(self, broker: int, tps: Iterable[TopicPartition], state: ReplicaState) -> None:
        states = self._replica_states.setdefault(broker, {})
        if state is ReplicaState.NON_EXISTENT:
            for tp in tps:
                states.pop(tp, None)
        else:
            states.update(dict.fromkeys(tps, state))
