"""A broker over real sockets: what it answers to a controller, and how it asks for its followers.

The controllers here are scripts that speak the real protocol; what they answer is what the test is about.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pytest_kcontroller.broker.broker import BrokerHalf
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.model.history import HistoryEvent
from pytest_kcontroller.model.history.event import rows
from pytest_kcontroller.runtime.nursery import Nursery
from pytest_kcontroller.runtime.ports import Listening, Stream
from pytest_kcontroller.runtime.real import SocketTransport
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.wire.client import RequestClient
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import (
    AlteredPartition,
    AlteredTopic,
    AlterPartitionResponse,
    ApiKey,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataRequest,
)
from pytest_kcontroller.wire.server import Service, serve
from pytest_kcontroller.wire.topic_ids import topic_uuid

LIMIT_S = 10 * float(os.environ.get("KC_TIMEOUT_SCALE", "1"))
TOPIC_ID = "q8zHkq3VTyOqmVbGcUNWjA"
ANY = Address("127.0.0.1", 0)
Answer = Callable[[Any], Coroutine[Any, Any, Any]]


class Controller:
    """Answers AlterPartition as `answers` say, the last of them for ever, and keeps what was asked."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.asked: asyncio.Queue[Any] = asyncio.Queue()
        self._listening: Listening | None = None

    @property
    def address(self) -> Address:
        assert self._listening is not None
        return self._listening.address

    async def _alter(self, request: Any) -> Any:
        answer = self._answers[0] if len(self._answers) == 1 else self._answers.pop(0)
        self.asked.put_nowait(request)
        return await answer(request)

    async def _serve(self, stream: Stream) -> None:
        await serve(stream, Service(handlers={ApiKey.ALTER_PARTITION: self._alter}))

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Controller]:
        self._listening = await SocketTransport().listen(ANY, self._serve)
        try:
            yield self
        finally:
            await self._listening.close()


async def accept(request: Any) -> Any:
    (topic,) = request.topics
    (partition,) = topic.partitions
    return AlterPartitionResponse(
        throttle_time_ms=0,
        error_code=0,
        topics=[
            AlteredTopic(
                topic_id=topic.topic_id,
                partitions=[
                    AlteredPartition(
                        partition_index=partition.partition_index,
                        error_code=0,
                        leader_id=0,
                        leader_epoch=partition.leader_epoch,
                        isr=tuple(b.broker_id for b in partition.new_isr_with_epochs),
                        leader_recovery_state=0,
                        partition_epoch=partition.partition_epoch + 1,
                    )
                ],
            )
        ],
    )


def refuse(code: ErrorCode) -> Answer:
    async def answer(request: Any) -> Any:
        response = await accept(request)
        response.topics[0].partitions[0].error_code = int(code)
        return response

    return answer


def refuse_all(code: ErrorCode) -> Answer:
    async def answer(request: Any) -> Any:
        return AlterPartitionResponse(throttle_time_ms=0, error_code=int(code), topics=[])

    return answer


async def never(request: Any) -> Any:
    await asyncio.Event().wait()


class Rig:
    """Broker 0, which serves on a real socket, and a client that orders it about."""

    def __init__(self, controllers: dict[int, Controller]) -> None:
        self.records: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._controllers = controllers
        self.broker = BrokerHalf(
            0,
            transport=SocketTransport(),
            record=self._record,
            address_of=lambda broker: controllers[broker].address if broker in controllers else None,
        )
        self.broker.registered(100)
        self.client: RequestClient | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Rig]:
        async def serve_one(stream: Stream) -> None:
            await serve(stream, Service(handlers=self.broker.handlers()))

        listening = await SocketTransport().listen(ANY, serve_one)
        self.client = RequestClient(SocketTransport(), listening.address)
        try:
            async with Nursery() as tasks:
                tasks.start(self.broker.run(), name="broker")
                yield self
        finally:
            self.client.close()
            await listening.close()

    async def order(self, message: Any) -> Any:
        assert self.client is not None
        return await self.client.request(message, timeout_us=int(LIMIT_S * 1e6))

    async def lead(self, *, epoch: int = 1, leader_epoch: int = 0, broker_epoch: int = 100) -> Any:
        state = LeaderAndIsrPartitionState(
            partition_index=0,
            controller_epoch=epoch,
            leader=0,
            leader_epoch=leader_epoch,
            isr=(0,),
            partition_epoch=leader_epoch,
            replicas=(0, 1),
            adding_replicas=(),
            removing_replicas=(),
            is_new=False,
            leader_recovery_state=0,
        )
        return await self.order(
            LeaderAndIsrRequest(
                controller_id=7,
                is_kraft_controller=False,
                controller_epoch=epoch,
                broker_epoch=broker_epoch,
                request_type=0,
                topic_states=[
                    LeaderAndIsrTopicState(topic_name="orders", topic_id=topic_uuid(TOPIC_ID), partition_states=[state])
                ],
                live_leaders=[],
            )
        )

    async def tell(self, *live: int, controller: int = 7, epoch: int = 1) -> Any:
        brokers = [
            UpdateMetadataBroker(
                id=broker,
                endpoints=[
                    UpdateMetadataEndpoint(port=9092, host="127.0.0.1", listener="PLAINTEXT", security_protocol=0)
                ],
                rack=None,
            )
            for broker in live
        ]
        return await self.order(
            UpdateMetadataRequest(
                controller_id=controller,
                is_kraft_controller=False,
                controller_epoch=epoch,
                broker_epoch=100,
                request_type=0,
                topic_states=[],
                live_brokers=brokers,
            )
        )

    def _record(self, event: HistoryEvent, /) -> None:
        """Partition by partition, as it would be read."""
        for row in rows(json.loads(json.dumps({"kind": event.kind, **event.fields()}))):
            self.records.put_nowait(dict(row))

    async def wait_for(self, kind: str) -> dict[str, Any]:
        while (record := await self.records.get())["kind"] != kind:
            continue
        return record


