"""Hold points: named places in a node where its task can be made to wait while the rest of the node goes on.

A node calls `await holds.reach("controller.before-state-write")` at the place. Unarmed, that is one dictionary look-up.
Armed from outside (the control socket, the simulator), the task waits there until it is released. Both are recorded, so
that a harness can tell that the fault really happened.
"""

from __future__ import annotations

import asyncio

from pytest_kcontroller.model.history import AnswerLost, HoldReached, HoldReleased, Record

BEFORE_STATE_WRITE = "controller.before-state-write"
"""The controller has decided on partition states and has not sent them to ZooKeeper yet."""

BEFORE_TOPIC_WRITE = "controller.before-topic-write"
"""The controller has decided on ids of topics (those of tools before Kafka 2.8 have none), or on replicas that are being
reassigned, and has not sent the topics to ZooKeeper yet."""

BEFORE_TOPIC_DELETE = "controller.before-topic-delete"
"""Nothing is left of a topic on any broker, and the controller has not deleted its znodes yet."""

BEFORE_MARKER_DELETE = "controller.before-marker-delete"
"""The znodes of a topic are gone, or nobody deletes it, and the controller has not removed the marker yet."""

POINTS = (BEFORE_STATE_WRITE, BEFORE_TOPIC_WRITE, BEFORE_TOPIC_DELETE, BEFORE_MARKER_DELETE)
"""The steps of a controller at which one task can be made to wait."""

CONTROLLER_EVENTS = "controller.events"
"""The controller has taken an event from its queue, and does not handle it yet: none is handled."""

SENDER = "controller.sender"
"""The controller has taken a request to a broker from that one's queue, and does not send it yet. `controller.sender:2`: to
broker 2 alone."""

REQUEST = "node.request"
"""A request has come, and is not handled yet. With its API: `node.request:LeaderAndIsr`."""

REPLY = "node.reply"
"""A request has been handled, and is not answered yet. With its API. Not a place to wait: here answers are lost."""

REQUESTS = ("LeaderAndIsr", "UpdateMetadata", "StopReplica", "AlterPartition", "ControlledShutdown")
"""Whose requests and answers that can happen to: what controller and brokers say to each other."""

_WITH_SUFFIX = (SENDER, REQUEST, REPLY)


def sender(broker: int) -> str:
    """The point of that broker's queue."""
    return f"{SENDER}:{broker}"


class UnknownHoldPointError(ValueError):
    def __init__(self, point: str) -> None:
        known = (*POINTS, CONTROLLER_EVENTS, SENDER, *(f"{name}:..." for name in _WITH_SUFFIX))
        super().__init__(f"there is no hold point {point!r}; there are: {', '.join(known)}")


class Holds:
    """The hold points of one node."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._armed: dict[str, asyncio.Event] = {}
        self._waiting: dict[str, int] = {}
        self._losing: dict[str, int] = {}

    @property
    def waiting(self) -> tuple[str, ...]:
        """Points at which a task waits now, sorted."""
        return tuple(sorted(point for point, tasks in self._waiting.items() if tasks))

    @property
    def armed(self) -> tuple[str, ...]:
        """Points that would make a task wait, or lose an answer, sorted."""
        return tuple(sorted((*self._armed, *self._losing)))

    def lose(self, point: str, count: int) -> None:
        """The next `count` answers at `point` are lost. Raises UnknownHoldPointError."""
        _check(point)
        self._losing[point] = count

    def loses(self, point: str) -> bool:
        """Whether this answer is; each time counts."""
        if not (left := self._losing.get(point, 0)):
            return False
        self._losing[point] = left - 1
        if left == 1:
            del self._losing[point]
        self._record(AnswerLost(point=point))
        return True

    def arm(self, point: str) -> None:
        """The next task to reach `point` waits. Raises UnknownHoldPointError."""
        _check(point)
        self._armed.setdefault(point, asyncio.Event())

    def release(self, point: str) -> None:
        """Disarms `point` and lets the waiting tasks go on; no more answers are lost there."""
        self._losing.pop(point, None)
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


def _check(point: str) -> None:
    known = point in (*POINTS, CONTROLLER_EVENTS, SENDER)
    name, colon, of = point.partition(":")
    if not known and not (colon and name in _WITH_SUFFIX and (of.isdecimal() if name == SENDER else of in REQUESTS)):
        raise UnknownHoldPointError(point)
