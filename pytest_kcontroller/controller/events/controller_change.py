"""ControllerChange: /controller was created or changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_kcontroller.controller.events.event import Event
from pytest_kcontroller.seams import seam

if TYPE_CHECKING:
    from pytest_kcontroller.controller.controller import Controller


@dataclass(frozen=True, slots=True)
class ControllerChange(Event):
    """Source: KafkaController.processControllerChange."""

    name = "ControllerChange"
    source = "/controller is created or changed"
    metric = "ControllerChangeRateAndTimeMs"

    async def handle(self, controller: Controller) -> None:
        if await controller.resign_if_moved() == "nobody's":
            await elect_when_gone(controller)


@seam("controller.elect-when-gone")
async def elect_when_gone(controller: Controller) -> None:
    """Whoever created /controller, it was deleted before it was watched again: no other event tells of that."""
    await controller.elect_again()