def played(controllers: dict[int, Controller], script: Callable[[Rig], Coroutine[Any, Any, None]]) -> None:
    async def play() -> None:
        async with within(LIMIT_S), contextmanagers(controllers), Rig(controllers).running() as rig:
            await script(rig)

    asyncio.run(play())


@asynccontextmanager
async def contextmanagers(controllers: dict[int, Controller]) -> AsyncIterator[None]:
    if not controllers:
        yield
        return
    (_, first), *others = controllers.items()
    async with first.listening(), contextmanagers(dict(others)):
        yield


def _isr(request: Any) -> list[int]:
    return [b.broker_id for b in request.topics[0].partitions[0].new_isr_with_epochs]


def test_a_leader_takes_a_follower_back_when_it_is_live() -> None:
    controller = Controller(accept)

    async def script(rig: Rig) -> None:
        await rig.lead()
        await rig.tell(0)
        assert controller.asked.empty()
        await rig.tell(0, 1)
        request = await controller.asked.get()
        assert (request.broker_id, request.broker_epoch, _isr(request)) == (0, 100, [0, 1])
        assert await rig.wait_for("broker.isr-changed") == {
            "kind": "broker.isr-changed",
            "topic": "orders",
            "partition": 0,
            "isr": [0, 1],
            "partition_epoch": 1,
        }

    played({7: controller}, script)


@pytest.mark.parametrize(
    "refused",
    [
        refuse(ErrorCode.INELIGIBLE_REPLICA),
        refuse(ErrorCode.NOT_CONTROLLER),
        refuse_all(ErrorCode.NOT_CONTROLLER),
        refuse_all(ErrorCode.STALE_BROKER_EPOCH),
    ],
)
def test_it_asks_again_until_it_is_answered(refused: Answer) -> None:
    controller = Controller(refused, refused, accept)

    async def script(rig: Rig) -> None:
        await rig.lead()
        await rig.tell(0, 1)
        assert (await rig.wait_for("broker.isr-changed"))["isr"] == [0, 1]
        assert controller.asked.qsize() == 3

    played({7: controller}, script)


def test_a_fenced_leader_waits_for_its_next_order() -> None:
    controller = Controller(refuse(ErrorCode.FENCED_LEADER_EPOCH), accept)

    async def script(rig: Rig) -> None:
        await rig.lead()
        await rig.tell(0, 1)
        await controller.asked.get()
        await rig.tell(0, 1)
        await rig.lead(leader_epoch=1)
        request = await controller.asked.get()
        assert request.topics[0].partitions[0].leader_epoch == 1
        await rig.wait_for("broker.isr-changed")

    played({7: controller}, script)


def test_a_silent_controller_is_left_for_its_successor() -> None:
    silent, successor = Controller(never), Controller(accept)

    async def script(rig: Rig) -> None:
        await rig.lead()
        await rig.tell(0, 1)
        await silent.asked.get()
        await rig.tell(0, 1, controller=8, epoch=2)
        assert _isr(await successor.asked.get()) == [0, 1]
        await rig.wait_for("broker.isr-changed")

    played({7: silent, 8: successor}, script)


def test_orders_are_answered_as_kafka_does() -> None:
    async def script(rig: Rig) -> None:
        assert (await rig.lead(broker_epoch=99)).error_code == ErrorCode.STALE_BROKER_EPOCH
        response = await rig.lead(epoch=2)
        assert response.error_code == ErrorCode.NONE
        assert response.topics[0].partition_errors[0].error_code == ErrorCode.NONE
        assert (await rig.wait_for("broker.become-leader"))["epoch"] == 2
        again = await rig.lead(epoch=2)
        assert again.topics[0].partition_errors[0].error_code == ErrorCode.STALE_CONTROLLER_EPOCH
        assert (await rig.lead(epoch=1, leader_epoch=1)).error_code == ErrorCode.STALE_CONTROLLER_EPOCH
        assert (await rig.tell(0, epoch=1)).error_code == ErrorCode.STALE_CONTROLLER_EPOCH
        stopped = await rig.order(
            StopReplicaRequest(
                controller_id=7,
                is_kraft_controller=False,
                controller_epoch=3,
                broker_epoch=100,
                topic_states=[
                    StopReplicaTopicState(
                        topic_name="orders",
                        partition_states=[
                            StopReplicaPartitionState(partition_index=0, leader_epoch=-2, delete_partition=True)
                        ],
                    )
                ],
            )
        )
        assert [e.error_code for e in stopped.partition_errors] == [ErrorCode.NONE]
        assert rig.broker.state.replicas.hosted == ()
        assert (await rig.tell(0, epoch=2)).error_code == ErrorCode.STALE_CONTROLLER_EPOCH

    played({}, script)
