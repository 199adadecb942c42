"""partition: nothing passes any more between a node and others, in both directions or one; connections stay open."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from kcontroller_chaos.faults import Fault
from kcontroller_chaos.faults._links import CONTROL, Pair, inbound, must_have, outbound, silent
from kcontroller_chaos.feed import writer_is
from kcontroller_chaos.injection import NETWORK, PROCESS, SESSION, Evidence, Injection
from pytest_kcontroller.cluster.contract import ZOOKEEPER


class Partition:
    """Cuts what the mode names. The claims keep others from healing a link that this one has cut."""

    may_miss = False

    def __init__(self, mode: str) -> None:
        self._mode = mode
        self._zookeeper, self._nodes = mode in ("zookeeper", "all"), mode != "zookeeper"
        self.ends_session = self._zookeeper
        self.claims = (PROCESS, *([SESSION] if self._zookeeper else []), *([NETWORK] if self._nodes else []))

    def _pairs(self, on: Injection) -> list[Pair]:
        if not self._nodes:
            return []
        there = outbound(on) if self._mode != "inbound" else []
        return there + (inbound(on) if self._mode != "outbound" else [])

    async def inject(self, on: Injection) -> None:
        pairs = self._pairs(on)
        for source, target in must_have(pairs) if self._nodes else pairs:
            await on.cluster.cut(source, target, CONTROL)
        if self._zookeeper:
            await on.cluster.cut(str(on.node), ZOOKEEPER, "zk")

    async def observe(self, on: Injection) -> Evidence:
        """Requests of ours over the same links find no answer; the node itself says that it does not hear ZooKeeper."""
        evidence: Evidence = {}
        if self._nodes:
            evidence["silent_links"] = await silent(on, self._pairs(on))
        if not self._zookeeper:
            return evidence
        event = await on.feed.wait(
            lambda e: e["kind"] == "zk.state" and e["state"] != "connected" and writer_is(e["writer"], on.node),
            since=on.since,
        )
        return evidence | {
            "writer": event["writer"],
            "seq": event["seq"],
            "state": event["state"],
            "t_us": event["t_us"],
        }

    async def heal(self, on: Injection) -> None:
        for source, target in self._pairs(on):
            await on.cluster.heal(source, target, CONTROL)
        if self._zookeeper:
            await on.cluster.heal(str(on.node), ZOOKEEPER, "zk")

    def within_s(self, on: Injection) -> float:
        return 2 * on.cluster.session_timeout_ms / 1000 + 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFault(Fault):
    kind: ClassVar[str] = "partition"
    modes: ClassVar[tuple[str, ...]] = ("control", "outbound", "inbound", "zookeeper", "all")
    mode_help: ClassVar = {
        "control": "between the node and all other nodes; ZooKeeper hears of nothing",
        "outbound": "on the connections that the node makes to others: it can be reached and reaches nobody",
        "inbound": "on the connections that others make to the node: it reaches everybody and cannot be reached",
        "zookeeper": "between the node and ZooKeeper; shorter than the session time-out, its session lives on",
        "all": "between the node and everybody",
    }
    example: ClassVar[str] = """\
[[faults]]
kind = "partition"
mode = "control"
target = "controller"
at_s = 2
duration_s = 3
"""
    work: ClassVar = {mode: partial(Partition, mode) for mode in modes}
