"""slicer: what was said in one piece arrives in many."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import Self

from kcontroller_chaos.faults import parameter
from kcontroller_chaos.faults._probes import LEAST_HEARD, Line
from kcontroller_chaos.faults._toxics import OnControl, OnZooKeeper, ToxicFault
from kcontroller_chaos.injection import Evidence, Injection, Placement, Wrong
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.model.toxics import SLICER, Stream, Toxic

LOOK_US = 300_000
"""So long the pauses of a look take at least, in each direction: we choose how many. Stretched, since a busy machine is slow
itself."""
SHORTEST_US = 100_000
"""Pauses that together take less show nothing."""
QUESTION, ANSWER = 50, 100
"""Bytes: of one with nothing in it at most, and of a node's at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slicer(ToxicFault):
    """What a node says, and hears, arrives in small pieces with pauses: half a message at a time."""

    kind = "slicer"
    example = """\
[[faults]]
kind = "slicer"
target = "controller"
average_size = 16
delay_us = 5000
at_s = 2
duration_s = 3
"""

    average_size: int = parameter(64, "how long the pieces are", unit="B", least=1, most=10_000)
    size_variation: int = parameter(
        0, "so much longer or shorter, drawn; less than the average", unit="B", least=0, most=10_000
    )
    delay_us: int = parameter(10_000, "after each piece", unit="us", least=1000, most=1_000_000)

    def __post_init__(self) -> None:
        if self.size_variation >= self.average_size:
            raise ValueError(
                f"size_variation = {self.size_variation} is not less than average_size = {self.average_size}"
            )

    @property
    def longest(self) -> int:
        """Of a piece."""
        return self.average_size + self.size_variation

    def toxic(self, stream: Stream) -> Toxic:
        given = {"average_size": self.average_size, "size_variation": self.size_variation, "delay": self.delay_us}
        return Toxic(SLICER, stream, given)

    async def look(self, line: Line) -> Evidence | None:
        """So many bytes took the pauses between the fewest pieces that they can be cut into."""
        passed = await line.transfers(self._size(scaled(LOOK_US)), limit_us=round(scaled(self._look_s) * 1e6))
        if passed is None:
            return None
        for length, took_us in passed:
            pauses_us = self._pauses_us(length)
            if pauses_us < SHORTEST_US or took_us < 0.8 * pauses_us:
                return None
        length, took_us = passed[0]
        return {"bytes": length, "took_us": took_us}

    def _size(self, pauses_us: float) -> int:
        """So many bytes have these pauses, if that is not too much to be heard."""
        return min(LEAST_HEARD, self.longest * ceil(pauses_us / self.delay_us) + 1)

    def _pauses_us(self, size: int) -> int:
        """All of them at least, until the last of so many bytes is there."""
        return (size - 1) // self.longest * self.delay_us

    @property
    def _look_s(self) -> float:
        """What a look takes at most, in one direction: pieces are half as long as the longest one, or a little shorter on
        average; what asks is cut too; and what a simulated node answers has a pause of its own."""
        size = self._size(LOOK_US)
        pieces = 5 * (size + QUESTION) // self.longest + size // ANSWER + 3
        return pieces * self.delay_us / 1e6 + 1

    def wrong_at(self, at: Placement) -> Wrong | None:
        if (pauses_us := self._pauses_us(LEAST_HEARD)) < SHORTEST_US:
            what = (
                f"{LEAST_HEARD} bytes in pieces of up to {self.longest} have pauses of {pauses_us / 1000:g} ms together"
            )
            least = f"too little to be observed: {SHORTEST_US // 1000} ms are needed"
            return "average_size", f"{what}, {least}", "smaller pieces, or a longer `delay_us`"
        return super(Slicer, self).wrong_at(at)  # that of the mode; a class with slots has no other super

    @classmethod
    def drawn(cls, draw: Random) -> Self:
        return cls(average_size=draw.randint(8, 200), delay_us=draw.randint(2500, 50_000))

    def within_s(self, on: Injection) -> float:
        return 2 * self.rounds * self._look_s


@dataclass(frozen=True, slots=True, kw_only=True)
class SlicerControl(Slicer, OnControl):
    """on its connections to the other nodes and theirs to it"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlicerZooKeeper(Slicer, OnZooKeeper):
    """on its connection to ZooKeeper"""
