"""latency: what is said is late; nothing is lost."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import ClassVar, Self

from kcontroller_chaos.faults import parameter
from kcontroller_chaos.faults._probes import PATIENCE_MS, Line
from kcontroller_chaos.faults._toxics import OnControl, OnZooKeeper, ToxicFault
from kcontroller_chaos.injection import Evidence, Injection, Placement, Wrong
from pytest_kcontroller.model.toxics import LATENCY, Stream, Toxic

ANSWER_US = 1_000_000
LONGEST_MS = 60_000
TRIPS_WITH_JITTER = 6
"""Of so many the mean is hardly ever below the delay by half the jitter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency(ToxicFault):
    """What a node says to others, or to ZooKeeper, and hears from them is late; nothing is lost."""

    kind = "latency"
    example = """\
[[faults]]
kind = "latency"
target = "controller"
delay_ms = 300
jitter_ms = 100
at_s = 2
duration_s = 3
"""
    drawn_ms: ClassVar[tuple[int, int]] = (20, 1500)
    longest_ms: ClassVar[int] = LONGEST_MS
    """What is later is not observed."""
    rounds = 1

    delay_ms: int = parameter(200, "how late, in each direction", unit="ms", least=0, most=LONGEST_MS)
    jitter_ms: int = parameter(
        0, "so much later or earlier, drawn evenly for each piece; the order stays", unit="ms", least=0, most=LONGEST_MS
    )

    def toxic(self, stream: Stream) -> Toxic:
        return Toxic(LATENCY, stream, {"latency": self.delay_ms, "jitter": self.jitter_ms})

    async def look(self, line: Line) -> Evidence | None:
        """A question and its answer took the delay, once for each direction that has it."""
        count, late_us = (TRIPS_WITH_JITTER if self.jitter_ms else 1), len(line.streams) * self.delay_ms * 1000
        least_us = late_us - len(line.streams) * self.jitter_ms * 1000 // 2
        longest_us = len(line.streams) * (self.delay_ms + self.jitter_ms) * 1000
        limit_us = count * (2 * longest_us + ANSWER_US)
        trips = await line.trips(count, limit_us=limit_us)
        if trips is None or sum(trips) < count * least_us:
            return None
        return {"round_trip_us": min(trips)} | ({"longest_us": max(trips)} if count > 1 else {})

    def wrong_at(self, at: Placement) -> Wrong | None:
        if self.delay_ms == 0 and self.jitter_ms == 0:
            return "delay_ms", "what is late by 0 ms is not late: nothing could be observed", "at least 1"
        if (late_ms := self.delay_ms + self.jitter_ms) > self.longest_ms:
            what = f"it is late by up to {late_ms} ms with its jitter"
            return (
                "delay_ms",
                f"{what}, and what is later than {self.longest_ms} ms is not observed",
                "less of one of them",
            )
        return super(Latency, self).wrong_at(at)  # that of the mode; a class with slots has no other super

    def within_s(self, on: Injection) -> float:
        # A connection and a question take four delays; other faults may end the node at the other end meanwhile, and again.
        return (TRIPS_WITH_JITTER if self.jitter_ms else 2) * 8 * (self.delay_ms + self.jitter_ms) / 1000 + 3

    @classmethod
    def drawn(cls, draw: Random) -> Self:
        return cls(delay_ms=draw.randint(*cls.drawn_ms))


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyControl(Latency, OnControl):
    """on its connections to the other nodes and theirs to it"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyZooKeeper(Latency, OnZooKeeper):
    """on its connection to ZooKeeper: it sees and writes late; half the session time-out may cost it"""

    needs = ()
    longest_ms = PATIENCE_MS
    drawn_ms = (20, 250)  # its pings must come back before the client gives the connection up
