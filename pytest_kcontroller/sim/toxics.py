"""Toxics that look at the bytes of a simulated connection: what of a chunk passes, in which pieces, how late.

As toxiproxy's (model/toxics.py), in a fixed order: a time-out drops, a limit ends, a slicer cuts, a bandwidth carries. What
only is late or cut is a Way's own affair (sim/link.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import Self

from pytest_kcontroller.model.toxics import BANDWIDTH, LIMIT_DATA, SLICER, SLOW_CLOSE, TIMEOUT, Toxic


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaping:
    """What the toxics of one direction do together; a connection's own counts are its Channel's."""

    cuts: Random
    silence_us: int | None = None
    """Bytes are dropped, and the connection is closed after so long."""
    limit: int | None = None
    rate: int | None = None
    """Thousands of bytes a second."""
    average: int | None = None
    variation: int = 0
    pause_us: int = 0
    """After each piece."""
    close_late_us: int = 0

    @classmethod
    def of(cls, toxics: Iterable[Toxic], cuts: Random) -> Self | None:
        """None: none of them looks at bytes. `cuts` draws where a slicer cuts."""
        there = {toxic.type: toxic.attributes for toxic in toxics if not toxic.is_cut}
        if not there.keys() & {BANDWIDTH, LIMIT_DATA, SLICER, SLOW_CLOSE, TIMEOUT}:
            return None
        slicer, late = there.get(SLICER, {}), there.get(SLOW_CLOSE, {})
        return cls(
            cuts=cuts,
            silence_us=there[TIMEOUT]["timeout"] * 1000 if TIMEOUT in there else None,
            limit=there[LIMIT_DATA]["bytes"] if LIMIT_DATA in there else None,
            rate=there[BANDWIDTH]["rate"] if BANDWIDTH in there else None,
            average=slicer.get("average_size"),
            variation=slicer.get("size_variation", 0),
            pause_us=slicer.get("delay", 0),
            close_late_us=late.get("delay", 0) * 1000,
        )

    def limited(self, data: bytes, passed: int) -> tuple[bytes, bool]:
        """What passes of `data` when so many bytes have, and whether the connection ends behind it."""
        if self.limit is None:
            return data, False
        left = max(0, self.limit - passed)
        return data[:left], len(data) >= left

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """At most `average` and `variation` bytes each; without a slicer all of it."""
        if self.average is None:
            if data:
                yield data
            return
        begin, ends = 0, [len(data)]
        while ends:
            length = ends[-1] - begin
            if length > self.average + self.variation:
                middle = begin + length // 2
                ends.append(middle + (self.cuts.randrange(-self.variation, self.variation) if self.variation else 0))
            else:
                if length > 0:
                    yield data[begin : begin + length]
                begin = max(begin, ends.pop())

    def carrying_us(self, piece: bytes) -> int:
        """How long it takes to carry it."""
        return 0 if self.rate is None else len(piece) * 1000 // self.rate
