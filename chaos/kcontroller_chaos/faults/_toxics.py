"""What the faults share that put one toxic on a node's links: which links, how it is put there and taken back, who looks.

A kind says which toxic it is and how a connection of ours over such a link shows it; its two modes are on which links.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from kcontroller_chaos.faults import Fault
from kcontroller_chaos.faults._links import (
    RETRY_US,
    Pair,
    Way,
    answering,
    direction_parameter,
    impair,
    inbound,
    must_still_have,
    outbound,
    peer_parameter,
    restore,
    ways_of,
    ways_to_zookeeper,
    with_peer,
    wrong_peer,
)
from kcontroller_chaos.faults._probes import Line
from kcontroller_chaos.injection import NETWORK, PROCESS, SESSION, Evidence, Injection, Placement, Wrong
from pytest_kcontroller.cluster.capabilities import PEERS, ZOOKEEPER_BYTES, Capability
from pytest_kcontroller.model.toxics import Stream, Toxic
from pytest_kcontroller.runtime.nursery import Nursery


@dataclass(frozen=True, slots=True, kw_only=True)
class ToxicFault(Fault):
    """One toxic on links of a node, in both directions or one."""

    rounds: ClassVar[int] = 2
    """So many times one after the other it must be seen: a busy machine is slow once."""

    direction: str = direction_parameter()

    @abstractmethod
    def toxic(self, stream: Stream) -> Toxic:
        """What is put on this direction of a link."""

    @abstractmethod
    async def look(self, line: Line) -> Evidence | None:
        """What a connection of ours over the line shows, if it shows the toxic. Empty: it cannot be seen there."""

    @abstractmethod
    def ways(self, on: Injection) -> list[Way]:
        """Raises EnvironmentFailure: there are none."""

    async def looked_at(self, on: Injection, pairs: list[Pair]) -> list[Pair]:
        """Of these links those whose silence would have no other reason."""
        return pairs

    async def inject(self, on: Injection) -> None:
        on.kept += self.ways(on)
        await impair(on, on.kept, self.toxic)

    async def observe(self, on: Injection) -> Evidence:
        """Connections of ours over the same links show it, every one of them: each on its own, since other faults may end a
        node meanwhile, whose links are then looked at again, or not any more."""
        ways = self.ways(on)
        pairs = list(dict.fromkeys(way.pair for way in ways))
        shown: dict[Pair, Evidence] = {}
        standing: list[Pair] = []
        async with Nursery() as looks:
            for pair in pairs:
                line = Line(on, pair, tuple(way.stream for way in ways if way.pair == pair))
                looks.start(self._look_until_seen(line, shown), name=f"look at {pair}")
            while not (standing := await self.looked_at(on, pairs)) or not (
                any(shown.values()) and all(pair in shown for pair in standing)
            ):
                await on.clock.sleep_us(RETRY_US)
        return {"links": len(standing), **next(seen for seen in shown.values() if seen)}

    async def _look_until_seen(self, line: Line, shown: dict[Pair, Evidence]) -> None:
        """One link, whatever the others need."""
        times = 0
        while True:
            if await self.looked_at(line.on, [line.pair]):
                seen = await self.look(line)
                times = 0 if seen is None else times + 1
                if seen is not None and times >= self.rounds:
                    shown[line.pair] = seen
                    return
                if seen is not None:
                    continue
            await line.on.clock.sleep_us(RETRY_US)

    async def look_again(self, on: Injection) -> None:
        await must_still_have(on, self.ways(on), self.toxic)

    async def heal(self, on: Injection) -> None:
        await restore(on, on.kept, self.toxic)


@dataclass(frozen=True, kw_only=True)  # slots of its own would not go together with those of a kind
class OnControl(ToxicFault):
    """on its connections to the other nodes and theirs to it"""

    mode = "control"
    least_nodes = 2
    claims = (NETWORK, PROCESS)
    needs: ClassVar[tuple[Capability[object], ...]] = (PEERS,)

    peer: int = peer_parameter()

    def wrong_at(self, at: Placement) -> Wrong | None:
        return ToxicFault.wrong_at(self, at) or wrong_peer(self.peer, at)

    def ways(self, on: Injection) -> list[Way]:
        opened, accepted = (with_peer(on, pairs, self.peer) for pairs in (outbound(on), inbound(on)))
        return ways_of(opened, accepted, self.direction)

    async def looked_at(self, on: Injection, pairs: list[Pair]) -> list[Pair]:
        return await answering(on, pairs)


@dataclass(frozen=True, kw_only=True)
class OnZooKeeper(ToxicFault):
    """on its connection to ZooKeeper"""

    mode = "zookeeper"
    ends_session = True
    claims = (PROCESS, SESSION)
    needs: ClassVar[tuple[Capability[object], ...]] = (ZOOKEEPER_BYTES,)

    def ways(self, on: Injection) -> list[Way]:
        return ways_to_zookeeper(on, self.direction)
