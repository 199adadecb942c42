"""From the wire to the broker's state and back: LeaderAndIsr, UpdateMetadata, StopReplica."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pytest_kcontroller.broker.isr import IsrSender
from pytest_kcontroller.broker.metadata import MetadataCache, PartitionMetadata
from pytest_kcontroller.broker.replicas import LeaderOrder, Replica, Replicas, StopOrder
from pytest_kcontroller.broker.shutdown import ShutdownLimits, ShutdownResult, controlled_shutdown
from pytest_kcontroller.model.cluster import UNKNOWN_EPOCH, Address, Broker, TopicPartition
from pytest_kcontroller.model.history import Record
from pytest_kcontroller.runtime.ports import Clock, Transport
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import (
    ApiKey,
    LeaderAndIsrPartitionError,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
    StopReplicaPartitionError,
    StopReplicaResponse,
    UpdateMetadataResponse,
)
from pytest_kcontroller.wire.server import Handler
from pytest_kcontroller.wire.topic_ids import topic_id_text

PLAINTEXT = 0


class BrokerHalf:
    """What a node is besides a candidate controller. Its handlers never wait, so each request is applied as a whole."""

    def __init__(
        self,
        broker: int,
        *,
        transport: Transport,
        record: Record,
        address_of: Callable[[int], Address | None],
        request_timeout_us: int = 30_000_000,
    ) -> None:
        """`address_of` gives the proxy in front of a node, None: go to where it is registered.

        `request_timeout_us` is how long one AlterPartition may take (Kafka: controller.socket.timeout.ms, 30 s).
        """
        self.replicas = Replicas(broker)
        self.metadata = MetadataCache()
        self.broker_epoch = UNKNOWN_EPOCH
        """The czxid of our registration; -1 before the first."""
        self._broker, self._record, self._link = broker, record, address_of
        self._transport = transport
        self.isr = IsrSender(
            broker,
            self.replicas,
            self.metadata,
            transport=transport,
            record=record,
            address_of=self._address_of,
            broker_epoch=lambda: self.broker_epoch,
            request_timeout_us=request_timeout_us,
        )

    def handlers(self) -> Mapping[int, Handler]:
        """For wire.server.serve."""
        return {
            ApiKey.LEADER_AND_ISR: self._leader_and_isr,
            ApiKey.UPDATE_METADATA: self._update_metadata,
            ApiKey.STOP_REPLICA: self._stop_replica,
        }

    def registered(self, broker_epoch: int) -> None:
        """We are in /brokers/ids with this epoch (czxid)."""
        self.broker_epoch = broker_epoch
        self.isr.wake()

    async def run(self) -> None:
        """The broker's own work, until it is cancelled."""
        await self.isr.run()

    async def ask_for_shutdown(self, clock: Clock, limits: ShutdownLimits) -> ShutdownResult:
        """Asks the controller to relieve this broker, which is about to stop."""
        return await controlled_shutdown(
            self._broker,
            self.metadata,
            limits,
            transport=self._transport,
            clock=clock,
            address_of=self._address_of,
            broker_epoch=lambda: self.broker_epoch,
        )

    def _address_of(self, broker: int) -> Address | None:
        if (link := self._link(broker)) is not None:
            return link
        known = self.metadata.brokers.get(broker)
        return None if known is None else known.address

    def _admit(self, request: Any) -> ErrorCode:
        return self.replicas.admit(
            controller_epoch=request.controller_epoch,
            broker_epoch=request.broker_epoch,
            own_broker_epoch=self.broker_epoch,
        )

    async def _leader_and_isr(self, request: Any) -> Any:
        if (error := self._admit(request)) != ErrorCode.NONE:
            return LeaderAndIsrResponse(error_code=int(error), topics=[])
        topics = []
        for topic in request.topic_states:
            errors = []
            for order in _leader_orders(topic):
                error, replica = self.replicas.lead_or_follow(order)
                errors.append(LeaderAndIsrPartitionError(partition_index=order.tp.partition, error_code=int(error)))
                if replica is not None:
                    self._record_role(replica, request.broker_epoch)
            topics.append(LeaderAndIsrTopicError(topic_id=topic.topic_id, partition_errors=errors))
        self.isr.wake()
        return LeaderAndIsrResponse(error_code=int(ErrorCode.NONE), topics=topics)

    def _record_role(self, replica: Replica, broker_epoch: int) -> None:
        self._record(
            "broker.become-leader" if replica.leader == self._broker else "broker.become-follower",
            topic=replica.tp.topic,
            partition=replica.tp.partition,
            leader=replica.leader,
            leader_epoch=replica.leader_epoch,
            epoch=replica.controller_epoch,
            broker_epoch=broker_epoch,
        )

    async def _update_metadata(self, request: Any) -> Any:
        if (error := self._admit(request)) == ErrorCode.NONE:
            self.metadata.update(
                request.controller_id, request.controller_epoch, _live_brokers(request), _partition_metadata(request)
            )
            self.isr.wake()
        return UpdateMetadataResponse(error_code=int(error))

    async def _stop_replica(self, request: Any) -> Any:
        if (error := self._admit(request)) != ErrorCode.NONE:
            return StopReplicaResponse(error_code=int(error), partition_errors=[])
        errors = []
        for topic in request.topic_states:
            for state in topic.partition_states:
                tp = TopicPartition(topic.topic_name, state.partition_index)
                error = self.replicas.stop(StopOrder(tp, state.leader_epoch, state.delete_partition))
                errors.append(
                    StopReplicaPartitionError(topic_name=tp.topic, partition_index=tp.partition, error_code=int(error))
                )
        return StopReplicaResponse(error_code=int(ErrorCode.NONE), partition_errors=errors)


def _leader_orders(topic: Any) -> Iterator[LeaderOrder]:
    topic_id = topic_id_text(topic.topic_id)
    for state in topic.partition_states:
        yield LeaderOrder(
            tp=TopicPartition(topic.topic_name, state.partition_index),
            topic_id=topic_id,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            isr=state.isr,
            partition_epoch=state.partition_epoch,
            replicas=state.replicas,
            controller_epoch=state.controller_epoch,
        )


def _live_brokers(request: Any) -> Iterator[Broker]:
    for broker in request.live_brokers:
        endpoint = next((e for e in broker.endpoints if e.security_protocol == PLAINTEXT), None)
        if endpoint is not None:
            yield Broker(id=broker.id, address=Address(endpoint.host, endpoint.port), rack=broker.rack)


def _partition_metadata(request: Any) -> Iterator[tuple[TopicPartition, PartitionMetadata]]:
    for topic in request.topic_states:
        for state in topic.partition_states:
            yield (
                TopicPartition(topic.topic_name, state.partition_index),
                PartitionMetadata(
                    leader=state.leader,
                    leader_epoch=state.leader_epoch,
                    isr=state.isr,
                    partition_epoch=state.zk_version,
                    controller_epoch=state.controller_epoch,
                    replicas=state.replicas,
                    offline_replicas=state.offline_replicas,
                ),
            )
