"""flap: a link that comes and goes."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from kcontroller_chaos.faults import Fault, _repeated, parameter
from kcontroller_chaos.faults._links import (
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
)
from kcontroller_chaos.injection import NETWORK, PROCESS, SESSION, Evidence, Injection
from pytest_kcontroller.cluster.capabilities import PEERS

ANSWER_US = 100_000
QUIET = 3
"""So many questions one after the other find no answer while nothing passes: a busy machine is late once."""


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
    down_ms: int = parameter(700, "so long nothing passes", unit="ms", least=600, most=600_000)
    up_ms: int = parameter(700, "so long everything does, in between", unit="ms", least=300, most=600_000)

    @abstractmethod
    def ways(self, on: Injection) -> list[Way]:
        """Raises EnvironmentFailure: there are none."""

    @abstractmethod
    async def answers(self, on: Injection) -> list[bool]:
        """Of each link that can be looked at, whether a question of ours on it is answered now."""

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
        down_us = await self._silent(on)
        while not all(await self.answers(on) or [False]):
            await on.clock.sleep_us(RETRY_US)
        up_us = on.clock.now_us()
        return {"down_us": down_us, "up_us": up_us, "again_us": await self._silent(on)}

    async def _silent(self, on: Injection) -> int:
        """When it was, on all of them."""
        quiet = 0
        while quiet < QUIET:
            found = await self.answers(on)
            quiet = quiet + 1 if found and not any(found) else 0
            if any(found):
                await on.clock.sleep_us(RETRY_US)
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
    claims = (NETWORK, PROCESS)
    needs = (PEERS,)

    peer: int = peer_parameter()

    def ways(self, on: Injection) -> list[Way]:
        opened, accepted = (with_peer(on, pairs, self.peer) for pairs in (outbound(on), inbound(on)))
        return ways_of(opened, accepted, self.direction)

    async def answers(self, on: Injection) -> list[bool]:
        pairs = await answering(on, with_peer(on, outbound(on) + inbound(on), self.peer))
        return [trip is not None for trip in (await round_trips(on, pairs, timeout_us=ANSWER_US)).values()]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlapZooKeeper(Flap):
    """the one to ZooKeeper; see session_flap for one that is measured by the session"""

    mode = "zookeeper"
    ends_session = True
    claims = (PROCESS, SESSION)

    def ways(self, on: Injection) -> list[Way]:
        return ways_to_zookeeper(on, self.direction)

    async def answers(self, on: Injection) -> list[bool]:
        return [await on.cluster.zookeeper_round_trip_us(on.node, limit_s=ANSWER_US / 1e6) is not None]
