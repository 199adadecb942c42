"""Asks the controller to take live followers back into the ISR, until it is answered (AlterPartition, KIP-497).

Source: kafka.server.DefaultAlterPartitionManager and NodeToControllerChannelManager (3.9): one request in flight with all
that is open; whatever fails is asked again after a pause, of whoever is the controller then.
"""

from __future__ import annotations

import asyncio

from pytest_kcontroller.broker.replicas import PendingIsr, Replica
from pytest_kcontroller.broker.state import BrokerState
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.model.history import BrokerIsrChanged
from pytest_kcontroller.model.history.event import by_topic
from pytest_kcontroller.runtime.ports import ConnectionClosedError, Transport
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.wire.client import RequestClient
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import (
    AlterPartitionBrokerState,
    AlterPartitionPartition,
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionTopic,
)
from pytest_kcontroller.wire.topic_ids import topic_id_text, topic_uuid

FIRST_PAUSE_US = 50_000
LONGEST_PAUSE_US = 1_000_000


class IsrSender:
    """Runs as one task of the node. `wake` it when a partition got a new leader or somebody's liveness changed."""

    def __init__(self, state: BrokerState, transport: Transport, *, request_timeout_us: int) -> None:
        self._state, self._replicas, self._metadata = state, state.replicas, state.metadata
        self._transport, self._request_timeout_us = transport, request_timeout_us
        self._wake = asyncio.Event()
        self._client: RequestClient | None = None
        self._client_of: tuple[int, int, Address] | None = None

    def wake(self) -> None:
        """There may be something to ask. A controller that is not the controller any more is not waited for."""
        if self._client_of is not None and self._client_of[:2] != self._controller():
            self._drop_client()
        if self._replicas.any_short or self._state.several_dirs:
            self._wake.set()

    async def run(self) -> None:
        """Until it is cancelled."""
        pause = FIRST_PAUSE_US
        try:
            while True:
                self._wake.clear()
                pending = self._state.pending_isrs()
                if not pending:
                    pause = FIRST_PAUSE_US
                    await self._wake.wait()
                elif await self._ask(pending):
                    pause = FIRST_PAUSE_US
                else:
                    await self._pause(pause)
                    pause = min(pause * 2, LONGEST_PAUSE_US)
        finally:
            self._drop_client()

    async def _pause(self, pause_us: int) -> None:
        """Ends early when something has changed."""
        try:
            async with within(pause_us / 1e6):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _ask(self, pending: tuple[PendingIsr, ...]) -> bool:
        """False: something of it is still open, or has to be thought over."""
        client = self._client_now()
        if client is None:
            return False
        try:
            response = await client.request(self._request(pending), timeout_us=self._request_timeout_us)
        except ConnectionClosedError:
            return False
        if response.error_code != ErrorCode.NONE:
            # NOT_CONTROLLER: the next UpdateMetadata names the new one. STALE_BROKER_EPOCH: we are registering again.
            return False
        return self._take_answers(pending, response)

    def _take_answers(self, pending: tuple[PendingIsr, ...], response: AlterPartitionResponse) -> bool:
        answered = {
            (topic_id_text(topic.topic_id), partition.partition_index): partition
            for topic in response.topics
            for partition in topic.partitions
        }
        done, changed = True, list[Replica]()
        for item in pending:
            partition = answered.get((item.topic_id, item.tp.partition))
            if partition is None:
                done = False
            elif partition.error_code != ErrorCode.NONE:
                self._replicas.fail(item, partition.error_code)
                done = False
            elif (replica := self._replicas.complete(item, partition)) is not None:
                changed.append(replica)
        if changed:
            told = ((r.tp.topic, (r.tp.partition, r.isr, r.partition_epoch)) for r in changed)
            self._state.record(BrokerIsrChanged(topics=by_topic(BrokerIsrChanged.columns, told)))
        return done

    def _request(self, pending: tuple[PendingIsr, ...]) -> AlterPartitionRequest:
        topics: dict[str, list[AlterPartitionPartition]] = {}
        for item in pending:
            topics.setdefault(item.topic_id, []).append(
                AlterPartitionPartition(
                    partition_index=item.tp.partition,
                    leader_epoch=item.leader_epoch,
                    # Broker epochs of ISR members are KRaft's (KIP-903); -1 where they are not known.
                    new_isr_with_epochs=[AlterPartitionBrokerState(broker_id=r, broker_epoch=-1) for r in item.isr],
                    leader_recovery_state=0,
                    partition_epoch=item.partition_epoch,
                )
            )
        return AlterPartitionRequest(
            broker_id=self._state.broker,
            broker_epoch=self._state.broker_epoch,
            topics=[
                AlterPartitionTopic(topic_id=topic_uuid(topic_id), partitions=partitions)
                for topic_id, partitions in topics.items()
            ],
        )

    def _controller(self) -> tuple[int, int]:
        return self._metadata.controller, self._metadata.controller_epoch

    def _client_now(self) -> RequestClient | None:
        """The connection to the controller that the newest UpdateMetadata names."""
        controller, epoch = self._controller()
        address = self._state.address_of(controller)
        if address is None:
            self._drop_client()
            return None
        if self._client is None or self._client_of != (controller, epoch, address):
            self._drop_client()
            self._client = RequestClient(self._transport, address, client_id=f"broker-{self._state.broker}")
            self._client_of = (controller, epoch, address)
        return self._client

    def _drop_client(self) -> None:
        client, self._client, self._client_of = self._client, None, None
        if client is not None:
            client.close()
