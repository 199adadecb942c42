"""ControllerChange: /controller was created or changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_kcontroller.controller.events.event import Event

if TYPE_CHECKING:
    from pytest_kcontroller.controller.controller import Controller


@dataclass(frozen=True, slots=True)
class ControllerChange(Event):
    """Source: KafkaController.processControllerChange."""

    name = "ControllerChange"
    source = "/controller is created or changed"
    metric = "ControllerChangeRateAndTimeMs"

    async def handle(self, controller: Controller) -> None:
        await controller.resign_if_moved()
