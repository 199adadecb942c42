"""partition: nothing passes, and nobody is told."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from kcontroller_chaos.faults import Fault, _shapes
from kcontroller_chaos.faults._links import (
    Pair,
    Way,
    cut,
    direction_parameter,
    impair,
    inbound,
    must_have,
    must_still_have,
    no_zookeeper,
    outbound,
    peer_parameter,
    restore,
    silent,
    ways_of,
    ways_to_zookeeper,
    with_peer,
    wrong_peer,
)
from kcontroller_chaos.feed import writer_is
from kcontroller_chaos.injection import NETWORK, PROCESS, SESSION, Evidence, Injection, Placement, Wrong
from pytest_kcontroller.cluster.capabilities import PEERS, REPORTS, Capability
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.history import ZkState


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition(Fault):
    """Nothing passes any more between a node and others, in both directions or one; connections stay open.

    The claims keep others from healing a link that this one has cut.
    """

    kind = "partition"
    example = """\
[[faults]]
kind = "partition"
mode = "control"
target = "controller"
at_s = 2
duration_s = 3
"""
    claims: ClassVar[tuple[str, ...]] = (PROCESS, NETWORK)
    needs: ClassVar[tuple[Capability[object], ...]] = (PEERS,)
    to_nodes: ClassVar[bool] = False
    to_zookeeper: ClassVar[bool] = False

    direction: str = direction_parameter()

    def opened(self, on: Injection) -> list[Pair]:
        """Of the links between nodes those that the node's side has opened."""
        return outbound(on) if self.to_nodes else []

    def accepted(self, on: Injection) -> list[Pair]:
        """Those that the other side has opened."""
        return inbound(on) if self.to_nodes else []

    def ways(self, on: Injection) -> list[Way]:
        """Raises EnvironmentFailure: there are none that it is about."""
        opened, accepted = self.opened(on), self.accepted(on)
        if not self.to_zookeeper or self.to_nodes:
            must_have(opened + accepted)
        return ways_of(opened, accepted, self.direction) + (
            ways_to_zookeeper(on, self.direction) if self.to_zookeeper else []
        )

    async def inject(self, on: Injection) -> None:
        on.kept += self.ways(on)
        await impair(on, on.kept, cut)

    async def observe(self, on: Injection) -> Evidence:
        """Requests of ours over the same links find no answer. ZooKeeper: the node itself says that it does not
        hear it; where nodes say nothing, a question of ours on the way that the node's own take finds no answer."""
        evidence: Evidence = {}
        if pairs := self.opened(on) + self.accepted(on):
            evidence["silent_links"] = await silent(on, pairs)
        if not self.to_zookeeper:
            return evidence
        if not on.cluster.has(REPORTS):
            return evidence | await no_zookeeper(on)
        event = await on.feed.wait(
            lambda e: e["kind"] == ZkState.kind and e["state"] != "connected" and writer_is(e["writer"], on.node),
            since=on.since,
        )
        return evidence | {
            "writer": event["writer"],
            "seq": event["seq"],
            "state": event["state"],
            "t_us": event["t_us"],
        }

    async def look_again(self, on: Injection) -> None:
        await must_still_have(on, self.ways(on), cut)

    async def heal(self, on: Injection) -> None:
        await restore(on, on.kept, cut)

    def within_s(self, on: Injection) -> float:
        return 2 * on.cluster.session_timeout_ms / 1000 + 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Control(Partition):
    """between the node and all other nodes, or one of them; ZooKeeper hears of nothing"""

    mode = "control"
    also_named = ("one",)
    least_nodes = 2

    peer: int = peer_parameter()

    def wrong_at(self, at: Placement) -> Wrong | None:
        return Partition.wrong_at(self, at) or wrong_peer(self.peer, at)

    def opened(self, on: Injection) -> list[Pair]:
        return with_peer(on, outbound(on), self.peer)

    def accepted(self, on: Injection) -> list[Pair]:
        return with_peer(on, inbound(on), self.peer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outbound(Partition):
    """on the connections that the node makes to others: it can be reached and reaches nobody"""

    mode = "outbound"
    least_nodes = 2

    def opened(self, on: Injection) -> list[Pair]:
        return outbound(on)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbound(Partition):
    """on the connections that others make to the node: it reaches everybody and cannot be reached"""

    mode = "inbound"
    least_nodes = 2

    def accepted(self, on: Injection) -> list[Pair]:
        return inbound(on)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeper(Partition):
    """between the node and ZooKeeper; shorter than the session time-out, its session lives on"""

    mode = "zookeeper"
    also_named = ("from-zookeeper",)
    needs = ()
    to_zookeeper = ends_session = True
    claims = (PROCESS, SESSION)


@dataclass(frozen=True, slots=True, kw_only=True)
class All(Partition):
    """between the node and everybody"""

    mode = "all"
    least_nodes = 2
    to_nodes = to_zookeeper = ends_session = True
    claims = (PROCESS, SESSION, NETWORK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape(Partition):
    """Between nodes that are on two sides, in both directions: a mode's class says who is where."""

    claims = (PROCESS, NETWORK)

    @abstractmethod
    def split(self, on: Injection) -> _shapes.Split:
        """Who does not hear whom."""

    def opened(self, on: Injection) -> list[Pair]:
        if not (apart := self.split(on)):
            nodes = len(on.others) + 1
            raise EnvironmentFailure(f"{nodes} nodes are too few to be parted in the shape {self.mode}")
        return [(str(one), str(other)) for one, other in apart]

    def accepted(self, on: Injection) -> list[Pair]:
        return [(other, one) for one, other in self.opened(on)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Halves(Shape):
    """between two halves; the node is in the first, the smaller one of an odd number"""

    mode = "halves"
    least_nodes = 2

    def split(self, on: Injection) -> _shapes.Split:
        return _shapes.halves(on.node, on.others)


@dataclass(frozen=True, slots=True, kw_only=True)
class Majority(Shape):
    """between the smallest majority, which the node is in, and the rest; of three nodes or more"""

    mode = "majority"
    least_nodes = 3

    def split(self, on: Injection) -> _shapes.Split:
        return _shapes.majority(on.node, on.others)


@dataclass(frozen=True, slots=True, kw_only=True)
class Minority(Shape):
    """between the largest minority, which the node is in, and the majority"""

    mode = "minority"
    least_nodes = 3

    def split(self, on: Injection) -> _shapes.Split:
        return _shapes.minority(on.node, on.others)


@dataclass(frozen=True, slots=True, kw_only=True)
class MajoritiesRing(Shape):
    """so that every node hears a majority, and no two the same one: its nearest on a ring; of four nodes or more"""

    mode = "majorities-ring"
    least_nodes = 4

    def split(self, on: Injection) -> _shapes.Split:
        return _shapes.majorities_ring(on.node, on.others)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge(Shape):
    """between two halves of the others, while the node hears both; of three nodes or more"""

    mode = "bridge"
    least_nodes = 3

    def split(self, on: Injection) -> _shapes.Split:
        return _shapes.bridge(on.node, on.others)
