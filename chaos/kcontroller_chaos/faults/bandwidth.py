"""bandwidth: a thin line."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import Self

from kcontroller_chaos.faults import parameter
from kcontroller_chaos.faults._probes import Line
from kcontroller_chaos.faults._toxics import OnControl, OnZooKeeper, ToxicFault
from kcontroller_chaos.injection import Evidence, Injection
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.model.toxics import BANDWIDTH, Stream, Toxic

LOOK_S = 0.3
"""So long the bytes of a look take at least, in each direction: we choose how many."""
SHORTEST_S = 0.1
"""What would take less shows nothing, as the few words of who refuses to answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bandwidth(ToxicFault):
    """What a node says, and hears, passes only at a rate: nothing is lost, and what is long takes long."""

    kind = "bandwidth"
    example = """\
[[faults]]
kind = "bandwidth"
target = "controller"
rate_kb_s = 2
at_s = 2
duration_s = 3
"""

    rate_kb_s: int = parameter(5, "thousands of bytes a second, of each connection", unit="kB/s", least=1, most=100)

    def toxic(self, stream: Stream) -> Toxic:
        return Toxic(BANDWIDTH, stream, {"rate": self.rate_kb_s})

    async def look(self, line: Line) -> Evidence | None:
        """So many bytes took as long as they must, or nearly: servers count in steps."""
        size = round(self.rate_kb_s * 1000 * scaled(LOOK_S))
        passed = await line.transfers(size, limit_us=round(scaled(10 * LOOK_S) * 1e6))
        if passed is None:
            return None
        for size, took_us in passed:
            least_us = size * 1000 / self.rate_kb_s
            if least_us < SHORTEST_S * 1e6 or took_us < 0.8 * least_us:
                return None
        size, took_us = passed[0]
        return {"bytes": size, "took_us": took_us}

    @classmethod
    def drawn(cls, draw: Random) -> Self:
        return cls(rate_kb_s=draw.randint(1, 10))

    def within_s(self, on: Injection) -> float:
        return 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BandwidthControl(Bandwidth, OnControl):
    """on its connections to the other nodes and theirs to it"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BandwidthZooKeeper(Bandwidth, OnZooKeeper):
    """on its connection to ZooKeeper: large writes and long lists may cost the session"""

    rate_kb_s: int = parameter(5, "thousands of bytes a second, of each connection", unit="kB/s", least=1, most=10)
