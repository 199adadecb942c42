"""Expire: the session has ended."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_kcontroller.controller.events.event import Event
from pytest_kcontroller.seams import seam

if TYPE_CHECKING:
    from pytest_kcontroller.controller.controller import Controller


@dataclass(frozen=True, slots=True)
class Expire(Event):
    """Source: KafkaController.processExpire. `processed` is set when it has been handled."""

    processed: asyncio.Event = field(default_factory=asyncio.Event)

    name = "Expire"
    source = "the end of the session"
    metric = "ControllerChangeRateAndTimeMs"

    async def handle(self, controller: Controller) -> None:
        end_session(controller)
        self.processed.set()


@seam("controller.end-session")
def end_session(controller: Controller) -> None:
    """A term ends with its session."""
    controller.resign("the session expired")
    controller.leave_session()
