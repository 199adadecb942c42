"""add_partitions: a topic gets more partitions, asked for as by Kafka's tools that write znodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import Self

from kcontroller_chaos.admin.action import AdminAction, Situation
from kcontroller_chaos.faults import parameter
from pytest_kcontroller.cluster.contract import Cluster
from pytest_kcontroller.cluster.tree import Tree
from pytest_kcontroller.model.history import HistoryEvent

MOST_ADDED = 3
"""Of a drawn one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitions(AdminAction):
    """adds partitions to a topic, with as many replicas as its first one has"""

    kind = "add_partitions"

    topic: str = parameter(help="its name")
    partitions: int = parameter(1, "so many more", least=1, most=10_000)

    async def carry_out(self, cluster: Cluster) -> Sequence[HistoryEvent]:
        bad_answer = await cluster.add_partitions(self.topic, partitions=self.partitions)
        return () if bad_answer is None else (bad_answer,)

    def undone(self, tree: Tree) -> str | None:
        return tree.leaderless(self.topic)

    def topics_after(self, topics: Mapping[str, int]) -> dict[str, int]:
        return {name: count + self.partitions * (name == self.topic) for name, count in topics.items()}

    @classmethod
    def possible(cls, at: Situation) -> bool:
        return bool(at.all_topics)

    @classmethod
    def drawn(cls, at: Situation, draw: Random) -> Self:
        return cls(topic=draw.choice(sorted(at.all_topics)), partitions=draw.randint(1, MOST_ADDED))
