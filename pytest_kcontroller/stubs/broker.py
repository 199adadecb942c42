"""One stub broker. It does what it is told and nothing by itself: no replicas, no check of epochs, no new session after
the old one expired. It runs wherever a node runs, on sockets and in simulated time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from pytest_kcontroller.broker.registration import register
from pytest_kcontroller.errors import EnvironmentFailure, UsageError
from pytest_kcontroller.model.cluster import UNKNOWN_EPOCH, Address, Broker, TopicPartition
from pytest_kcontroller.runtime.ports import Clock, ConnectionClosedError, Listening, Stream, Transport
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.stubs.answers import SERVED, Rule, Rules, answer
from pytest_kcontroller.stubs.requests import ReceivedRequest
from pytest_kcontroller.wire.client import RequestClient
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.message import Request, Response
from pytest_kcontroller.wire.messages import (
    AlterPartitionBrokerState,
    AlterPartitionPartition,
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionTopic,
    ApiKey,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    LeaderAndIsrPartitionState,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from pytest_kcontroller.wire.server import Service, serve
from pytest_kcontroller.wire.topic_ids import ZERO_TOPIC_ID
from pytest_kcontroller.zookeeper.session import SessionEvent, SessionExpiredError, SessionState, ZkConnector, ZkError
from pytest_kcontroller.zookeeper.store import Store
from pytest_kcontroller.zookeeper.znodes import (
    BROKER_IDS,
    CONTROLLER,
    broker_path,
    decode_broker,
    decode_controller,
)

R = TypeVar("R", bound=Response)
T = TypeVar("T")

ANYWHERE = Address("127.0.0.1", 0)
ANSWER_S = 30.0
"""So long a stub waits for the controller's answer (Kafka: controller.socket.timeout.ms)."""


class StubRuntime(Protocol):
    """What a stub broker needs of a runtime."""

    @property
    def clock(self) -> Clock: ...
    @property
    def zookeeper(self) -> ZkConnector: ...
    @property
    def transport(self) -> Transport: ...


