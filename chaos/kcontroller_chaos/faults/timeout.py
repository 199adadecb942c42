"""timeout: nothing passes, and after some silence the connection is closed."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import Self

from kcontroller_chaos.faults import parameter
from kcontroller_chaos.faults._probes import PATIENCE_MS, Line
from kcontroller_chaos.faults._toxics import OnControl, OnZooKeeper, ToxicFault
from kcontroller_chaos.injection import Evidence, Injection
from pytest_kcontroller.model.toxics import TIMEOUT, Stream, Toxic


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeout(ToxicFault):
    """What a node says, and hears, is lost, and its connections are closed when nothing has been said for some time.

    A firewall that forgets connections; who speaks all the time is never told. Healing closes them too.
    """

    kind = "timeout"
    example = """\
[[faults]]
kind = "timeout"
target = "controller"
timeout_ms = 500
at_s = 2
duration_s = 3
"""

    timeout_ms: int = parameter(500, "of silence, until a connection is closed", unit="ms", least=100, most=60_000)

    def toxic(self, stream: Stream) -> Toxic:
        return Toxic(TIMEOUT, stream, {"timeout": self.timeout_ms})

    async def look(self, line: Line) -> Evidence | None:
        """A connection on which nothing is said is closed after that time; those who are at its ends would not."""
        seen = await line.say(b"", limit_us=2 * self.timeout_ms * 1000 + 1_000_000)
        if seen.ended_us is None or seen.ended_us < 0.8 * self.timeout_ms * 1000:
            return None
        return {"ended_us": seen.ended_us}

    @classmethod
    def drawn(cls, draw: Random) -> Self:
        return cls(timeout_ms=draw.randint(100, 2000))

    def within_s(self, on: Injection) -> float:
        return 6 * self.timeout_ms / 1000 + 3


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeoutControl(Timeout, OnControl):
    """on its connections to the other nodes and theirs to it"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeoutZooKeeper(Timeout, OnZooKeeper):
    """on its connection to ZooKeeper: half of it costs the session, unless it only hears nothing"""

    timeout_ms: int = parameter(500, "of silence, until a connection is closed", unit="ms", least=100, most=PATIENCE_MS)
