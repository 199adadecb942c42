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
    """Something that has happened: a frozen value. `metric` is Kafka's name of its rate and time (ControllerStats)."""

    name: ClassVar[str]
    """Kafka's."""
    metric: ClassVar[str]

    @abstractmethod
    async def handle(self, controller: Controller) -> None:
        """Runs in the consumer, alone. What it raises is looked up in failures.TABLE."""

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
class RequestEvent(Event):
    """A broker's request: it waits for `answer`, which comes in any case."""

    request: Any
    answer: asyncio.Future[Any]

    async def handle(self, controller: Controller) -> None:
        """NOT_CONTROLLER unless this is the active controller at the time, and when it fails."""
        try:
            if (term := controller.term) is not None:
                self._answer(await self.respond(term))
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

    @staticmethod
    @abstractmethod
    def refusal(error: ErrorCode) -> Any:
        """The response that says no more than this."""
