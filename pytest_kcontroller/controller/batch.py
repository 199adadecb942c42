"""Which request each broker gets: additions are gathered, then built once (kafka.controller.ControllerBrokerRequestBatch).

A LeaderAndIsr implies an UpdateMetadata of the partition to everybody. isNew is sticky, negative ids are dropped, and so
are brokers that are not registered when the batch is built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.model.cluster import LeaderAndIsr, TopicPartition
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


class Requests:
    """The requests of one term: makes its batches, and sends them."""

    def __init__(self, controller: int, context: Context, send: Callable[[int, Any], None]) -> None:
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
    """One batch of requests of controller `controller`."""

    def __init__(self, controller: int, context: Context) -> None:
        self._controller, self._context = controller, context
        self._leader_and_isr: dict[int, dict[TopicPartition, tuple[LeaderAndIsr, bool]]] = {}
        self._stop: dict[int, dict[TopicPartition, bool]] = {}
        self._metadata_to: dict[int, None] = {}
        self._metadata: dict[TopicPartition, None] = {}
        self._metadata_to_all = False

    def leader_and_isr(self, brokers: Iterable[int], tp: TopicPartition, state: LeaderAndIsr, *, is_new: bool) -> None:
        for broker in brokers:
            if broker >= 0:
                partitions = self._leader_and_isr.setdefault(broker, {})
                was_new = tp in partitions and partitions[tp][1]
                partitions[tp] = (state, is_new or was_new)
        self._metadata[tp] = None
        self._metadata_to_all = True

    def update_metadata(self, brokers: Iterable[int], tps: Iterable[TopicPartition] = ()) -> None:
        """Without partitions it says only who is live. Those without leadership are left out when the request is built."""
        self._metadata_to.update(dict.fromkeys(broker for broker in brokers if broker >= 0))
        self._metadata.update(dict.fromkeys(tps))

    def stop_replicas(self, broker: int, tps: Iterable[TopicPartition], *, delete: bool) -> None:
        if broker >= 0:
            stopped = self._stop.setdefault(broker, {})
            for tp in tps:
                stopped[tp] = delete or stopped.get(tp, False)

    def build(self) -> Iterator[tuple[int, Any]]:
        """(broker, request), in the order in which they are sent: LeaderAndIsr, UpdateMetadata, StopReplica."""
        registered = self._context.brokers
        for broker in sorted(b for b in self._leader_and_isr if b in registered):
            yield broker, self._build_leader_and_isr(broker)
        metadata_to = sorted(registered if self._metadata_to_all else (b for b in self._metadata_to if b in registered))
        if metadata_to:
            topics, live = self._metadata_topics(), self._live_brokers()
            for broker in metadata_to:
                yield broker, self._request(UpdateMetadataRequest, broker, topic_states=topics, live_brokers=live)
        for broker in sorted(b for b in self._stop if b in registered):
            yield broker, self._build_stop(broker)

    def _request(self, kind: Any, broker: int, **fields: Any) -> Any:
        return kind(
            controller_id=self._controller,
            controller_epoch=self._context.epoch,
            broker_epoch=self._context.brokers[broker].epoch,
            **fields,
        )

    def _build_leader_and_isr(self, broker: int) -> Any:
        topics: dict[str, list[Any]] = {}
        leaders: dict[int, None] = {}
        for tp, (state, is_new) in sorted(self._leader_and_isr[broker].items()):
            assignment = self._context.assignments[tp]
            leaders[state.leader] = None
            topics.setdefault(tp.topic, []).append(
                LeaderAndIsrPartitionState(
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
            )
        return self._request(
            LeaderAndIsrRequest,
            broker,
            topic_states=[
                LeaderAndIsrTopicState(topic_name=name, topic_id=self._topic_id(name), partition_states=partitions)
                for name, partitions in topics.items()
            ],
            live_leaders=[
                LeaderAndIsrLiveLeader(broker_id=leader.id, host_name=leader.address.host, port=leader.address.port)
                for leader in (self._context.brokers[b] for b in sorted(leaders) if b in self._context.brokers)
            ],
        )

    def _metadata_topics(self) -> list[Any]:
        topics: dict[str, list[Any]] = {}
        for tp in sorted(self._metadata):
            state, assignment = self._context.leadership.get(tp), self._context.assignments.get(tp)
            if state is None or assignment is None:
                continue
            topics.setdefault(tp.topic, []).append(
                UpdateMetadataPartitionState(
                    partition_index=tp.partition,
                    controller_epoch=state.controller_epoch,
                    leader=state.leader,
                    leader_epoch=state.leader_epoch,
                    isr=state.isr,
                    zk_version=state.partition_epoch,
                    replicas=assignment.replicas,
                    offline_replicas=tuple(r for r in assignment.replicas if not self._context.live(r)),
                )
            )
        return [
            encode_once(
                UpdateMetadataTopicState(topic_name=name, topic_id=self._topic_id(name), partition_states=partitions)
            )
            for name, partitions in topics.items()
        ]

    def _live_brokers(self) -> list[Any]:
        return [
            UpdateMetadataBroker(
                id=broker.id,
                endpoints=[
                    UpdateMetadataEndpoint(
                        port=broker.address.port,
                        host=broker.address.host,
                        listener="PLAINTEXT",
                        security_protocol=PLAINTEXT,
                    )
                ],
                rack=broker.rack,
            )
            for _, broker in sorted(self._context.brokers.items())
        ]

    def _build_stop(self, broker: int) -> Any:
        topics: dict[str, list[Any]] = {}
        for tp, delete in sorted(self._stop[broker].items()):
            state = self._context.leadership.get(tp)
            topics.setdefault(tp.topic, []).append(
                StopReplicaPartitionState(
                    partition_index=tp.partition,
                    leader_epoch=-1 if state is None else state.leader_epoch,
                    delete_partition=delete,
                )
            )
        return self._request(
            StopReplicaRequest,
            broker,
            topic_states=[
                StopReplicaTopicState(topic_name=name, partition_states=states) for name, states in topics.items()
            ],
        )

    def _topic_id(self, topic: str) -> bytes:
        return topic_uuid(self._context.topic_id(topic))
