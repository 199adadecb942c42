"""stall: a thread of the controller stands still, and the node is well otherwise."""

from __future__ import annotations

from dataclasses import dataclass

from kcontroller_chaos.faults import parameter
from kcontroller_chaos.faults._inside import WORKLOAD, Inside
from kcontroller_chaos.injection import Placement, Wrong
from pytest_kcontroller.runtime.holds import CONTROLLER_EVENTS, SENDER, sender

EVERY = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall(Inside):
    """A thread of the controller stands still from its next piece of work on, while pings, watches and the broker go on."""

    kind = "stall"
    example = f"""\
[[faults]]
kind = "stall"
mode = "sender"
target = "controller"
at_s = 1
duration_s = 2
{WORKLOAD}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerEvents(Stall):
    """the one that handles its events, as Kafka's `controller-event-thread`: nothing is decided any more"""

    mode = "controller-events"

    @property
    def armed(self) -> str:
        return CONTROLLER_EVENTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender(Stall):
    """one that sends its requests, as Kafka's `RequestSendThread`: what was decided does not reach the broker"""

    mode = "sender"

    broker: int = parameter(EVERY, "whose requests do not leave; -1: all brokers'", least=EVERY)

    def wrong_at(self, at: Placement) -> Wrong | None:
        if self.broker >= at.nodes:
            return "broker", f"there is no node {self.broker}", f"0 to {at.nodes - 1}, or {EVERY} for all"
        return Inside.wrong_at(self, at)

    @property
    def armed(self) -> str:
        return SENDER if self.broker == EVERY else sender(self.broker)
