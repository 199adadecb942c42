"""clock_jump: somebody sets the clock of a machine."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import Self

from kcontroller_chaos.faults import Fault, parameter
from kcontroller_chaos.faults._inside import is_gone
from kcontroller_chaos.injection import PROCESS, Evidence, Injection, Placement, Wrong
from pytest_kcontroller.cluster.capabilities import CLOCKS
from pytest_kcontroller.errors import EnvironmentFailure

DAY_S = 86_400
LEAST_S = 10
"""What a node answers is of a moment ago, of seconds ago on a busy machine: a shorter jump could not be told from that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockJump(Fault):
    """The node's wall clock jumps, and back again when it is healed; what it measures, as time-outs, goes on as it did."""

    kind = "clock_jump"
    example = """\
[[faults]]
kind = "clock_jump"
by_s = -3600
target = "controller"
at_s = 2
duration_s = 3
"""
    claims = (PROCESS,)
    needs = (CLOCKS,)

    by_s: int = parameter(3600, "so much later it is for the node, or earlier", unit="s", least=-DAY_S, most=DAY_S)

    def wrong_at(self, at: Placement) -> Wrong | None:
        if abs(self.by_s) < LEAST_S:
            what = f"a jump by {self.by_s} s could not be told from an answer that is late"
            return "by_s", what, f"{LEAST_S} or more, or -{LEAST_S} or less"
        return Fault.wrong_at(self, at)

    async def inject(self, on: Injection) -> None:
        await on.cluster.capability(CLOCKS).jump(on.node, self.by_s * 1000)

    async def observe(self, on: Injection) -> Evidence:
        """The node, asked what time it is, says another one than the run's own clock."""
        apart_s = await self._apart_s(on)
        if not self._has_jumped(apart_s):
            raise EnvironmentFailure(f"the clock of node {on.node} is {apart_s:g} s ahead of ours, not {self.by_s} s")
        return {"ahead_s": apart_s, "t_us": on.clock.now_us()}

    async def look_again(self, on: Injection) -> None:
        if not is_gone(on):
            await self.observe(on)

    async def heal(self, on: Injection) -> None:
        """A process that was started meanwhile has the right time."""
        if not is_gone(on) and self._has_jumped(await self._apart_s(on)):
            await on.cluster.capability(CLOCKS).jump(on.node, -self.by_s * 1000)

    def _has_jumped(self, apart_s: float) -> bool:
        """Whether that is nearer to the jump than to no jump."""
        return abs(apart_s - self.by_s) < abs(apart_s)

    async def _apart_s(self, on: Injection) -> float:
        before_ms, said_ms = on.clock.wall_ms(), await on.cluster.capability(CLOCKS).wall_ms(on.node)
        if said_ms is None:
            raise EnvironmentFailure(f"node {on.node} does not say what time it is")
        return (said_ms - before_ms) / 1000

    @classmethod
    def drawn(cls, draw: Random) -> Self:
        return cls(by_s=draw.choice((-1, 1)) * draw.randint(LEAST_S, DAY_S))
