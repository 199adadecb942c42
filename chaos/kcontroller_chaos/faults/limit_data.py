"""limit_data: a connection is good for so many bytes."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import Self

from kcontroller_chaos.faults import parameter
from kcontroller_chaos.faults._probes import LONGEST_WORD, Line, unfinished
from kcontroller_chaos.faults._toxics import OnControl, OnZooKeeper, ToxicFault
from kcontroller_chaos.injection import Evidence, Injection
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.model.toxics import LIMIT_DATA, Stream, Toxic

LOOK_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitData(ToxicFault):
    """A node's connections end after so many bytes; new ones are possible, for as many."""

    kind = "limit_data"
    example = """\
[[faults]]
kind = "limit_data"
target = "controller"
bytes = 2000
at_s = 2
duration_s = 3
"""

    bytes: int = parameter(1000, "of each connection, in each direction that is hit", unit="B", least=1, most=100_000)

    def toxic(self, stream: Stream) -> Toxic:
        return Toxic(LIMIT_DATA, stream, {"bytes": self.bytes})

    @classmethod
    def drawn(cls, draw: Random) -> Self:
        return cls(bytes=draw.randint(5, 2000))

    def within_s(self, on: Injection) -> float:
        return 2 * self.rounds * LOOK_S


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitDataControl(LimitData, OnControl):
    """on its connections to the other nodes and theirs to it"""

    async def look(self, line: Line) -> Evidence | None:
        """A connection on which there is always something to say ends when so much has passed."""
        seen = await line.until_it_ends(self.bytes, limit_us=round(scaled(LOOK_S) * 1e6))
        return None if seen.ended_us is None else {"heard_bytes": seen.heard, "said_bytes": seen.said}


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitDataZooKeeper(LimitData, OnZooKeeper):
    """on its connection to ZooKeeper: after some requests it must connect anew, in the same session"""

    bytes: int = parameter(1000, "of each connection, in each direction that is hit", unit="B", least=5, most=2000)
    """Less would end a connection before a look has asked."""

    async def look(self, line: Line) -> Evidence | None:
        """Of an answer that is longer so many bytes come, and a connection that ZooKeeper waits on ends."""
        shown: dict[str, int] = {}
        if "downstream" in line.streams:
            seen = await line.say(LONGEST_WORD, limit_us=round(scaled(LOOK_S) * 1e6))
            if seen.ended_us is None or seen.heard != self.bytes:
                return None
            shown["heard_bytes"] = seen.heard
        if "upstream" in line.streams:
            seen = await line.say(unfinished(self.bytes), limit_us=round(scaled(LOOK_S) * 1e6))
            if seen.ended_us is None:
                return None
            shown["said_bytes"] = self.bytes
        return shown
