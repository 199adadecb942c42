"""To each broker one queue, one connection, one request in flight, so that order is kept (ControllerChannelManager)."""

from __future__ import annotations

import asyncio
from collections import deque
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

    def move(self, broker: Broker) -> None:
        """One that was added listens elsewhere from now on, in the same life. Whatever waits for it is sent there."""
        ...

    def close(self) -> None:
        """Removes all brokers: the controller's term has ended."""
        ...

    def send(self, broker: int, request: Any) -> None:
        """Queues `request`; nothing happens if `broker` was not added."""
        ...


MakeChannels = Callable[[Answered], ChannelManager]
"""Called once for each term of a controller."""


class _Queue:
    """The requests to one broker, in order. The first stays until it has been answered, whoever sends it."""

    def __init__(self) -> None:
        self._requests: deque[Any] = deque()
        self._some = asyncio.Event()

    def __len__(self) -> int:
        return len(self._requests)

    def put(self, request: Any) -> None:
        self._requests.append(request)
        self._some.set()

    async def first(self) -> Any:
        """Waits until there is one."""
        await self._some.wait()
        return self._requests[0]

    def drop_first(self) -> None:
        self._requests.popleft()
        if not self._requests:
            self._some.clear()


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
        self._queues: dict[int, _Queue] = {}
        self._senders: dict[int, asyncio.Task[Any]] = {}

    @property
    def unanswered(self) -> int:
        return sum(map(len, self._queues.values()))

    def add(self, broker: Broker) -> None:
        self._queues[broker.id] = _Queue()
        self._start(broker)

    def remove(self, broker: int) -> None:
        """Whatever still waits for it is dropped."""
        self._queues.pop(broker, None)
        if (sender := self._senders.pop(broker, None)) is not None:
            sender.cancel()

    def move(self, broker: Broker) -> None:
        """The request in flight is sent again: nobody knows whether the old address will ever answer it."""
        self._senders.pop(broker.id).cancel()
        self._start(broker)

    def close(self) -> None:
        for broker in sorted(self._senders):
            self.remove(broker)

    def send(self, broker: int, request: Any) -> None:
        if (queue := self._queues.get(broker)) is not None:
            queue.put(request)

    def _start(self, broker: Broker) -> None:
        sending = self._send_all(broker, self._queues[broker.id])
        self._senders[broker.id] = self._tasks.start(sending, name=f"channel {broker.id}")

    async def _send_all(self, broker: Broker, queue: _Queue) -> None:
        client = RequestClient(self._transport, self._address_of(broker), client_id="controller")
        points = (SENDER, sender(broker.id))
        try:
            while True:
                request = await queue.first()
                for point in points:
                    await self._holds.reach(point)
                response = await self._until_answered(client, request)
                queue.drop_first()
                self._answered(broker.id, request, response)
        finally:
            client.close()

    async def _until_answered(self, client: RequestClient, request: Any) -> Any:
        while True:
            try:
                return await client.request(request, timeout_us=self._timeout_us)
            except ConnectionClosedError:
                await self._clock.sleep_us(RETRY_US)
