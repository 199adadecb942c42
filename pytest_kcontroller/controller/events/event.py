"""What an event is (kafka.controller.ControllerEvent, ControllerState, 3.9)."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pytest_kcontroller.wire.errors import ErrorCode

if TYPE_CHECKING:
    from pytest_kcontroller.controller.controller import Controller
    from pytest_kcontroller.controller.term import Term


class Event(ABC):
    """Something that has happened: a frozen value."""

    name: ClassVar[str]
    """Kafka's."""
    source: ClassVar[str]
    """What puts it into the queue."""
    metric: ClassVar[str | None] = None
    """Kafka's name of its rate and time (kafka.controller.ControllerState), if Kafka's controller has it."""

    @abstractmethod
    async def handle(self, controller: Controller) -> None:
        """Runs in the consumer, alone. What it raises is looked up in failures.TABLE."""

    @property
    def size(self) -> int:
        """How many partitions it is about, if it handles many of them in one turn of the loop."""
        return 1

    def preempt(self) -> None:  # noqa: B027 - most events may simply be forgotten
        """Instead of `handle`, if the queue is cleared before its turn."""


class TermEvent(Event):
    """Concerns an active controller only: all others forget it."""

    async def handle(self, controller: Controller) -> None:
        if (term := controller.term) is not None:
            await self.act(term)

    @abstractmethod
    async def act(self, term: Term) -> None: ...


@dataclass(frozen=True, slots=True)
class AnswerEvent(TermEvent):
    """What `broker` answered to a `request` of the controller. What an earlier term asked concerns nobody any more."""

    broker: int
    request: Any
    response: Any

    @property
    def size(self) -> int:
        return sum(len(topic.partition_states) for topic in self.request.topic_states)

    async def handle(self, controller: Controller) -> None:
        if (term := controller.term) is not None and term.context.epoch == self.request.controller_epoch:
            await self.act(term)


@dataclass(frozen=True, slots=True)
class RequestEvent(Event):
    """A broker's request: it waits for `answer`, which comes in any case."""

    request: Any
    answer: asyncio.Future[Any]

    async def handle(self, controller: Controller) -> None:
        """NOT_CONTROLLER unless this is the active controller at the time, and when it fails."""
        try:
            if (term := controller.term) is not None:
                response = await self.respond(term)
                self._answer(response)
                await self.follow_up(term, response)
        finally:
            self.preempt()

    def preempt(self) -> None:
        self._answer(self.refusal(ErrorCode.NOT_CONTROLLER))

    def _answer(self, response: Any) -> None:
        if not self.answer.done():
            self.answer.set_result(response)

    @abstractmethod
    async def respond(self, term: Term) -> Any:
        """The response."""

    async def follow_up(self, term: Term, response: Any) -> None:
        """What comes of it, once it has been answered."""

    @staticmethod
    @abstractmethod
    def refusal(error: ErrorCode) -> Any:
        """The response that says no more than this."""
