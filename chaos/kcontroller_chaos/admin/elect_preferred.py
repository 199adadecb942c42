"""elect_preferred: the first replicas shall lead again, asked for as by Kafka's tools that write znodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import Self

from kcontroller_chaos.admin.action import AdminAction, Situation
from kcontroller_chaos.faults import parameter
from pytest_kcontroller.cluster.contract import Cluster
from pytest_kcontroller.cluster.elections import ask_for_preferred, meant
from pytest_kcontroller.cluster.tree import Tree
from pytest_kcontroller.model.history import HistoryEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectPreferred(AdminAction):
    """gives partitions back to their first replicas, where those are live and in sync"""

    kind = "elect_preferred"

    topic: str = parameter("", "of this topic; empty: of all topics that there are then")

    async def carry_out(self, cluster: Cluster) -> Sequence[HistoryEvent]:
        partitions = meant(await cluster.tree(), self.topic)
        await cluster.write("a preferred election was asked for", partial(ask_for_preferred, partitions=partitions))
        return ()

    def undone(self, tree: Tree) -> str | None:
        return tree.unelected()

    @classmethod
    def drawn(cls, at: Situation, draw: Random) -> Self:
        return cls(topic=draw.choice(["", *sorted(at.all_topics)]))