class StubBroker:
    """Broker `id`, which listens at `address`: a free port at the first start, and the same one after that.

    `requests` has all that it has received, oldest first; `metadata` the last that each partition was said to be by
    UpdateMetadata, that of a deleted topic too (with the leader -2), and `live_brokers` the last list of these; `replicas`
    the last LeaderAndIsr of each partition. `refused`: a sentence for each request that is not one of a controller's.
    ZooKeeper, at `where`, has `start_limit_s` to give a session, and again to take the registration; None: for ever.
    """

    def __init__(
        self,
        id: int,
        runtime: StubRuntime,
        *,
        address: Address = ANYWHERE,
        rack: str | None = None,
        where: str = "",
        start_limit_s: float | None = None,
    ) -> None:
        self.id, self.address, self.rack = id, address, rack
        self._where, self._start_limit_s = where, start_limit_s
        self.epoch = UNKNOWN_EPOCH
        """The czxid of the last registration."""
        self.requests: list[ReceivedRequest] = []
        self.refused: list[str] = []
        self.metadata: dict[TopicPartition, UpdateMetadataPartitionState] = {}
        self.live_brokers: dict[int, Address] = {}
        self.replicas: dict[TopicPartition, LeaderAndIsrPartitionState] = {}
        self.topic_ids: dict[str, bytes] = {}
        self._runtime = runtime
        self._rules, self._released = Rules(), asyncio.Event()
        self._heard = asyncio.Event()
        self._listening: Listening | None = None
        self._store: Store | None = None

    # --- its life

    @property
    def registered(self) -> bool:
        """Whether it has a session, and so a registration; one that expired is not renewed."""
        return self._store is not None and self._store.session.state in (SessionState.CONNECTED, SessionState.SUSPENDED)

    async def start(self) -> None:
        """Listens and registers. Raises EnvironmentFailure: the port or the id is taken, by somebody who does not go, or
        ZooKeeper does not answer."""
        if self._listening is None:
            try:
                self._listening = await self._runtime.transport.listen(self.address, self._serve)
            except OSError as taken:
                raise EnvironmentFailure(f"stub broker {self.id} cannot listen on {self.address}: {taken}") from None
            self.address = self._listening.address
        if not self.registered:
            await self._register(await self._new_session())

    @property
    def session_id(self) -> int | None:
        """Of its session, alive or not; None: it is stopped."""
        return None if self._store is None else self._store.session.session_id

    async def stop(self) -> None:
        """Closes session and connections, at once: what a broker does at its end. Idempotent."""
        store, self._store = self._store, None
        if store is not None:
            await store.session.close()
        listening, self._listening = self._listening, None
        if listening is not None:
            await listening.close()
        self._release()

    async def bounce(self) -> None:
        """Ends its session and registers again at once in a new one, so fast that a controller may see neither go. Raises as
        `start`."""
        new, old = await self._new_session(), self._store
        if old is not None:
            await old.session.close()
        await self._register(new)

    async def _new_session(self) -> Store:
        return await self._answered(self._open(), self._start_limit_s)

    async def _open(self) -> Store:
        store = await Store.open(self._runtime.zookeeper, _ignore)
        try:
            await store.ensure_paths([BROKER_IDS])
        except BaseException:
            store.session.abandon()
            raise
        return store

    async def _register(self, store: Store) -> None:
        self._store = store
        broker = Broker(id=self.id, address=self.address, rack=self.rack)
        wait_s = 2 * store.session.timeout_ms / 1000
        limit_s = None if self._start_limit_s is None else wait_s + self._start_limit_s
        made = register(store, store.session, broker, self._runtime.clock, wait_us=round(wait_s * 1e6))
        try:
            self.epoch = await self._answered(made, limit_s)
        except BaseException:
            self._store = None  # a session without a registration is none
            store.session.abandon()
            raise

    async def _answered(self, work: Awaitable[T], limit_s: float | None) -> T:
        """What is asked of ZooKeeper. Raises EnvironmentFailure: there is no answer in time, or the session has ended."""
        try:
            async with within(limit_s):
                return await work
        except TimeoutError:
            what = f"ZooKeeper has not answered stub broker {self.id} within {limit_s:g} s"
            hint = "does one run there, and is it neither paused nor cut off?"
            raise EnvironmentFailure(what, where=self._where, hint=hint) from None
        except SessionExpiredError:
            what = f"the session of stub broker {self.id} has ended"
            raise EnvironmentFailure(what, where=self._where, hint="start() gives it a new one") from None
        except ZkError as refused:
            what = f"ZooKeeper does not do what stub broker {self.id} asks: {refused}"
            raise EnvironmentFailure(what, where=self._where) from None

    # --- what it receives

    async def _serve(self, stream: Stream) -> None:
        connection = _Connection(self)
        await serve(stream, connection.service())

    def take(self, message: Request[Response], version: int) -> ReceivedRequest:
        """Records a request."""
        request = ReceivedRequest(
            api=ApiKey(message.API_KEY), version=version, at_us=self._runtime.clock.now_us(), message=message
        )
        self.requests.append(request)
        self.topic_ids |= request.topic_ids if request.api == ApiKey.LEADER_AND_ISR else {}
        for tp, state in request.states:
            if isinstance(state, UpdateMetadataPartitionState):
                self.metadata[tp] = state
            elif isinstance(state, LeaderAndIsrPartitionState):
                self.replicas[tp] = state
        if isinstance(message, UpdateMetadataRequest):
            brokers = message.live_brokers
            self.live_brokers = {
                b.id: Address(b.endpoints[0].host, b.endpoints[0].port) for b in brokers if b.endpoints
            }
        self._heard.set()
        return request

    async def wait_for(self, wanted: Callable[[ReceivedRequest], bool], *, after: int = 0) -> ReceivedRequest:
        """The first request, of those behind the first `after`, that is `wanted`; waits until there is one, for ever."""
        while True:
            for request in self.requests[after:]:
                if wanted(request):
                    return request
            after = len(self.requests)
            self._heard.clear()
            await self._heard.wait()

    # --- how it answers

    def refuse(
        self,
        error: int,
        *,
        topic: str | None = None,
        partition: int | None = None,
        api: ApiKey | None = None,
        times: int | None = None,
    ) -> None:
        """Answers `error` (a code of Kafka's Errors) for that partition, all of that topic, or without one the request."""
        if partition is not None and topic is None:
            raise UsageError(f"partition {partition} of which topic?", hint="refuse(error, topic=..., partition=...)")
        self._rules.add(Rule(error=int(error), topic=topic, partition=partition, api=api, times=times))

    def delay(self, delay_s: float, *, api: ApiKey | None = None, times: int | None = None) -> None:
        """Answers that much later."""
        self._rules.add(Rule(delay_us=round(delay_s * 1e6), api=api, times=times))

    def hold(self, *, api: ApiKey | None = None, times: int | None = None) -> None:
        """Does not answer until it behaves again, which may be never."""
        self._rules.add(Rule(hold=True, api=api, times=times))

    def hang_up(self, *, api: ApiKey | None = None, times: int | None = None) -> None:
        """Closes the connection in place of an answer."""
        self._rules.add(Rule(hang_up=True, api=api, times=times))

    def behave(self) -> None:
        """Forgets all of that, and answers what is held."""
        self._rules.clear()
        self._release()

    def _release(self) -> None:
        self._released.set()
        self._released = asyncio.Event()

    async def answer(self, request: ReceivedRequest) -> Response:
        """After what its rules say. Raises ConnectionClosedError: the connection shall be closed."""
        rules = self._rules.take(request)
        if any(rule.hang_up for rule in rules):
            raise ConnectionClosedError(f"stub broker {self.id} hangs up")
        if delay_us := sum(rule.delay_us for rule in rules):
            await self._runtime.clock.sleep_us(delay_us)
        if any(rule.hold for rule in rules):
            await self._released.wait()
        return answer(request, rules)

    # --- what it asks of the controller

    async def controlled_shutdown(
        self, *, broker_epoch: int | None = None, version: int | None = None, timeout_s: float = ANSWER_S
    ) -> ControlledShutdownResponse:
        """Says that it is about to stop, and gives the answer. `version` 1 to 3, None: the newest.

        Raises EnvironmentFailure: there is no controller, or it does not answer.
        """
        epoch = self.epoch if broker_epoch is None else broker_epoch
        return await self.ask(ControlledShutdownRequest(broker_id=self.id, broker_epoch=epoch), version, timeout_s)

    async def alter_partition(
        self,
        topic: str,
        partition: int,
        isr: tuple[int, ...],
        *,
        leader_epoch: int | None = None,
        partition_epoch: int | None = None,
        broker_epoch: int | None = None,
        version: int | None = None,
        timeout_s: float = ANSWER_S,
    ) -> AlterPartitionResponse:
        """Asks for this ISR and gives the answer; epochs that are not given are those of the partition's last LeaderAndIsr,
        or of the last answer. Raises UsageError: there was none; and as `controlled_shutdown`.
        """
        tp = TopicPartition(topic, partition)
        if (known := self.replicas.get(tp)) is None:
            raise UsageError(
                f"stub broker {self.id} was never told to host {tp}", hint="only its leader can ask for an ISR"
            )
        entry = AlterPartitionPartition(
            partition_index=partition,
            leader_epoch=known.leader_epoch if leader_epoch is None else leader_epoch,
            partition_epoch=known.partition_epoch if partition_epoch is None else partition_epoch,
            new_isr=isr,  # until version 2; then with epochs, which only KRaft knows (KIP-903)
            new_isr_with_epochs=[AlterPartitionBrokerState(broker_id=broker) for broker in isr],
        )
        topic_id = self.topic_ids.get(topic, ZERO_TOPIC_ID)
        request = AlterPartitionRequest(
            broker_id=self.id,
            broker_epoch=self.epoch if broker_epoch is None else broker_epoch,
            topics=[AlterPartitionTopic(topic_name=topic, topic_id=topic_id, partitions=[entry])],
        )
        response = await self.ask(request, version, timeout_s)
        self._take_isr(tp, response)
        return response

    def _take_isr(self, tp: TopicPartition, response: AlterPartitionResponse) -> None:
        for answered in (each for topic in response.topics for each in topic.partitions):
            if answered.error_code == ErrorCode.NONE:
                epoch = answered.partition_epoch
                self.replicas[tp] = replace(self.replicas[tp], isr=answered.isr, partition_epoch=epoch)

    async def ask(self, request: Request[R], version: int | None = None, timeout_s: float = ANSWER_S) -> R:
        """Sends any request to the controller that ZooKeeper names. Raises EnvironmentFailure: there is none, or no answer
        within `timeout_s`, of ZooKeeper or of the controller."""
        clock = self._runtime.clock
        deadline_us = clock.now_us() + round(timeout_s * 1e6)
        address = await self._answered(self._controller_address(), timeout_s)
        client = RequestClient(self._runtime.transport, address, client_id=f"stub-broker-{self.id}")
        try:
            return await client.request(request, version=version, timeout_us=max(0, deadline_us - clock.now_us()))
        except ConnectionClosedError as gone:
            raise EnvironmentFailure(f"stub broker {self.id} has no answer of the controller: {gone}") from None
        finally:
            client.close()

    async def _controller_address(self) -> Address:
        if self._store is None:
            raise UsageError(f"stub broker {self.id} is stopped", hint="start() it first")
        if (named := await self._store.get(CONTROLLER)) is None:
            raise EnvironmentFailure("there is no controller that could be asked", where=CONTROLLER)
        controller = decode_controller(named.data)
        if (node := await self._store.get(broker_path(controller))) is None:
            raise EnvironmentFailure(f"the controller {controller} is not registered", where=broker_path(controller))
        return decode_broker(controller, node.data, node.stat.czxid).address


class _Connection:
    """Requests of one connection come one after the other: the one that is answered is the last that was received."""

    def __init__(self, stub: StubBroker) -> None:
        self._stub = stub
        self._last: ReceivedRequest | None = None

    def service(self) -> Service:
        handlers: dict[int, Any] = {int(api): self._answer for api in SERVED}
        return Service(handlers=handlers, received=self._receive, refused=self._stub.refused.append)

    def _receive(self, message: Request[Response], version: int) -> None:
        if message.API_KEY in SERVED:
            self._last = self._stub.take(message, version)

    async def _answer(self, message: Request[Response]) -> Response:
        assert self._last is not None
        return await self._stub.answer(self._last)


def _ignore(store: Store, event: SessionEvent) -> None:
    """A stub reads, and watches nothing."""
