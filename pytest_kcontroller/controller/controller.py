"""The candidate controller of one node: its events, and what it does about each (kafka.controller.KafkaController, 3.9)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from pytest_kcontroller.controller.alter_partition import IsrWish, check, check_broker
from pytest_kcontroller.controller.channels import Answered, ChannelManager, Channels, MakeChannels
from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.controller.election import Won, elect, step_down
from pytest_kcontroller.controller.elections import Elections, Selectors
from pytest_kcontroller.controller.events import Event, EventQueue
from pytest_kcontroller.controller.loading import load_brokers, load_topics
from pytest_kcontroller.controller.machines import Machines
from pytest_kcontroller.controller.states import PartitionState
from pytest_kcontroller.model.cluster import UNKNOWN_EPOCH, Address, Broker, LeaderAndIsr, TopicPartition
from pytest_kcontroller.model.kafka_config import CONTROLLER_SOCKET_TIMEOUT_MS, UNCLEAN_LEADER_ELECTION
from pytest_kcontroller.runtime.nursery import Nursery
from pytest_kcontroller.runtime.ports import Runtime
from pytest_kcontroller.runtime.seams import seam
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import (
    AlteredPartition,
    AlteredTopic,
    AlterPartitionResponse,
    ApiKey,
    ControlledShutdownResponse,
    LeaderAndIsrRequest,
    RemainingPartition,
    topic_id_text,
)
from pytest_kcontroller.zookeeper.session import SessionEvent, SessionExpiredError, WatchEvent, WatchKind
from pytest_kcontroller.zookeeper.store import FencedError, Store
from pytest_kcontroller.zookeeper.znodes import BROKER_IDS, CONTROLLER, TOPICS


class _Reign:
    """What exists only while this node is the active controller."""

    def __init__(self, context: Context, machines: Machines, channels: ChannelManager) -> None:
        self.context, self.machines, self.channels = context, machines, channels


class Controller:
    """See the module. `run` is the consumer; everything else only puts events into its queue."""

    def __init__(
        self,
        runtime: Runtime,
        node: int,
        config: Mapping[str, Any],
        selectors: Selectors,
        stock: Selectors,
        link: Callable[[int], Address | None],
        *,
        channels: MakeChannels | None = None,
    ) -> None:
        """`config` has Kafka's names; `link(broker)` is the address to use instead of the registered one, or None.

        `channels` makes what reaches the brokers; without it, connections over the runtime's transport.
        """
        self._runtime, self._node, self._link = runtime, node, link
        self._make_channels: MakeChannels = channels or self._connect
        unclean = UNCLEAN_LEADER_ELECTION.of(config)
        self._request_timeout_us = CONTROLLER_SOCKET_TIMEOUT_MS.of(config) * 1000
        self._elections = Elections(selectors, stock, runtime.record, lambda topic: unclean)
        self._events = EventQueue()
        self._store: Store | None = None
        self._reign: _Reign | None = None
        self._tasks: Nursery | None = None
        self._phase = "starting"

    # --- what the node sees

    @property
    def active(self) -> bool:
        return self._reign is not None

    @property
    def epoch(self) -> int:
        """Of the reign; 0: not active."""
        return 0 if self._reign is None else self._reign.context.epoch

    @property
    def phase(self) -> str:
        """starting, follower, loading, active, expired."""
        return self._phase

    def handlers(self) -> Mapping[int, Callable[[Any], Awaitable[Any]]]:
        return {
            int(ApiKey.ALTER_PARTITION): self.alter_partition,
            int(ApiKey.CONTROLLED_SHUTDOWN): self.controlled_shutdown,
        }

    async def run(self) -> None:
        """The consumer: one event after the other, until it is cancelled."""
        async with Nursery() as self._tasks:
            while True:
                await self._consume(await self._events.take())

    async def on_new_session(self, store: Store, broker_epoch: int) -> None:
        """RegisterBrokerAndReelect: the broker is registered; the election is an event."""
        self._store = store
        announce_session(self)

    async def on_session_expired(self) -> None:
        """Returns when the expiry has been processed: older events are preempted, one that runs is waited for."""
        processed = asyncio.Event()

        async def expire() -> None:
            end_session(self)
            processed.set()

        self._events.clear_and_put(Event("Expire", expire))
        await processed.wait()

    def on_zookeeper_event(self, event: SessionEvent) -> None:
        """Watches only say that something changed; the handler reads it anew and so sets the watch again."""
        if not isinstance(event, WatchEvent):
            return
        path, kind = event.path, event.kind
        if path == CONTROLLER:
            if kind == WatchKind.DELETED:
                self._put("Reelect", self._reelect)
            else:
                self._put("ControllerChange", self._controller_change)
        elif path == BROKER_IDS:
            self._put("BrokerChange", self._brokers_changed)
        elif path == TOPICS:
            self._put("TopicChange", self._topics_changed)
        elif path.startswith(BROKER_IDS + "/"):
            if kind == WatchKind.CHANGED:
                self._put("BrokerModifications", self._brokers_changed)
        elif path.startswith(TOPICS + "/") and path.count("/") == 3 and kind == WatchKind.CHANGED:
            self._put("PartitionModifications", self._topics_changed)

    def _put(self, name: str, handle: Callable[[], Awaitable[None]]) -> None:
        self._events.put(Event(name, handle))

    async def _consume(self, event: Event) -> None:
        """A failure ends the event, never the consumer; a fence that has closed may end the reign."""
        try:
            await event.handle()
        except SessionExpiredError:
            return  # Expire is on its way
        except FencedError:
            await self._after_fence()
        except Exception as failed:  # noqa: BLE001 - Kafka's rule: logged, and the next event has its turn
            self._runtime.record("controller.event-failed", event=event.name, error=repr(failed))

    async def _after_fence(self) -> None:
        try:
            await self._resign_if_moved()
        except SessionExpiredError:
            return

    # --- election

    async def _reelect(self) -> None:
        await self._resign_if_moved()
        if self._store is None or self.active:
            return
        won = await elect(self._store, self._node, self._runtime.clock)
        if won is None:
            self._phase = "follower"
            return
        await self._fail_over(won, self._store)

    async def _controller_change(self) -> None:
        await self._resign_if_moved()

    async def _resign_if_moved(self) -> None:
        """Reads /controller, watching it again, and resigns if it is not this session's any more."""
        if self._store is None:
            return
        there = await self._store.get(CONTROLLER, watch=True)
        ours = there is not None and there.stat.ephemeral_owner == self._store.session.session_id
        if not ours:
            resign_when_moved(self)

    def _resign(self, reason: str) -> None:
        if self._reign is None:
            return
        reign, self._reign = self._reign, None
        self._phase = "follower"
        reign.channels.close()
        self._runtime.record("controller.resigned", epoch=reign.context.epoch, reason=reason)

    async def _fail_over(self, won: Won, store: Store) -> None:
        """In Kafka's order: what is known, who is live told first (KAFKA-4443), replicas, partitions."""
        began = self._runtime.clock.now_us()
        self._phase = "loading"
        self._runtime.record(
            "controller.elected",
            epoch=won.epoch,
            epoch_version=won.epoch_version,
            session=hex(store.session.session_id),
        )
        context = Context(won.epoch, won.epoch_version)
        channels = self._make_channels(self._answered)
        machines = Machines(
            self._node,
            context,
            store,
            self._elections,
            self._runtime.holds,
            self._runtime.record,
            channels.send,
        )
        self._reign = _Reign(context, machines, channels)
        try:
            await load_brokers(context, store, self._corrupt)
            await load_topics(context, store, self._runtime.holds, self._corrupt)
            await machines.refresh(tuple(sorted(context.assignments)))
            for broker in sorted(context.brokers):
                channels.add(context.brokers[broker])
            machines.tell_brokers(context.registered_ids())
            await machines.start_replicas()
            await machines.start_partitions()
        except (SessionExpiredError, FencedError):
            raise
        except Exception as failed:
            self._resign(f"its failover failed: {failed!r}")
            await step_down(store, won.epoch_version)
            raise
        self._phase = "active"
        self._runtime.record(
            "controller.failover",
            epoch=won.epoch,
            partitions=len(context.assignments),
            duration_us=self._runtime.clock.now_us() - began,
        )

    def _connect(self, answered: Answered) -> Channels:
        assert self._tasks is not None
        transport, clock = self._runtime.transport, self._runtime.clock
        return Channels(self._tasks, transport, clock, self._address_of, answered, timeout_us=self._request_timeout_us)

    def _corrupt(self, error: str) -> None:
        self._runtime.record("controller.event-failed", event="load", error=error)

    def _address_of(self, broker: Broker) -> Address:
        return self._link(broker.id) or broker.address

    # --- brokers

    async def _brokers_changed(self) -> None:
        """BrokerChange, BrokerModifications: new, bounced (a greater epoch, KAFKA-7235) and dead brokers, in this order."""
        if (reign := self._reign) is None or self._store is None:
            return
        context, before = reign.context, dict(reign.context.brokers)
        now = Context(context.epoch, context.epoch_version)
        await load_brokers(now, self._store, self._corrupt)
        new = [b for b in sorted(now.brokers) if b not in before]
        bounced = bounced_brokers(before, now.brokers)
        dead = [b for b in sorted(before) if b not in now.brokers]
        moved = [b for b in sorted(now.brokers) if b in before and b not in bounced and now.brokers[b] != before[b]]
        for broker in (*bounced, *dead, *moved):
            reign.channels.remove(broker)
        for broker in (*new, *bounced, *moved):
            reign.channels.add(now.brokers[broker])
        context.brokers.update({b: now.brokers[b] for b in (*new, *moved)})
        if new:
            await self._brokers_up(reign, new)
        if bounced:
            for broker in bounced:
                del context.brokers[broker]
            await self._brokers_down(reign, bounced)
            context.brokers.update({b: now.brokers[b] for b in bounced})
            await self._brokers_up(reign, bounced)
        if dead:
            for broker in dead:
                del context.brokers[broker]
            await self._brokers_down(reign, dead)
        if moved:
            reign.machines.tell_brokers(context.registered_ids())

    async def _brokers_up(self, reign: _Reign, brokers: list[int]) -> None:
        context, machines = reign.context, reign.machines
        machines.tell_brokers([b for b in context.registered_ids() if b not in brokers])
        machines.tell_brokers(brokers, sorted(context.leadership))
        machines.online_replicas([replica for broker in brokers for replica in context.replicas_on(broker)])
        await machines.trigger_online()

    async def _brokers_down(self, reign: _Reign, brokers: list[int]) -> None:
        context, machines = reign.context, reign.machines
        for broker in brokers:
            context.shutting_down.pop(broker, None)
        led = [tp for tp, state in sorted(context.leadership.items()) if not context.live(state.leader)]
        machines.offline([tp for tp in led if context.state_of(tp) != PartitionState.NON_EXISTENT])
        await machines.trigger_online()
        replicas = [replica for broker in brokers for replica in context.replicas_on(broker)]
        await machines.offline_replicas(replicas)
        if not replicas:
            machines.tell_brokers(context.registered_ids())

    # --- topics

    async def _topics_changed(self) -> None:
        """TopicChange and PartitionModifications: topics that went leave the context, new partitions are created."""
        if (reign := self._reign) is None or self._store is None:
            return
        context = reign.context
        now = Context(context.epoch, context.epoch_version)
        names = await load_topics(now, self._store, self._runtime.holds, self._corrupt)
        for topic in context.topics():
            if topic not in names:
                context.drop_topic(topic)
        new = [tp for tp in sorted(now.assignments) if tp not in context.assignments]
        context.topic_ids.update(now.topic_ids)
        context.assignments.update({tp: now.assignments[tp] for tp in new})
        await reign.machines.refresh(new)
        await reign.machines.create(new)

    # --- what brokers answer and ask

    def _answered(self, broker: int, request: Any, response: Any) -> None:
        if not isinstance(request, LeaderAndIsrRequest) or response.error_code != ErrorCode.NONE:
            return
        failed = {
            (topic.topic_id, partition.partition_index)
            for topic in response.topics
            for partition in topic.partition_errors
            if partition.error_code != ErrorCode.NONE
        }
        for topic in request.topic_states:
            for state in topic.partition_states:
                if state.leader == broker and (topic.topic_id, state.partition_index) not in failed:
                    self._runtime.record(
                        "leader.answered",
                        topic=topic.topic_name,
                        partition=state.partition_index,
                        leader=state.leader,
                        leader_epoch=state.leader_epoch,
                        epoch=request.controller_epoch,
                    )

    async def alter_partition(self, request: Any) -> Any:
        """A leader's wish for another ISR."""
        return await self._answer_of("AlterPartition", lambda: self._alter_partition(request), _refusal)

    async def controlled_shutdown(self, request: Any) -> Any:
        """A broker that is about to stop asks to be relieved."""
        return await self._answer_of("ControlledShutdown", lambda: self._controlled_shutdown(request), _shutdown_answer)

    async def _answer_of(
        self, name: str, work: Callable[[], Awaitable[Any]], refusal: Callable[[ErrorCode], Any]
    ) -> Any:
        """An event like all others; the answer comes when it has been handled, NOT_CONTROLLER if it was preempted."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        async def handle() -> None:
            try:
                result = await work()
            except BaseException:
                refuse()
                raise
            if not answer.done():
                answer.set_result(result)

        def refuse() -> None:
            if not answer.done():
                answer.set_result(refusal(ErrorCode.NOT_CONTROLLER))

        self._events.put(Event(name, handle, refuse))
        return await answer

    async def _controlled_shutdown(self, request: Any) -> Any:
        """Source: kafka.controller.KafkaController.doControlledShutdown.

        The broker stays shutting down until its registration goes: one that does not stop after all is elected by nobody.
        """
        if (reign := self._reign) is None:
            return _shutdown_answer(ErrorCode.NOT_CONTROLLER)
        context, broker = reign.context, int(request.broker_id)
        known = context.brokers.get(broker)
        if known is None:
            return _shutdown_answer(ErrorCode.BROKER_NOT_AVAILABLE)
        if UNKNOWN_EPOCH != request.broker_epoch < known.epoch:
            return _shutdown_answer(ErrorCode.STALE_BROKER_EPOCH)
        context.shutting_down[broker] = None
        relieved, remaining = await reign.machines.relieve(broker)
        self._runtime.record(
            "controller.controlled-shutdown",
            broker=broker,
            broker_epoch=known.epoch,
            epoch=context.epoch,
            relieved={str(tp): context.leadership[tp].partition_epoch for tp in relieved if tp not in remaining},
            remaining=[str(tp) for tp in remaining],
        )
        return _shutdown_answer(ErrorCode.NONE, remaining)

    async def _alter_partition(self, request: Any) -> Any:
        if (reign := self._reign) is None:
            return _refusal(ErrorCode.NOT_CONTROLLER)
        context = reign.context
        if (error := check_broker(context, request.broker_id, request.broker_epoch)) != ErrorCode.NONE:
            return _refusal(error)
        names = {topic_id: name for name, topic_id in context.topic_ids.items()}
        results: dict[tuple[Any, int], ErrorCode | LeaderAndIsr] = {}
        wanted: dict[TopicPartition, LeaderAndIsr] = {}
        asked: dict[TopicPartition, tuple[Any, int]] = {}
        for topic in request.topics:
            name = names.get(topic_id_text(topic.topic_id) or "")
            for partition in topic.partitions:
                key = (topic.topic_id, partition.partition_index)
                if name is None:
                    results[key] = ErrorCode.UNKNOWN_TOPIC_ID
                    continue
                tp = TopicPartition(name, partition.partition_index)
                results[key] = outcome = check(context, tp, _wish(partition))
                if isinstance(outcome, LeaderAndIsr) and outcome != context.leadership[tp]:
                    wanted[tp], asked[tp] = outcome, key
        written = await reign.machines.alter_isr(wanted)
        results |= {asked[tp]: state for tp, state in written.items()}
        results |= {asked[tp]: ErrorCode.INVALID_UPDATE_VERSION for tp in wanted if tp not in written}
        return _answer(results)


@seam("controller.resign-when-moved")
def resign_when_moved(controller: Controller) -> None:
    """KAFKA-2437: whoever finds somebody else in /controller is no controller any more."""
    controller._resign("/controller is not ours any more")


@seam("controller.bounced-brokers")
def bounced_brokers(before: Mapping[int, Broker], now: Mapping[int, Broker]) -> list[int]:
    """Who has registered again between two looks, and so may have forgotten all that it was told (KAFKA-7235)."""
    return [b for b in sorted(now) if b in before and now[b].epoch > before[b].epoch]


@seam("controller.end-session")
def end_session(controller: Controller) -> None:
    """A reign ends with its session."""
    controller._resign("the session expired")
    controller._store = None
    controller._phase = "expired"


@seam("controller.announce-session")
def announce_session(controller: Controller) -> None:
    """KAFKA-4229: one event for a session, however many ended before it came to that."""
    controller._put("RegisterBrokerAndReelect", controller._reelect)


def _wish(partition: Any) -> IsrWish:
    return IsrWish(
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        isr=tuple(member.broker_id for member in partition.new_isr_with_epochs),
        recovering=partition.leader_recovery_state == 1,
    )


def _refusal(error: ErrorCode) -> Any:
    return AlterPartitionResponse(throttle_time_ms=0, error_code=int(error), topics=[])


def _shutdown_answer(error: ErrorCode, remaining: Sequence[TopicPartition] = ()) -> Any:
    return ControlledShutdownResponse(
        error_code=int(error),
        remaining_partitions=[
            RemainingPartition(topic_name=tp.topic, partition_index=tp.partition) for tp in remaining
        ],
    )


def _answer(results: Mapping[tuple[Any, int], ErrorCode | LeaderAndIsr]) -> Any:
    topics: dict[Any, list[Any]] = {}
    for (topic_id, number), outcome in results.items():
        if isinstance(outcome, LeaderAndIsr):
            partition = AlteredPartition(
                partition_index=number,
                error_code=int(ErrorCode.NONE),
                leader_id=outcome.leader,
                leader_epoch=outcome.leader_epoch,
                isr=list(outcome.isr),
                leader_recovery_state=int(outcome.recovering),
                partition_epoch=outcome.partition_epoch,
            )
        else:
            partition = AlteredPartition(
                partition_index=number,
                error_code=int(outcome),
                leader_id=0,
                leader_epoch=0,
                isr=[],
                leader_recovery_state=0,
                partition_epoch=0,
            )
        topics.setdefault(topic_id, []).append(partition)
    return AlterPartitionResponse(
        throttle_time_ms=0,
        error_code=int(ErrorCode.NONE),
        topics=[AlteredTopic(topic_id=topic_id, partitions=partitions) for topic_id, partitions in topics.items()],
    )
