"""latency: what is said is late; nothing is lost."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import ClassVar, Self

from kcontroller_chaos.faults import Fault, parameter
from kcontroller_chaos.faults._links import (
    CONTROL,
    RETRY_US,
    Pair,
    answering,
    inbound,
    must_be_slow,
    must_have,
    outbound,
    round_trips,
)
from kcontroller_chaos.injection import NETWORK, PROCESS, SESSION, Evidence, Injection
from pytest_kcontroller.cluster.contract import ZOOKEEPER

ANSWER_US = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency(Fault):
    """What a node says to others, or to ZooKeeper, and hears from them is late; nothing is lost."""

    kind = "latency"
    example = """\
[[faults]]
kind = "latency"
target = "controller"
delay_ms = 300
at_s = 2
duration_s = 3
"""
    drawn_ms: ClassVar[tuple[int, int]] = (20, 1500)

    delay_ms: int = parameter(200, "how late, in each direction", unit="ms", least=0, most=86_400_000)

    @property
    def round_trip_us(self) -> int:
        """What a question and its answer take at least."""
        return 2 * self.delay_ms * 1000

    def within_s(self, on: Injection) -> float:
        return 8 * self.delay_ms / 1000 + 3

    @classmethod
    def drawn(cls, draw: Random) -> Self:
        return cls(delay_ms=draw.randint(*cls.drawn_ms))


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyControl(Latency):
    """on its connections to the other nodes and theirs to it"""

    mode = "control"
    claims = (NETWORK, PROCESS)

    async def inject(self, on: Injection) -> None:
        for source, target in must_have(_pairs(on)):
            await on.cluster.slow(source, target, CONTROL, delay_ms=self.delay_ms)

    async def observe(self, on: Injection) -> Evidence:
        """A request of ours and its answer took twice the delay, on every link of a node that answers."""
        while True:
            looked_at = await answering(on, outbound(on))
            found = await round_trips(on, looked_at, timeout_us=2 * self.round_trip_us + ANSWER_US)
            trips = [trip for trip in found.values() if trip is not None]
            if trips and min(trips) >= self.round_trip_us:
                return {"round_trip_us": min(trips), "links": len(trips)}
            await on.clock.sleep_us(RETRY_US)

    async def look_again(self, on: Injection) -> None:
        await must_be_slow(on, _pairs(on), CONTROL, self.delay_ms)

    async def heal(self, on: Injection) -> None:
        for source, target in _pairs(on):
            await on.cluster.slow(source, target, CONTROL, delay_ms=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyZooKeeper(Latency):
    """on its connection to ZooKeeper: it sees and writes late; half the session time-out may cost it"""

    mode = "zookeeper"
    ends_session = True  # when the connection has to be made anew
    claims = (PROCESS, SESSION)
    drawn_ms = (20, 250)  # its pings must come back before the client gives the connection up

    async def inject(self, on: Injection) -> None:
        await on.cluster.slow(str(on.node), ZOOKEEPER, "zk", delay_ms=self.delay_ms)

    async def observe(self, on: Injection) -> Evidence:
        """A question of ours to ZooKeeper and its answer took twice the delay, on the way that the node's own take."""
        limit_s = (2 * self.round_trip_us + ANSWER_US) / 1e6
        while True:
            trip_us = await on.cluster.zookeeper_round_trip_us(on.node, limit_s=limit_s)
            if trip_us is not None and trip_us >= self.round_trip_us:
                return {"round_trip_us": trip_us}
            await on.clock.sleep_us(RETRY_US)

    async def look_again(self, on: Injection) -> None:
        await must_be_slow(on, [(str(on.node), ZOOKEEPER)], "zk", self.delay_ms)

    async def heal(self, on: Injection) -> None:
        await on.cluster.slow(str(on.node), ZOOKEEPER, "zk", delay_ms=0)


def _pairs(on: Injection) -> list[Pair]:
    return outbound(on) + inbound(on)
