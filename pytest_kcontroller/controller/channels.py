"""To each broker one queue, one connection, one request in flight, so that order is kept (ControllerChannelManager)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from pytest_kcontroller.model.cluster import Address, Broker
from pytest_kcontroller.runtime.holds import SENDER, Holds, sender
from pytest_kcontroller.runtime.nursery import Nursery
from pytest_kcontroller.runtime.ports import Clock, ConnectionClosedError, Transport
from pytest_kcontroller.wire.client import RequestClient

RETRY_US = 100_000
Answered = Callable[[int, Any, Any], None]
"""(broker, request, response), called in order."""


class ChannelManager(Protocol):
    """What a controller needs to reach its brokers. `Channels` is the one of a running node."""

    @property
    def unanswered(self) -> int:
        """Requests that wait, or are on their way."""
        ...

    def add(self, broker: Broker) -> None:
        """From now on there is somebody to send to."""
        ...

    def remove(self, broker: int) -> None:
        """Whatever still waits for it is dropped."""
        ...

    def close(self) -> None:
        """Removes all brokers: the controller's term has ended."""
        ...

    def send(self, broker: int, request: Any) -> None:
        """Queues `request`; nothing happens if `broker` was not added."""
        ...


MakeChannels = Callable[[Answered], ChannelManager]
"""Called once for each term of a controller."""


class Channels:
    """The brokers of one term. Requests to a broker that is not there are dropped."""

    def __init__(
        self,
        tasks: Nursery,
        transport: Transport,
        clock: Clock,
        address_of: Callable[[Broker], Address],
        answered: Answered,
        *,
        timeout_us: int,
        holds: Holds,
    ) -> None:
        self._tasks, self._transport, self._clock = tasks, transport, clock
        self._address_of, self._answered, self._timeout_us = address_of, answered, timeout_us
        self._holds = holds
        self._queues: dict[int, asyncio.Queue[Any]] = {}
        self._unanswered: dict[int, int] = {}
        self._senders: dict[int, asyncio.Task[Any]] = {}

    @property
    def unanswered(self) -> int:
        return sum(self._unanswered.values())

    def add(self, broker: Broker) -> None:
        queue: asyncio.Queue[Any] = asyncio.Queue()
        self._queues[broker.id], self._unanswered[broker.id] = queue, 0
        self._senders[broker.id] = self._tasks.start(self._send_all(broker, queue), name=f"channel {broker.id}")

    def remove(self, broker: int) -> None:
        """Whatever still waits for it is dropped."""
        self._queues.pop(broker, None)
        self._unanswered.pop(broker, None)
        if (sender := self._senders.pop(broker, None)) is not None:
            sender.cancel()

    def close(self) -> None:
        for broker in sorted(self._senders):
            self.remove(broker)

    def send(self, broker: int, request: Any) -> None:
        if (queue := self._queues.get(broker)) is not None:
            self._unanswered[broker] += 1
            queue.put_nowait(request)

    async def _send_all(self, broker: Broker, queue: asyncio.Queue[Any]) -> None:
        client = RequestClient(self._transport, self._address_of(broker), client_id="controller")
        points = (SENDER, sender(broker.id))
        try:
            while True:
                request = await queue.get()
                for point in points:
                    await self._holds.reach(point)
                response = await self._until_answered(client, request)
                self._unanswered[broker.id] -= 1
                self._answered(broker.id, request, response)
        finally:
            client.close()

    async def _until_answered(self, client: RequestClient, request: Any) -> Any:
        while True:
            try:
                return await client.request(request, timeout_us=self._timeout_us)
            except ConnectionClosedError:
                await self._clock.sleep_us(RETRY_US)
