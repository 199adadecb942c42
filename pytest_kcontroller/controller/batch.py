"""Which request each broker gets: additions are gathered, then built once (kafka.controller.ControllerBrokerRequestBatch).

A LeaderAndIsr implies an UpdateMetadata of the partition to everybody. isNew is sticky, negative ids are dropped, and so
are brokers that are not registered when the batch is built.

A partition's entry is encoded once, however many brokers get it; so is what an UpdateMetadata says of a topic.

No request has more than MOST partitions: nobody who makes, encodes, reads or answers one is held up by it for long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, groupby, islice
from operator import itemgetter

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.model.cluster import EPOCH_DURING_DELETE, UNKNOWN_EPOCH, Broker, LeaderAndIsr, TopicPartition
from pytest_kcontroller.model.turns import MOST, PIECE, Breather
from pytest_kcontroller.model.values import maker
from pytest_kcontroller.seams import seam
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


class UnsentRequestsError(Exception):
    """The batch before has not been sent (Kafka: IllegalStateException). Brokers were not told what ZooKeeper holds."""


class Requests:
    """The requests of one term: makes its batches, one at a time, and sends them."""

    def __init__(self, controller: int, context: Context, send: Callable[[int, BrokerRequest], None]) -> None:
        self._controller, self._context, self._send = controller, context, send
        self._open: Batch | None = None
        """The one that has not been sent completely."""

    @property
    def unsent(self) -> bool:
        """Something has been added to a batch, and was not sent."""
        return self._open is not None and not self._open.is_empty

    def batch(self) -> Batch:
        """A new one. Raises UnsentRequestsError (ControllerBrokerRequestBatch.newBatch)."""
        if self.unsent:
            raise UnsentRequestsError("requests of the batch before have not been sent")
        self._open = Batch(self._controller, self._context)
        return self._open

    async def send(self, batch: Batch) -> None:
        """In many turns, if it is a big one: who is told first may answer before the last one is told."""
        breather = Breather(MOST)
        for broker, request in batch.build():
            self._send(broker, request)
            await breather.after(sum(len(topic.partition_states) for topic in request.topic_states))
        self._open = None
        await batch.let_go()

    async def update_metadata(self, brokers: Iterable[int], tps: Iterable[TopicPartition] = ()) -> None:
        """A batch of nothing else."""
        batch = self.batch()
        batch.update_metadata(brokers, tps)
        await self.send(batch)


class Batch:
    """One batch of requests of controller `controller`. Each partition's entry is made once, however many brokers get it."""

    def __init__(self, controller: int, context: Context) -> None:
        self._controller, self._context = controller, context
        self._leader_and_isr: dict[int, dict[TopicPartition, LeaderAndIsr]] = {}
        self._new: dict[int, dict[TopicPartition, None]] = {}
        """Those of them that are new to the broker."""
        self._entries: dict[TopicPartition, tuple[LeaderAndIsr, LeaderAndIsrPartitionState]] = {}
        """The last one of each partition, and of which state it is."""
        self._stop: dict[int, dict[TopicPartition, tuple[int, bool]]] = {}
        """Leader epoch and whether it is deleted."""
        self._metadata: dict[str, dict[TopicPartition, None]] = {}
        """By topic, since to sort all of them at once would take long."""
        self._metadata_to: dict[int, None] = {}
        self._metadata_to_all = False

    @property
    def is_empty(self) -> bool:
        return not (self._leader_and_isr or self._stop or self._metadata or self._metadata_to)

    def leader_and_isr(self, brokers: Iterable[int], tp: TopicPartition, state: LeaderAndIsr, *, is_new: bool) -> None:
        """One partition, for several brokers."""
        for broker in brokers:
            if broker >= 0:
                self._leader_and_isr.setdefault(broker, {})[tp] = state
                if is_new:
                    self._new.setdefault(broker, {})[tp] = None
        self._tell_of((tp,))
        self._metadata_to_all = True

    def leader_and_isr_of(self, broker: int, states: Mapping[TopicPartition, LeaderAndIsr]) -> None:
        """Many partitions, none of them new, for one broker, which has an id."""
        if states:
            self._leader_and_isr.setdefault(broker, {}).update(states)
            self._tell_of(states)
            self._metadata_to_all = True

    def update_metadata(self, brokers: Iterable[int], tps: Iterable[TopicPartition] = ()) -> None:
        """Without partitions it says only who is live. Those without leadership are left out when the request is built."""
        self._metadata_to.update(dict.fromkeys(broker for broker in brokers if broker >= 0))
        self._tell_of(tps)

    def _tell_of(self, tps: Iterable[TopicPartition]) -> None:
        topics = self._metadata
        for tp in tps:
            try:
                topics[tp[0]][tp] = None
            except KeyError:
                topics[tp[0]] = {tp: None}

    def stop_replicas(self, broker: int, tps: Iterable[TopicPartition], *, delete: bool) -> None:
        """With the leader epochs that are known now: what is written later in this batch has greater ones."""
        if broker < 0:
            return
        for tp in tps:
            stopped = self._stop.setdefault(broker, {})
            _, deleted = stopped.get(tp, (UNKNOWN_EPOCH, False))
            stopped[tp] = self._leader_epoch(tp), delete or deleted

    def _leader_epoch(self, tp: TopicPartition) -> int:
        """One that is being deleted is stopped whatever its epoch is."""
        if self._context.to_be_deleted(tp):
            return EPOCH_DURING_DELETE
        known = self._context.leadership.get(tp)
        return UNKNOWN_EPOCH if known is None else known.leader_epoch

    def build(self) -> Iterator[tuple[int, BrokerRequest]]:
        """(broker, request), in the order in which they are sent: LeaderAndIsr, UpdateMetadata, StopReplica."""
        registered = self._context.brokers
        for broker in reachable(self._leader_and_isr, registered):
            for tps in _pieces(sorted(self._leader_and_isr[broker])):
                yield broker, self._build_leader_and_isr(broker, tps)
        yield from self._build_update_metadata()
        for broker in reachable(self._stop, registered):
            for tps in _pieces(sorted(self._stop[broker])):
                yield broker, self._build_stop(broker, tps)

    async def let_go(self) -> None:
        """Of all that it holds, since it has been sent: to free all at once would be a long turn."""
        breather = Breather()
        for by_broker in (self._leader_and_isr, self._new, self._stop):
            for held in by_broker.values():
                await breather.after(len(held))
                held.clear()
        while self._entries:
            for _ in range(min(PIECE, len(self._entries))):
                self._entries.popitem()
            await breather.after(PIECE if self._entries else 0)

    def _build_leader_and_isr(self, broker: int, tps: Sequence[TopicPartition]) -> LeaderAndIsrRequest:
        states, new, brokers = self._leader_and_isr[broker], self._new.get(broker, {}), self._context.brokers
        leaders = dict.fromkeys(states[tp].leader for tp in tps)
        return LeaderAndIsrRequest(
            controller_id=self._controller,
            controller_epoch=self._context.epoch,
            broker_epoch=brokers[broker].epoch,
            topic_states=[
                LeaderAndIsrTopicState(
                    topic_name=topic,
                    topic_id=self._topic_id(topic),
                    partition_states=[self._entry(tp, states[tp], tp in new) for tp in of],
                )
                for topic, of in groupby(tps, key=_TOPIC)
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

    def _build_update_metadata(self) -> Iterator[tuple[int, UpdateMetadataRequest]]:
        """What is said of a partition is the same for all, but for the epoch of the broker to whom it is said."""
        brokers, leadership, told = self._context.brokers, self._context.leadership, self._metadata
        if not (to := sorted(brokers) if self._metadata_to_all else reachable(self._metadata_to, brokers)):
            return
        live = [_live_broker(brokers[broker]) for broker in sorted(brokers)]
        pieces = _pieces(tp for topic in sorted(told) for tp in sorted(told[topic]) if tp in leadership)
        for tps in chain([next(pieces, [])], pieces):
            topics = self._metadata_topics(tps)
            for broker in to:
                yield (
                    broker,
                    UpdateMetadataRequest(
                        controller_id=self._controller,
                        controller_epoch=self._context.epoch,
                        broker_epoch=brokers[broker].epoch,
                        topic_states=topics,
                        live_brokers=live,
                    ),
                )

    def _metadata_topics(self, tps: Sequence[TopicPartition]) -> list[UpdateMetadataTopicState]:
        leadership = self._context.leadership
        return [
            encode_once(
                UpdateMetadataTopicState(
                    topic_name=topic,
                    topic_id=self._topic_id(topic),
                    partition_states=[self._metadata_entry(tp, leadership[tp]) for tp in of],
                )
            )
            for topic, of in groupby(tps, key=_TOPIC)
        ]

    def _metadata_entry(self, tp: TopicPartition, state: LeaderAndIsr) -> UpdateMetadataPartitionState:
        replicas = self._context.assignments[tp].replicas
        if self._context.to_be_deleted(tp):
            state = state.during_delete()
        return _make_update_metadata(
            partition_index=tp.partition,
            controller_epoch=state.controller_epoch,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            isr=state.isr,
            zk_version=state.partition_epoch,
            replicas=replicas,
            offline_replicas=self._context.offline_of(tp),
        )

    def _build_stop(self, broker: int, tps: Sequence[TopicPartition]) -> StopReplicaRequest:
        stopped = self._stop[broker]
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
                            leader_epoch=stopped[tp][0],
                            delete_partition=stopped[tp][1],
                        )
                        for tp in of
                    ],
                )
                for topic, of in groupby(tps, key=_TOPIC)
            ],
        )

    def _topic_id(self, topic: str) -> bytes:
        return topic_uuid(self._context.topic_id(topic))


@seam("controller.reachable-recipients")
def reachable(recipients: Iterable[int], registered: Mapping[int, Broker]) -> list[int]:
    """Ascending. Whoever has gone since is left out, and costs the others nothing (KAFKA-2300)."""
    return sorted(broker for broker in recipients if broker in registered)


def _pieces(tps: Iterable[TopicPartition]) -> Iterator[list[TopicPartition]]:
    """For one request each; `tps` are in order."""
    rest = iter(tps)
    while piece := list(islice(rest, MOST)):
        yield piece


@lru_cache(maxsize=1024)
def _live_broker(broker: Broker) -> UpdateMetadataBroker:
    """The same in every batch, for as long as the broker is registered as it is."""
    endpoint = UpdateMetadataEndpoint(
        port=broker.address.port, host=broker.address.host, listener="PLAINTEXT", security_protocol=PLAINTEXT
    )
    return encode_once(UpdateMetadataBroker(id=broker.id, endpoints=[endpoint], rack=broker.rack))
