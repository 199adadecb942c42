"""Which request each broker gets: additions are gathered, then built once (kafka.controller.ControllerBrokerRequestBatch).

A LeaderAndIsr implies an UpdateMetadata of the partition to everybody. isNew is sticky, negative ids are dropped, and so
are brokers that are not registered when the batch is built.

A partition's entry is encoded once, however many brokers get it; so is what an UpdateMetadata says of a topic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import groupby
from operator import itemgetter

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.model.cluster import UNKNOWN_EPOCH, Broker, LeaderAndIsr, TopicPartition
from pytest_kcontroller.model.values import maker
from pytest_kcontroller.wire.codec import encode_once
from pytest_kcontroller.wire.messages import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from pytest_kcontroller.wire.topic_ids import topic_uuid

PLAINTEXT = 0
BrokerRequest = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest

_make_leader_and_isr = maker(LeaderAndIsrPartitionState)
_make_update_metadata = maker(UpdateMetadataPartitionState)
_make_stop_replica = maker(StopReplicaPartitionState)
_TOPIC = itemgetter(0)
"""Of a partition; it costs a third of the attribute."""


class Requests:
    """The requests of one term: makes its batches, and sends them."""

    def __init__(self, controller: int, context: Context, send: Callable[[int, BrokerRequest], None]) -> None:
        self._controller, self._context, self._send = controller, context, send

    def batch(self) -> Batch:
        return Batch(self._controller, self._context)

    def send(self, batch: Batch) -> None:
        for broker, request in batch.build():
            self._send(broker, request)

    def update_metadata(self, brokers: Iterable[int], tps: Iterable[TopicPartition] = ()) -> None:
        """A batch of nothing else."""
        batch = self.batch()
        batch.update_metadata(brokers, tps)
        self.send(batch)


class Batch:
    """One batch of requests of controller `controller`. Each partition's entry is made once, however many brokers get it."""

    def __init__(self, controller: int, context: Context) -> None:
        self._controller, self._context = controller, context
        self._leader_and_isr: dict[int, dict[TopicPartition, LeaderAndIsr]] = {}
        self._new: dict[int, dict[TopicPartition, None]] = {}
        """Those of them that are new to the broker."""
        self._entries: dict[TopicPartition, tuple[LeaderAndIsr, LeaderAndIsrPartitionState]] = {}
        """The last one of each partition, and of which state it is."""
        self._stop: dict[int, dict[TopicPartition, bool]] = {}
        self._metadata: dict[TopicPartition, None] = {}
        self._metadata_to: dict[int, None] = {}
        self._metadata_to_all = False

    def leader_and_isr(self, brokers: Iterable[int], tp: TopicPartition, state: LeaderAndIsr, *, is_new: bool) -> None:
        """One partition, for several brokers."""
        for broker in brokers:
            if broker >= 0:
                self._leader_and_isr.setdefault(broker, {})[tp] = state
                if is_new:
                    self._new.setdefault(broker, {})[tp] = None
        self._metadata[tp] = None
        self._metadata_to_all = True

    def leader_and_isr_of(self, broker: int, states: Mapping[TopicPartition, LeaderAndIsr]) -> None:
        """Many partitions, none of them new, for one broker, which has an id."""
        if states:
            self._leader_and_isr.setdefault(broker, {}).update(states)
            self._metadata.update(dict.fromkeys(states))
            self._metadata_to_all = True

    def update_metadata(self, brokers: Iterable[int], tps: Iterable[TopicPartition] = ()) -> None:
        """Without partitions it says only who is live. Those without leadership are left out when the request is built."""
        self._metadata_to.update(dict.fromkeys(broker for broker in brokers if broker >= 0))
        self._metadata.update(dict.fromkeys(tps))

    def stop_replicas(self, broker: int, tps: Iterable[TopicPartition], *, delete: bool) -> None:
        if broker >= 0 and (stopped := dict.fromkeys(tps, delete)):
            before = self._stop.get(broker, {})
            self._stop[broker] = before | stopped if delete else stopped | before

    def build(self) -> Iterator[tuple[int, BrokerRequest]]:
        """(broker, request), in the order in which they are sent: LeaderAndIsr, UpdateMetadata, StopReplica."""
        registered = self._context.brokers
        for broker in sorted(b for b in self._leader_and_isr if b in registered):
            yield broker, self._build_leader_and_isr(broker)
        metadata_to = sorted(registered if self._metadata_to_all else (b for b in self._metadata_to if b in registered))
        if metadata_to:
            topics, live = self._metadata_topics(), self._live_brokers()
            for broker in metadata_to:
                yield broker, self._build_update_metadata(broker, topics, live)
        for broker in sorted(b for b in self._stop if b in registered):
            yield broker, self._build_stop(broker)

    def _build_leader_and_isr(self, broker: int) -> LeaderAndIsrRequest:
        states, new, brokers = self._leader_and_isr[broker], self._new.get(broker, {}), self._context.brokers
        leaders = dict.fromkeys(state.leader for state in states.values())
        return LeaderAndIsrRequest(
            controller_id=self._controller,
            controller_epoch=self._context.epoch,
            broker_epoch=brokers[broker].epoch,
            topic_states=[
                LeaderAndIsrTopicState(
                    topic_name=topic,
                    topic_id=self._topic_id(topic),
                    partition_states=[self._entry(tp, states[tp], tp in new) for tp in tps],
                )
                for topic, tps in _by_topic(states)
            ],
            live_leaders=[
                LeaderAndIsrLiveLeader(broker_id=leader.id, host_name=leader.address.host, port=leader.address.port)
                for leader in (brokers[b] for b in sorted(leaders) if b in brokers)
            ],
        )

    def _entry(self, tp: TopicPartition, state: LeaderAndIsr, is_new: bool) -> LeaderAndIsrPartitionState:
        made = self._entries.get(tp)
        if made is not None and made[0] is state and made[1].is_new == is_new:
            return made[1]
        assignment = self._context.assignments[tp]
        entry = _make_leader_and_isr(
            partition_index=tp.partition,
            controller_epoch=state.controller_epoch,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            isr=state.isr,
            partition_epoch=state.partition_epoch,
            replicas=assignment.replicas,
            adding_replicas=assignment.adding,
            removing_replicas=assignment.removing,
            is_new=is_new,
            leader_recovery_state=int(state.recovering),
        )
        self._entries[tp] = state, encode_once(entry)
        return entry

    def _build_update_metadata(
        self, broker: int, topics: list[UpdateMetadataTopicState], live: list[UpdateMetadataBroker]
    ) -> UpdateMetadataRequest:
        return UpdateMetadataRequest(
            controller_id=self._controller,
            controller_epoch=self._context.epoch,
            broker_epoch=self._context.brokers[broker].epoch,
            topic_states=topics,
            live_brokers=live,
        )

    def _metadata_topics(self) -> list[UpdateMetadataTopicState]:
        leadership = self._context.leadership
        return [
            encode_once(
                UpdateMetadataTopicState(
                    topic_name=topic,
                    topic_id=self._topic_id(topic),
                    partition_states=[self._metadata_entry(tp, leadership[tp]) for tp in tps],
                )
            )
            for topic, tps in _by_topic(tp for tp in self._metadata if tp in leadership)
        ]

    def _metadata_entry(self, tp: TopicPartition, state: LeaderAndIsr) -> UpdateMetadataPartitionState:
        replicas = self._context.assignments[tp].replicas
        return _make_update_metadata(
            partition_index=tp.partition,
            controller_epoch=state.controller_epoch,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            isr=state.isr,
            zk_version=state.partition_epoch,
            replicas=replicas,
            offline_replicas=self._context.offline_of(replicas),
        )

    def _live_brokers(self) -> list[UpdateMetadataBroker]:
        return [_live_broker(broker) for _, broker in sorted(self._context.brokers.items())]

    def _build_stop(self, broker: int) -> StopReplicaRequest:
        stopped, leadership = self._stop[broker], self._context.leadership
        return StopReplicaRequest(
            controller_id=self._controller,
            controller_epoch=self._context.epoch,
            broker_epoch=self._context.brokers[broker].epoch,
            topic_states=[
                StopReplicaTopicState(
                    topic_name=topic,
                    partition_states=[
                        _make_stop_replica(
                            partition_index=tp.partition,
                            leader_epoch=leadership[tp].leader_epoch if tp in leadership else UNKNOWN_EPOCH,
                            delete_partition=stopped[tp],
                        )
                        for tp in tps
                    ],
                )
                for topic, tps in _by_topic(stopped)
            ],
        )

    def _topic_id(self, topic: str) -> bytes:
        return topic_uuid(self._context.topic_id(topic))


def _by_topic(tps: Iterable[TopicPartition]) -> Iterator[tuple[str, Iterable[TopicPartition]]]:
    """Both in order."""
    return groupby(sorted(tps), key=_TOPIC)


@lru_cache(maxsize=1024)
def _live_broker(broker: Broker) -> UpdateMetadataBroker:
    """The same in every batch, for as long as the broker is registered as it is."""
    endpoint = UpdateMetadataEndpoint(
        port=broker.address.port, host=broker.address.host, listener="PLAINTEXT", security_protocol=PLAINTEXT
    )
    return encode_once(UpdateMetadataBroker(id=broker.id, endpoints=[endpoint], rack=broker.rack))
