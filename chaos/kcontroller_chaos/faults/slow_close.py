"""slow_close: who closes a connection is gone before the other one knows."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import Self

from kcontroller_chaos.faults import parameter
from kcontroller_chaos.faults._links import BOTH, TO_NODE, direction_parameter
from kcontroller_chaos.faults._probes import NONSENSE, SHORT_WORD, Line
from kcontroller_chaos.faults._toxics import OnControl, OnZooKeeper, ToxicFault
from kcontroller_chaos.injection import Evidence, Injection
from pytest_kcontroller.model.toxics import SLOW_CLOSE, Stream, Toxic


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowClose(ToxicFault):
    """The end of a node's connections is told late: the other end goes on to hold for open what is closed."""

    kind = "slow_close"
    example = """\
[[faults]]
kind = "slow_close"
target = "controller"
delay_ms = 1000
at_s = 2
duration_s = 3
"""

    delay_ms: int = parameter(500, "how late", unit="ms", least=100, most=60_000)

    def toxic(self, stream: Stream) -> Toxic:
        return Toxic(SLOW_CLOSE, stream, {"delay": self.delay_ms})

    async def look(self, line: Line) -> Evidence | None:
        """A connection that its other end closes at once, because of what we say or as it always does, ends so late.

        Of our own closing only the other end knows: of two directions the one in which we hear is looked at.
        """
        if "downstream" not in line.streams:
            return {}
        limit_us = 2 * self.delay_ms * 1000 + 1_000_000
        seen = await line.say(SHORT_WORD if line.to_zookeeper else NONSENSE, limit_us=limit_us)
        if seen.ended_us is None or seen.ended_us < 0.8 * self.delay_ms * 1000:
            return None
        return {"ended_us": seen.ended_us}

    @classmethod
    def drawn(cls, draw: Random) -> Self:
        return cls(delay_ms=draw.randint(100, 2000))

    def within_s(self, on: Injection) -> float:
        return 6 * self.delay_ms / 1000 + 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowCloseControl(SlowClose, OnControl):
    """on its connections to the other nodes and theirs to it"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowCloseZooKeeper(SlowClose, OnZooKeeper):
    """on its connection to ZooKeeper: the node learns late that ZooKeeper has closed it"""

    direction: str = direction_parameter(  # what the node closes ends at ZooKeeper, where nobody of ours can look
        "what is hit: both directions, or what the node hears", (BOTH, TO_NODE)
    )
