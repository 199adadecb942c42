"""One unbounded FIFO of events for one consumer (kafka.controller.ControllerEventManager)."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from pytest_kcontroller.controller.events.event import Event


@dataclass(slots=True)
class EventQueue:
    _events: deque[Event] = field(default_factory=deque)
    _some: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, event: Event) -> None:
        self._events.append(event)
        self._some.set()

    def clear_and_put(self, event: Event) -> None:
        """Every waiting event is preempted, so nobody waits for an answer for ever."""
        waiting = list(self._events)
        self._events.clear()
        for old in waiting:
            old.preempt()
        self.put(event)

    async def take(self) -> Event:
        while not self._events:
            self._some.clear()
            await self._some.wait()
        return self._events.popleft()
