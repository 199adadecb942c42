"""flap: a link that comes and goes."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from kcontroller_chaos.faults import Fault, _repeated, parameter
from kcontroller_chaos.faults._links import (
    ON_ITS_WAY,
    RETRY_US,
    Way,
    answering,
    cut,
    direction_parameter,
    impair,
    inbound,
    outbound,
    peer_parameter,
    restore,
    round_trips,
    ways_of,
    ways_to_zookeeper,
    with_peer,
    wrong_peer,
)
from kcontroller_chaos.injection import NETWORK, PROCESS, SESSION, Evidence, Injection, Placement, Wrong
from pytest_kcontroller.cluster.capabilities import PEERS
from pytest_kcontroller.cluster.timing import withheld_s

ANSWER_US = 100_000
LATE_ANSWER_US = 400_000
"""The same on a busy machine; a link is down for longer than this."""
QUIET = 3
"""So many questions one after the other find no answer while nothing passes, or one that has waited for LATE_ANSWER_US."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flap(Fault):
    """Links of a node are cut and pass again, in turns, until it is healed."""

    kind = "flap"
    example = """\
[[faults]]
kind = "flap"
target = "controller"
down_ms = 800
up_ms = 1500
at_s = 2
duration_s = 5
"""

    direction: str = direction_parameter()
    down_ms: int = parameter(700, "so long nothing passes", unit="ms", least=600, most=300_000)
    up_ms: int = parameter(700, "so long everything does, in between", unit="ms", least=300, most=300_000)

    @abstractmethod
    def ways(self, on: Injection) -> list[Way]:
        """Raises EnvironmentFailure: there are none."""

    @abstractmethod
    async def answers(self, on: Injection, limit_us: int) -> list[bool]:
        """Of each link that can be looked at, whether a question of ours on it is answered now, in this time."""

    async def inject(self, on: Injection) -> None:
        ways = self.ways(on)
        _repeated.begin(on, self._turns(on, ways))

    async def _turns(self, on: Injection, ways: list[Way]) -> None:
        while True:
            await impair(on, ways, cut)
            await on.clock.sleep_us(self.down_ms * 1000)
            await restore(on, ways, cut)
            await on.clock.sleep_us(self.up_ms * 1000)

    async def observe(self, on: Injection) -> Evidence:
        """Questions of ours on the links find no answer, then one, then none again."""
        down_us = await self._until(on, passes=False)
        up_us = await self._until(on, passes=True)
        return {"down_us": down_us, "up_us": up_us, "again_us": await self._until(on, passes=False)}

    async def _until(self, on: Injection, *, passes: bool) -> int:
        """When it was so, of all of them. Where we were kept from running, an answer may be late: then a look does not count
        that found none, and the next one has more time."""
        seen, busy = 0, False
        while seen < (1 if passes else QUIET):
            patient, before_s = busy, withheld_s()
            found = await self.answers(on, LATE_ANSWER_US if patient else ANSWER_US)
            busy = ON_ITS_WAY * (withheld_s() - before_s) * 1e6 > ANSWER_US / 2
            if found and (all(found) if passes else not any(found)):
                seen += QUIET if patient else 0 if busy and not passes else 1
                continue
            seen = 0
            await on.clock.sleep_us(RETRY_US)  # where no link can be looked at, nobody else would go on
        return on.clock.now_us()

    async def look_again(self, on: Injection) -> None:
        _repeated.must_go_on(on)

    async def heal(self, on: Injection) -> None:
        await _repeated.end(on)
        if on.kept:
            await restore(on, self.ways(on), cut)

    def within_s(self, on: Injection) -> float:
        return 3 * (self.down_ms + self.up_ms) / 1000 + 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FlapControl(Flap):
    """those to and from all other nodes, or one of them"""

    mode = "control"
    least_nodes = 2
    claims = (NETWORK, PROCESS)
    needs = (PEERS,)

    peer: int = peer_parameter()

    def wrong_at(self, at: Placement) -> Wrong | None:
        return Flap.wrong_at(self, at) or wrong_peer(self.peer, at)

    def ways(self, on: Injection) -> list[Way]:
        opened, accepted = (with_peer(on, pairs, self.peer) for pairs in (outbound(on), inbound(on)))
        return ways_of(opened, accepted, self.direction)

    async def answers(self, on: Injection, limit_us: int) -> list[bool]:
        pairs = await answering(on, with_peer(on, outbound(on) + inbound(on), self.peer))
        return [trip is not None for trip in (await round_trips(on, pairs, timeout_us=limit_us)).values()]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlapZooKeeper(Flap):
    """the one to ZooKeeper; see session_flap for one that is measured by the session"""

    mode = "zookeeper"
    ends_session = True
    claims = (PROCESS, SESSION)

    def ways(self, on: Injection) -> list[Way]:
        return ways_to_zookeeper(on, self.direction)

    async def answers(self, on: Injection, limit_us: int) -> list[bool]:
        return [await on.cluster.zookeeper_round_trip_us(on.node, limit_s=limit_us / 1e6) is not None]
