"""RegisterBrokerAndReelect: there is a new session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_kcontroller.controller.events.event import Event
from pytest_kcontroller.seams import seam

if TYPE_CHECKING:
    from pytest_kcontroller.controller.controller import Controller


@dataclass(frozen=True, slots=True)
class RegisterBrokerAndReelect(Event):
    """Source: KafkaController.processRegisterBrokerAndReelect. The broker has been registered by then."""

    name = "RegisterBrokerAndReelect"
    source = "a new session, in which the broker is registered"
    metric = "ControllerChangeRateAndTimeMs"

    async def handle(self, controller: Controller) -> None:
        await controller.resign_if_moved()
        await controller.elect()


@seam("controller.announce-session")
def announce_session(controller: Controller) -> None:
    """KAFKA-4229: one event for a session, however many ended before it came to that."""
    controller.put(RegisterBrokerAndReelect())
