"""create_topic: a topic by the cluster's assignment strategy."""

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

MOST_PARTITIONS, MOST_REPLICAS = 6, 3
"""Of a drawn one."""
WITHOUT_ID = 0.3
"""So many of the drawn topics come from a tool before Kafka 2.8."""
AGAIN = 0.5
"""So many of them have the name of one that was deleted, once there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopic(AdminAction):
    """makes a topic, its replicas placed by the cluster's assignment strategy"""

    kind = "create_topic"

    topic: str = parameter(help="its name")
    partitions: int = parameter(1, "number of partitions", least=1, most=10_000)
    replication_factor: int = parameter(1, "replicas of each partition", least=1)
    topic_id: bool = parameter(
        default=True, help="false, as by a tool before Kafka 2.8, and the controller gives the topic its id"
    )

    async def carry_out(self, cluster: Cluster) -> Sequence[HistoryEvent]:
        bad_answer = await cluster.create_topic(
            self.topic,
            partitions=self.partitions,
            replication_factor=self.replication_factor,
            topic_id=self.topic_id,
        )
        return () if bad_answer is None else (bad_answer,)

    def undone(self, tree: Tree) -> str | None:
        return tree.leaderless(self.topic)

    def wrong_on(self, nodes: int) -> tuple[str, str, str] | None:
        if self.replication_factor <= nodes:
            return None
        return "replication_factor", f"{self.replication_factor} replicas do not fit on {nodes} nodes", ""

    def topics_after(self, topics: Mapping[str, int]) -> dict[str, int]:
        return {self.topic: self.partitions} | dict(topics)

    @classmethod
    def drawn(cls, at: Situation, draw: Random) -> Self:
        """A topic of more replicas than nodes that are up would be refused for sure."""
        return cls(
            partitions=draw.randint(1, MOST_PARTITIONS),
            replication_factor=draw.randint(1, min(MOST_REPLICAS, at.up)),
            topic_id=draw.random() >= WITHOUT_ID,
            topic=draw.choice(at.deleted) if at.deleted and draw.random() < AGAIN else f"drawn-{at.number}",
        )
