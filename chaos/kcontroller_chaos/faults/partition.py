"""partition: nothing passes, and nobody is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kcontroller_chaos.faults import Fault
from kcontroller_chaos.faults._links import CONTROL, Pair, inbound, must_be_cut, must_have, outbound, silent
from kcontroller_chaos.feed import writer_is
from kcontroller_chaos.injection import NETWORK, PROCESS, SESSION, Evidence, Injection
from pytest_kcontroller.cluster.contract import ZOOKEEPER
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
    to_others: ClassVar[bool] = False
    from_others: ClassVar[bool] = False
    to_zookeeper: ClassVar[bool] = False

    def pairs(self, on: Injection) -> list[Pair]:
        """The links between nodes that are cut."""
        return (outbound(on) if self.to_others else []) + (inbound(on) if self.from_others else [])

    async def inject(self, on: Injection) -> None:
        pairs = self.pairs(on)
        for source, target in must_have(pairs) if self.to_others or self.from_others else pairs:
            await on.cluster.cut(source, target, CONTROL)
        if self.to_zookeeper:
            await on.cluster.cut(str(on.node), ZOOKEEPER, "zk")

    async def observe(self, on: Injection) -> Evidence:
        """Requests of ours over the same links find no answer; the node itself says that it does not hear ZooKeeper."""
        evidence: Evidence = {}
        if pairs := self.pairs(on):
            evidence["silent_links"] = await silent(on, pairs)
        if not self.to_zookeeper:
            return evidence
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
        await must_be_cut(on, self.pairs(on), CONTROL)
        if self.to_zookeeper:
            await must_be_cut(on, [(str(on.node), ZOOKEEPER)], "zk")

    async def heal(self, on: Injection) -> None:
        for source, target in self.pairs(on):
            await on.cluster.heal(source, target, CONTROL)
        if self.to_zookeeper:
            await on.cluster.heal(str(on.node), ZOOKEEPER, "zk")

    def within_s(self, on: Injection) -> float:
        return 2 * on.cluster.session_timeout_ms / 1000 + 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Control(Partition):
    """between the node and all other nodes; ZooKeeper hears of nothing"""

    mode = "control"
    to_others = from_others = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Outbound(Partition):
    """on the connections that the node makes to others: it can be reached and reaches nobody"""

    mode = "outbound"
    to_others = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbound(Partition):
    """on the connections that others make to the node: it reaches everybody and cannot be reached"""

    mode = "inbound"
    from_others = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeper(Partition):
    """between the node and ZooKeeper; shorter than the session time-out, its session lives on"""

    mode = "zookeeper"
    to_zookeeper = ends_session = True
    claims = (PROCESS, SESSION)


@dataclass(frozen=True, slots=True, kw_only=True)
class All(Partition):
    """between the node and everybody"""

    mode = "all"
    to_others = from_others = to_zookeeper = ends_session = True
    claims = (PROCESS, SESSION, NETWORK)
