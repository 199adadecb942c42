"""The candidate controller of one node: its session, its term, the consumer of its events.

What it does about each event is in `events`. Source: kafka.controller.KafkaController (3.9).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Literal

from pytest_kcontroller.controller.answers import record_answer
from pytest_kcontroller.controller.candidacy import step_down, win
from pytest_kcontroller.controller.channels import Answered, Channels, MakeChannels
from pytest_kcontroller.controller.decide.leader import Elections, Selectors
from pytest_kcontroller.controller.event_queue import EventQueue
from pytest_kcontroller.controller.events.allocate_producer_ids import AllocateProducerIds
from pytest_kcontroller.controller.events.alter_partition import AlterPartition
from pytest_kcontroller.controller.events.answers import event_of_answer
from pytest_kcontroller.controller.events.controlled_shutdown import ControlledShutdown
from pytest_kcontroller.controller.events.event import Event, RequestEvent
from pytest_kcontroller.controller.events.expire import Expire
from pytest_kcontroller.controller.events.register_broker_and_reelect import announce_session
from pytest_kcontroller.controller.events.watches import event_of
from pytest_kcontroller.controller.failover import fail_over
from pytest_kcontroller.controller.failures import consequence, log_failure
from pytest_kcontroller.controller.metrics import Metrics
from pytest_kcontroller.controller.requests import handlers_of
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.model.cluster import Address, Broker
from pytest_kcontroller.model.history import ControllerElected, ControllerEventFailed
from pytest_kcontroller.model.kafka_config import CONTROLLER_SOCKET_TIMEOUT_MS
from pytest_kcontroller.model.text import shown
from pytest_kcontroller.model.turns import Breather
from pytest_kcontroller.runtime.foreign import LIMIT_S
from pytest_kcontroller.runtime.holds import CONTROLLER_EVENTS
from pytest_kcontroller.runtime.nursery import Nursery
from pytest_kcontroller.runtime.ports import Runtime
from pytest_kcontroller.seams import seam
from pytest_kcontroller.wire.messages import ApiKey
from pytest_kcontroller.zookeeper.session import SessionEvent, WatchEvent
from pytest_kcontroller.zookeeper.store import Store
from pytest_kcontroller.zookeeper.znodes import CONTROLLER

Owner = Literal["ours", "another's", "nobody's", "unknown"]
"""Whose session has /controller; it cannot be asked without one."""


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
        plugin_limit_s: float = LIMIT_S,
    ) -> None:
        """`config` has Kafka's names; `link(broker)` is the address to use instead of the registered one, or None.

        `channels` makes what reaches the brokers; without it, connections over the runtime's transport.
        """
        self._runtime, self._node, self._link = runtime, node, link
        self._make_channels: MakeChannels = channels or self._connect
        self._timeout_us = CONTROLLER_SOCKET_TIMEOUT_MS.of(config) * 1000
        self._config = config
        self._elections = Elections(selectors, stock, runtime.record, limit_s=plugin_limit_s)
        self._metrics = Metrics()
        self._events = EventQueue(runtime.clock, self._metrics.waited)
        self._store: Store | None = None
        self._term: Term | None = None
        self._failover_failed = False
        self._tasks: Nursery | None = None
        self._phase = "starting"
        self._handles = False

    def try_out(self, selectors: Selectors) -> None:
        """Before `run`: see Elections."""
        self._elections.try_out(selectors)

    # --- what the node sees

    @property
    def active(self) -> bool:
        return self._term is not None

    @property
    def epoch(self) -> int:
        """Of the term; 0: not active."""
        return 0 if self._term is None else self._term.context.epoch

    @property
    def phase(self) -> str:
        """starting, follower, loading, active, expired."""
        return self._phase

    @property
    def pending(self) -> int:
        """Events that wait or are being handled, and requests to brokers that are not answered."""
        unanswered = 0 if self._term is None else self._term.channels.unanswered
        return len(self._events) + self._handles + unanswered

    def metrics(self) -> dict[str, object]:
        """By Kafka's names: whole numbers, and of times {"count", "total_ms", "longest_ms"}. One turn for all partitions."""
        return self._metrics.to_json(None if self._term is None else self._term.context, len(self._events))

    def handlers(self) -> Mapping[int, Callable[[Any], Awaitable[Any]]]:
        """For wire.server.serve: a request is an event like all others, and answered when it has been handled."""
        return {
            int(ApiKey.ALTER_PARTITION): partial(self.ask, AlterPartition),
            int(ApiKey.CONTROLLED_SHUTDOWN): partial(self.ask, ControlledShutdown),
            int(ApiKey.ALLOCATE_PRODUCER_IDS): partial(self.ask, AllocateProducerIds),
            **handlers_of(self.ask),
        }

    async def ask(self, kind: Callable[[Any, asyncio.Future[Any]], RequestEvent], request: Any) -> Any:
        """The answer to `request`, an event of this kind, once it has had its turn."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.put(kind(request, answer))
        return await answer

    async def run(self) -> None:
        """The consumer: one event after the other, until it is cancelled."""
        breather = Breather()
        async with Nursery() as self._tasks:
            while True:
                event = await self._events.take()
                await self._consume(event)
                await breather.after(event.size)  # many may wait, and to take the next one is no turn for others

    async def on_new_session(self, store: Store, broker_epoch: int) -> None:
        """RegisterBrokerAndReelect: the broker is registered; the election is an event."""
        self._store = store
        announce_session(self)

    async def on_session_expired(self) -> None:
        """Returns when the expiry has been processed: older events are preempted, one that runs is waited for."""
        expire = Expire()
        self._events.clear_and_put(expire)
        await expire.processed.wait()

    def on_zookeeper_event(self, event: SessionEvent) -> None:
        if isinstance(event, WatchEvent) and (put := event_of(event)) is not None:
            self.put(put)

    def _answered(self, broker: int, request: Any, response: Any) -> None:
        """A broker has answered a request of the term."""
        record_answer(self._runtime.record, broker, request, response)
        term = self._term
        if term is not None and (put := event_of_answer(term.context, broker, request, response)) is not None:
            self.put(put)

    async def _consume(self, event: Event) -> None:
        """A failure ends the event, never the consumer: see failures.TABLE."""
        self._handles = True
        await self._runtime.holds.reach(CONTROLLER_EVENTS)
        began_us = self._runtime.clock.now_us()
        try:
            await event.handle(self)
        except Exception as failed:  # noqa: BLE001 - Kafka's rule: logged, and the next event has its turn
            self._failed(event, failed)
            if consequence(failed).recheck:
                await self._recheck(event)
            if not consequence(failed).ends_term:
                await resign_with_unsent_requests(self)
        finally:
            self._handles = False
            self._metrics.handled(event, self._runtime.clock.now_us() - began_us)

    async def _recheck(self, event: Event) -> None:
        """A term that begins and is fenced although /controller is its own (somebody wrote the epoch by hand) ends too."""
        try:
            if await self.resign_if_moved() == "ours" and self._phase == "loading" and self._store is not None:
                self.resign("its failover was fenced")
                await step_down(self._store)
        except Exception as failed:  # noqa: BLE001 - as above
            self._failed(event, failed)

    async def give_up(self, reason: str) -> None:
        """Resigns, and leaves the rest to whoever is elected next."""
        store = self._store
        self.resign(reason)
        if store is not None:
            try:
                await step_down(store)
            except Exception as failed:  # noqa: BLE001 - as in _consume: what to do next is an event's business
                if consequence(failed).recorded:
                    log_failure("resignation", failed)

    def _failed(self, event: Event, failed: Exception) -> None:
        if consequence(failed).recorded:
            self._runtime.record(ControllerEventFailed(event=event.name, error=shown(failed)))
            log_failure(event.name, failed)

    # --- what events do with it

    @property
    def term(self) -> Term | None:
        """None: this node is not the active controller."""
        return self._term

    def put(self, event: Event) -> None:
        self._events.put(event)

    def leave_session(self) -> None:
        """It has ended. Nothing is read or written until there is another."""
        self._store = None
        self._phase = "expired"

    async def elect(self) -> None:
        """Stands for /controller, if there is a session and no term; if it is won, a term begins."""
        if self._store is None or self.active:
            return
        if (won := await win(self._store, self._node, self._runtime.clock)) is None:
            self._phase = "follower"
            return
        store, self._phase, self._failover_failed = self._store, "loading", False
        session = hex(store.session.session_id)
        self._runtime.record(ControllerElected(epoch=won.epoch, epoch_version=won.epoch_version, session=session))
        channels = self._make_channels(self._answered)
        self._term = Term(self._runtime, self._node, won, store, self._elections, channels, self.put, self._config)
        try:
            await fail_over(self._term)
        except Exception as failed:
            if consequence(failed).ends_failover:
                self._failover_failed = True
                self.resign(f"its failover failed: {shown(failed)}")
                await step_down(store)
            raise
        self._phase = "active"

    async def elect_again(self) -> None:
        """As `elect`, if its last failover has not failed: somebody else may do better."""
        if not self._failover_failed:
            await self.elect()

    async def resign_if_moved(self) -> Owner:
        """Reads /controller, watching it again, and resigns if it is not this session's any more."""
        if self._store is None:
            return "unknown"
        there = await self._store.get(CONTROLLER, watch=True)
        if there is not None and there.stat.ephemeral_owner == self._store.session.session_id:
            return "ours"
        resign_when_moved(self)
        return "nobody's" if there is None else "another's"

    def resign(self, reason: str) -> None:
        if self._term is None:
            return
        term, self._term = self._term, None
        self._phase = "follower"
        term.end(reason)

    # --- how brokers are reached

    def _connect(self, answered: Answered) -> Channels:
        assert self._tasks is not None
        return Channels(
            self._tasks,
            self._runtime.transport,
            self._runtime.clock,
            self._address_of,
            answered,
            timeout_us=self._timeout_us,
            holds=self._runtime.holds,
        )

    def _address_of(self, broker: Broker) -> Address:
        return self._link(broker.id) or broker.address


@seam("controller.resign-when-moved")
def resign_when_moved(controller: Controller) -> None:
    """KAFKA-2437: whoever finds somebody else in /controller is no controller any more."""
    controller.resign("/controller is not ours any more")


@seam("controller.resign-with-unsent-requests")
async def resign_with_unsent_requests(controller: Controller) -> None:
    """An event has failed between what it wrote and what it was to send: only a new term tells the brokers (KAFKA-2300)."""
    if controller.term is not None and controller.term.requests.unsent:
        await controller.give_up("requests to brokers were prepared and could not be sent")
