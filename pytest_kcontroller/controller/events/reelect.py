"""Reelect: /controller was deleted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_kcontroller.controller.events.event import Event

if TYPE_CHECKING:
    from pytest_kcontroller.controller.controller import Controller


@dataclass(frozen=True, slots=True)
class Reelect(Event):
    """Source: KafkaController.processReelect."""

    name = "Reelect"
    source = "/controller is deleted"
    metric = "ControllerChangeRateAndTimeMs"

    async def handle(self, controller: Controller) -> None:
        await controller.resign_if_moved()
        await controller.elect()
