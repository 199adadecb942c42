"""Expire and RegisterBrokerAndReelect: a session has ended; there is a new one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_kcontroller.controller.events.event import Event
from pytest_kcontroller.runtime.seams import seam

if TYPE_CHECKING:
    from pytest_kcontroller.controller.controller import Controller


@dataclass(frozen=True, slots=True)
class Expire(Event):
    """Source: KafkaController.processExpire. `processed` is set when it has been handled."""

    processed: asyncio.Event = field(default_factory=asyncio.Event)

    name = "Expire"
    metric = "ControllerChangeRateAndTimeMs"

    async def handle(self, controller: Controller) -> None:
        end_session(controller)
        self.processed.set()


@dataclass(frozen=True, slots=True)
class RegisterBrokerAndReelect(Event):
    """Source: KafkaController.processRegisterBrokerAndReelect. The broker has been registered by then."""

    name = "RegisterBrokerAndReelect"
    metric = "ControllerChangeRateAndTimeMs"

    async def handle(self, controller: Controller) -> None:
        await controller.resign_if_moved()
        await controller.elect()


@seam("controller.end-session")
def end_session(controller: Controller) -> None:
    """A term ends with its session."""
    controller.resign("the session expired")
    controller.leave_session()


@seam("controller.announce-session")
def announce_session(controller: Controller) -> None:
    """KAFKA-4229: one event for a session, however many ended before it came to that."""
    controller.put(RegisterBrokerAndReelect())
