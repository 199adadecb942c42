"""Asks the controller to take live followers back into the ISR, until it is answered (AlterPartition, KIP-497).

Source: kafka.server.DefaultAlterPartitionManager and NodeToControllerChannelManager (3.9): one request in flight with all
that is open; whatever fails is asked again after a pause, of whoever is the controller then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from pytest_kcontroller.broker.metadata import MetadataCache
from pytest_kcontroller.broker.replicas import IsrAnswer, IsrQuestion, Replicas
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.model.history import Record
from pytest_kcontroller.runtime.ports import ConnectionClosedError, Transport
from pytest_kcontroller.wire.client import RequestClient
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import (
    AlterPartitionBrokerState,
    AlterPartitionPartition,
    AlterPartitionRequest,
    AlterPartitionTopic,
)
from pytest_kcontroller.wire.topic_ids import topic_id_text, topic_uuid

FIRST_PAUSE_US = 50_000
LONGEST_PAUSE_US = 1_000_000


class IsrSender:
    """Runs as one task of the node. `wake` it when a partition got a new leader or somebody's liveness changed."""

    def __init__(
        self,
        broker: int,
        replicas: Replicas,
        metadata: MetadataCache,
        *,
        transport: Transport,
        record: Record,
        address_of: Callable[[int], Address | None],
        broker_epoch: Callable[[], int],
        request_timeout_us: int,
    ) -> None:
        self._broker, self._replicas, self._metadata = broker, replicas, metadata
        self._transport, self._record = transport, record
        self._address_of, self._broker_epoch = address_of, broker_epoch
        self._request_timeout_us = request_timeout_us
        self._wake = asyncio.Event()
        self._client: RequestClient | None = None
        self._client_of: tuple[int, int, Address] | None = None

    def wake(self) -> None:
        """There may be something to ask. A controller that is not the controller any more is not waited for."""
        if self._client_of is not None and self._client_of[:2] != self._controller():
            self._drop_client()
        self._wake.set()

    async def run(self) -> None:
        """Until it is cancelled."""
        pause = FIRST_PAUSE_US
        try:
            while True:
                self._wake.clear()
                questions = self._replicas.questions(self._metadata.live)
                if not questions:
                    pause = FIRST_PAUSE_US
                    await self._wake.wait()
                elif await self._ask(questions):
                    pause = FIRST_PAUSE_US
                else:
                    await self._pause(pause)
                    pause = min(pause * 2, LONGEST_PAUSE_US)
        finally:
            self._drop_client()

    async def _pause(self, pause_us: int) -> None:
        """Ends early when something has changed."""
        try:
            async with asyncio.timeout(pause_us / 1e6):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _ask(self, questions: tuple[IsrQuestion, ...]) -> bool:
        """False: something of it is still open, or has to be thought over."""
        client = self._client_now()
        if client is None:
            return False
        try:
            response = await client.request(self._request(questions), timeout_us=self._request_timeout_us)
        except ConnectionClosedError:
            return False
        if response.error_code != ErrorCode.NONE:
            # NOT_CONTROLLER: the next UpdateMetadata names the new one. STALE_BROKER_EPOCH: we are registering again.
            return False
        return self._take_answers(questions, response)

    def _take_answers(self, questions: tuple[IsrQuestion, ...], response: Any) -> bool:
        answered = {
            (topic_id_text(topic.topic_id), partition.partition_index): partition
            for topic in response.topics
            for partition in topic.partitions
        }
        done = True
        for question in questions:
            partition = answered.get((question.topic_id, question.tp.partition))
            if partition is None:
                done = False
            elif partition.error_code != ErrorCode.NONE:
                self._replicas.refused(question, partition.error_code)
                done = False
            else:
                self._take_answer(question, partition)
        return done

    def _take_answer(self, question: IsrQuestion, partition: Any) -> None:
        changed = self._replicas.answered(
            question,
            IsrAnswer(
                leader_epoch=partition.leader_epoch,
                partition_epoch=partition.partition_epoch,
                isr=partition.isr,
            ),
        )
        if changed is not None:
            self._record(
                "broker.isr-changed",
                topic=changed.tp.topic,
                partition=changed.tp.partition,
                isr=list(changed.isr),
                partition_epoch=changed.partition_epoch,
            )

    def _request(self, questions: tuple[IsrQuestion, ...]) -> Any:
        topics: dict[str, list[Any]] = {}
        for question in questions:
            topics.setdefault(question.topic_id, []).append(
                AlterPartitionPartition(
                    partition_index=question.tp.partition,
                    leader_epoch=question.leader_epoch,
                    # Broker epochs of ISR members are KRaft's (KIP-903); -1 where they are not known.
                    new_isr_with_epochs=[AlterPartitionBrokerState(broker_id=r, broker_epoch=-1) for r in question.isr],
                    leader_recovery_state=0,
                    partition_epoch=question.partition_epoch,
                )
            )
        return AlterPartitionRequest(
            broker_id=self._broker,
            broker_epoch=self._broker_epoch(),
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
        address = self._address_of(controller)
        if address is None:
            self._drop_client()
            return None
        if self._client is None or self._client_of != (controller, epoch, address):
            self._drop_client()
            self._client = RequestClient(self._transport, address, client_id=f"broker-{self._broker}")
            self._client_of = (controller, epoch, address)
        return self._client

    def _drop_client(self) -> None:
        client, self._client, self._client_of = self._client, None, None
        if client is not None:
            client.close()
