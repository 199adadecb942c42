"""What the faults inside a node of ours share: they arm a point of its code (runtime/holds.py), where a task then stands."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from kcontroller_chaos.faults import Fault
from kcontroller_chaos.feed import Event, writer_is
from kcontroller_chaos.injection import TASKS, Evidence, Injection
from pytest_kcontroller.cluster.capabilities import HOLDS, REPORTS
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.history import HoldReached

WORKLOAD = """\

[[workload]]                # the controller has something to do then
kind = "admin"
action = "create_topic"
topic = "late"
at_s = 2
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside(Fault):
    """Whatever comes to a point of the node's code waits there until it is healed; the rest of the node goes on."""

    claims = (TASKS,)
    may_miss = True
    needs = (HOLDS, REPORTS)

    @property
    @abstractmethod
    def armed(self) -> str:
        """The point."""

    async def inject(self, on: Injection) -> None:
        await on.cluster.capability(HOLDS).hold(on.node, self.armed)

    async def observe(self, on: Injection) -> Evidence:
        """The node's own record that something waits there."""
        return said(await on.feed.wait(lambda e: is_said(e, HoldReached.kind, self.armed, on.node), since=on.since))

    async def look_again(self, on: Injection) -> None:
        """By the node's answer."""
        if is_gone(on):
            return
        status = await on.cluster.capability(REPORTS).status(on.node)
        if status is None or self.armed not in status.raw.get("armed", ()):
            found = "does not answer" if status is None else "lets everything pass there"
            raise EnvironmentFailure(f"node {on.node}, in which {self.armed} was held up, {found}")

    async def heal(self, on: Injection) -> None:
        await release(on, self.armed)

    def within_s(self, on: Injection) -> float:
        return 5.0


def is_gone(on: Injection) -> bool:
    """Whether the node's process has ended, also if there is another by now. What was done to it has gone with it:
    that lasted as long as it could, and nothing is left to be taken back. Why it ended is for `nodes-stay-up` to judge."""
    on.feed.poll()
    return on.has_ended() or on.node not in on.cluster.running


async def release(on: Injection, point: str) -> None:
    """Raises EnvironmentFailure: it runs, and does not answer."""
    try:
        await on.cluster.capability(HOLDS).release(on.node, point)
    except EnvironmentFailure:
        if not is_gone(on):
            raise


def is_said(event: Event, kind: str, point: str, node: int) -> bool:
    return bool(event["kind"] == kind and event["point"] == point and writer_is(event["writer"], node))


def said(event: Event) -> Evidence:
    return {"writer": event["writer"], "seq": event["seq"], "point": event["point"], "t_us": event["t_us"]}
