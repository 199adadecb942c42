"""Hold points: named places in a node where its task can be made to wait while the rest of the node goes on.

A node calls `await holds.reach("controller.before-state-write")` at the place. Unarmed, that is one dictionary look-up.
Armed from outside (the control socket, the simulator), the task waits there until it is released. Both are recorded, so
that a harness can tell that the fault really happened.
"""

from __future__ import annotations

import asyncio

from pytest_kcontroller.model.history import HoldReached, HoldReleased, Record

BEFORE_STATE_WRITE = "controller.before-state-write"
"""The controller has decided on partition states and has not sent them to ZooKeeper yet."""

BEFORE_TOPIC_WRITE = "controller.before-topic-write"
"""The controller has found topics without an id (from tools before Kafka 2.8) and has not written their ids yet."""

POINTS = (BEFORE_STATE_WRITE, BEFORE_TOPIC_WRITE)
"""Every hold point there is; arming another name is an error."""


class UnknownHoldPointError(ValueError):
    def __init__(self, point: str) -> None:
        super().__init__(f"there is no hold point {point!r}; there are: {', '.join(POINTS)}")


class Holds:
    """The hold points of one node."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._armed: dict[str, asyncio.Event] = {}
        self._waiting: dict[str, int] = {}

    @property
    def waiting(self) -> tuple[str, ...]:
        """Points at which a task waits now, sorted."""
        return tuple(sorted(point for point, tasks in self._waiting.items() if tasks))

    def arm(self, point: str) -> None:
        """The next task to reach `point` waits. Raises UnknownHoldPointError."""
        if point not in POINTS:
            raise UnknownHoldPointError(point)
        self._armed.setdefault(point, asyncio.Event())

    def release(self, point: str) -> None:
        """Disarms `point` and lets the waiting tasks go on."""
        if (event := self._armed.pop(point, None)) is not None:
            event.set()

    async def reach(self, point: str) -> None:
        if (event := self._armed.get(point)) is None:
            return
        self._waiting[point] = self._waiting.get(point, 0) + 1
        self._record(HoldReached(point=point))
        try:
            await event.wait()
        finally:
            self._waiting[point] -= 1
            self._record(HoldReleased(point=point))
