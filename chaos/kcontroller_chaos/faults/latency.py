"""latency: what a node says to others, or to ZooKeeper, and hears from them is late; nothing is lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import Any, ClassVar

from kcontroller_chaos.faults import Fault
from kcontroller_chaos.faults._links import (
    CONTROL,
    RETRY_US,
    Pair,
    answering,
    inbound,
    must_have,
    outbound,
    round_trips,
)
from kcontroller_chaos.injection import NETWORK, PROCESS, SESSION, Evidence, Injection
from pytest_kcontroller.cluster.contract import ZOOKEEPER

DELAY_MS = 200
DRAWN_MS = (20, 1500)
DRAWN_ZOOKEEPER_MS = (20, 250)
"""Its pings must come back before the client gives the connection up."""
ANSWER_US = 1_000_000


class LatencyControl:
    ends_session = False
    claims = (NETWORK, PROCESS)
    may_miss = False

    async def inject(self, on: Injection) -> None:
        for source, target in must_have(_pairs(on)):
            await on.cluster.slow(source, target, CONTROL, delay_ms=_delay_ms(on))

    async def observe(self, on: Injection) -> Evidence:
        """A request of ours and its answer took twice the delay, on every link of a node that answers."""
        least_us = 2 * _delay_ms(on) * 1000
        while True:
            looked_at = await answering(on, outbound(on))
            found = await round_trips(on, looked_at, timeout_us=2 * least_us + ANSWER_US)
            trips = [trip for trip in found.values() if trip is not None]
            if trips and min(trips) >= least_us:
                return {"round_trip_us": min(trips), "links": len(trips)}
            await on.clock.sleep_us(RETRY_US)

    async def heal(self, on: Injection) -> None:
        for source, target in _pairs(on):
            await on.cluster.slow(source, target, CONTROL, delay_ms=0)

    def within_s(self, on: Injection) -> float:
        return 8 * _delay_ms(on) / 1000 + 3


class LatencyZooKeeper:
    """A session may end by it, when the connection has to be made anew."""

    ends_session = True
    claims = (PROCESS, SESSION)
    may_miss = False

    async def inject(self, on: Injection) -> None:
        await on.cluster.slow(str(on.node), ZOOKEEPER, "zk", delay_ms=_delay_ms(on))

    async def observe(self, on: Injection) -> Evidence:
        """A question of ours to ZooKeeper and its answer took twice the delay, on the way that the node's own take."""
        least_us = 2 * _delay_ms(on) * 1000
        limit_s = (2 * least_us + ANSWER_US) / 1e6
        while True:
            trip_us = await on.cluster.zookeeper_round_trip_us(on.node, limit_s=limit_s)
            if trip_us is not None and trip_us >= least_us:
                return {"round_trip_us": trip_us}
            await on.clock.sleep_us(RETRY_US)

    async def heal(self, on: Injection) -> None:
        await on.cluster.slow(str(on.node), ZOOKEEPER, "zk", delay_ms=0)

    def within_s(self, on: Injection) -> float:
        return 8 * _delay_ms(on) / 1000 + 3


def _pairs(on: Injection) -> list[Pair]:
    return outbound(on) + inbound(on)


def _delay_ms(on: Injection) -> int:
    return int(on.parameters.get("delay_ms") or DELAY_MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyFault(Fault):
    kind: ClassVar[str] = "latency"
    modes: ClassVar[tuple[str, ...]] = ("control", "zookeeper")
    mode_help: ClassVar = {
        "control": "on its connections to the other nodes and theirs to it",
        "zookeeper": "on its connection to ZooKeeper: it sees and writes late; half the session time-out may cost it",
    }
    example: ClassVar[str] = """\
[[faults]]
kind = "latency"
target = "controller"
delay_ms = 300
at_s = 2
duration_s = 3
"""
    work: ClassVar = {"control": LatencyControl, "zookeeper": LatencyZooKeeper}
    delay_ms: int = field(default=DELAY_MS, metadata={"help": "how late, in each direction", "unit": "ms"})

    @classmethod
    def drawn(cls, draw: Random, mode: str | None) -> dict[str, Any]:
        return {"delay_ms": draw.randint(*(DRAWN_ZOOKEEPER_MS if mode == "zookeeper" else DRAWN_MS))}
