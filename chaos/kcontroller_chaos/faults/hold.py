"""hold: a race happens every time, instead of once in a thousand runs."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import Self

from kcontroller_chaos.faults import Fault, parameter
from kcontroller_chaos.faults._inside import release
from kcontroller_chaos.feed import writer_is
from kcontroller_chaos.injection import TASKS, Evidence, Injection
from pytest_kcontroller.cluster.capabilities import HOLDS
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.history import HoldReached, HoldReleased
from pytest_kcontroller.runtime.holds import BEFORE_STATE_WRITE, POINTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold(Fault):
    """The next task of the node that reaches a hold point waits there; pings, watches and the rest of the node go on."""

    kind = "hold"
    example = f"""\
[[faults]]
kind = "hold"
point = "{BEFORE_STATE_WRITE}"
target = "controller"
at_s = 1
duration_s = 2

[[workload]]                # makes the controller write, so that it reaches the point
kind = "admin"
action = "create_topic"
topic = "late"
at_s = 2
"""
    claims = (TASKS,)
    may_miss = True
    needs = (HOLDS,)

    point: str = parameter(BEFORE_STATE_WRITE, "the hold point", choices=POINTS)

    async def inject(self, on: Injection) -> None:
        await on.cluster.capability(HOLDS).hold(on.node, self.point)

    async def observe(self, on: Injection) -> Evidence:
        """The node's own record that a task waits there."""
        event = await on.feed.wait(
            lambda e: e["kind"] == HoldReached.kind and e["point"] == self.point and writer_is(e["writer"], on.node),
            since=on.since,
        )
        return {"writer": event["writer"], "seq": event["seq"], "point": event["point"], "t_us": event["t_us"]}

    async def look_again(self, on: Injection) -> None:
        on.feed.poll()
        both = (HoldReached.kind, HoldReleased.kind)
        said = [
            event["kind"]
            for event in on.feed.events[on.since :]
            if event["kind"] in both and event["point"] == self.point and writer_is(event["writer"], on.node)
        ]
        if said and said.count(HoldReached.kind) <= said.count(HoldReleased.kind):
            raise EnvironmentFailure(f"the task of node {on.node} that waited at {self.point} has gone on")

    async def heal(self, on: Injection) -> None:
        await release(on, self.point)

    def within_s(self, on: Injection) -> float:
        return 5.0

    @classmethod
    def drawn(cls, draw: Random) -> Self:
        return cls(point=draw.choice(POINTS))
