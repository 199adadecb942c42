"""KAFKA-4229: after several expiries a second callback ended the term that the first one had begun (before Kafka 0.11).

Each expiry had a callback of its own, and none of them was dropped when the next expiry came first: all of them ran in the
session that there was in the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

from pytest_kcontroller.controller.controller import Controller
from pytest_kcontroller.controller.events.event import Event
from pytest_kcontroller.controller.events.register_broker_and_reelect import RegisterBrokerAndReelect
from pytest_kcontroller.seams import Mutant, original, unchanged

END, ANNOUNCE = "controller.end-session", "controller.announce-session"

_expired: WeakKeyDictionary[Controller, int] = WeakKeyDictionary()
"""How many sessions of each controller have ended since a callback ran last."""


def count_expiry(controller: Controller) -> None:
    _expired[controller] = _expired.get(controller, 0) + 1
    original(END)(controller)
    unchanged(END)


def one_callback_per_expiry(controller: Controller) -> None:
    callbacks = max(1, _expired.pop(controller, 0))
    if callbacks == 1:
        unchanged(ANNOUNCE)
    for _ in range(callbacks):
        controller.put(ResignAndElect())


@dataclass(frozen=True, slots=True)
class ResignAndElect(Event):
    """An elector that finds its own id in /controller stops there: then nobody acts."""

    name = RegisterBrokerAndReelect.name
    metric = RegisterBrokerAndReelect.metric

    async def handle(self, controller: Controller) -> None:
        if controller.active:
            controller.resign("there is a new session")
        else:
            await controller.resign_if_moved()
            await controller.elect()


MUTANT = Mutant(
    name="KAFKA-4229",
    description="After two expiries in a row a node resigns what it has just won, and /controller stays its own.",
    source="https://issues.apache.org/jira/browse/KAFKA-4229",
    replacements=(
        (END, count_expiry),
        (ANNOUNCE, one_callback_per_expiry),
    ),
    breaks=("one-controller-after-healing",),
)
