"""One unbounded FIFO of events for one consumer (kafka.controller.ControllerEventManager)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from pytest_kcontroller.controller.events.event import Event
from pytest_kcontroller.runtime.ports import Clock


@dataclass(slots=True)
class EventQueue:
    """`waited(us)` is told how long an event was in it, when it is taken."""

    clock: Clock
    waited: Callable[[int], None]
    _events: deque[tuple[Event, int]] = field(default_factory=deque)
    _some: asyncio.Event = field(default_factory=asyncio.Event)

    def __len__(self) -> int:
        return len(self._events)

    def put(self, event: Event) -> None:
        self._events.append((event, self.clock.now_us()))
        self._some.set()

    def clear_and_put(self, event: Event) -> None:
        """Every waiting event is preempted, so nobody waits for an answer for ever."""
        waiting = list(self._events)
        self._events.clear()
        for old, _ in waiting:
            old.preempt()
        self.put(event)

    async def take(self) -> Event:
        while not self._events:
            self._some.clear()
            await self._some.wait()
        event, put_us = self._events.popleft()
        self.waited(self.clock.now_us() - put_us)
        return event
