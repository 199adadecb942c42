"""elect_unclean: whoever lives shall lead where nobody does, asked for as by Kafka's admin clients (ElectLeaders)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import Self

from kcontroller_chaos.admin.action import AdminAction, Situation
from kcontroller_chaos.faults import parameter
from pytest_kcontroller.cluster.contract import Cluster
from pytest_kcontroller.cluster.elections import ask_for_unclean, meant
from pytest_kcontroller.model.history import HistoryEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectUnclean(AdminAction):
    """lets any live replica lead where nobody does, in sync or not, whatever the configuration says"""

    kind = "elect_unclean"

    topic: str = parameter("", "of this topic; empty: of all topics that there are then")

    async def carry_out(self, cluster: Cluster) -> Sequence[HistoryEvent]:
        await ask_for_unclean(cluster, meant(await cluster.tree(), self.topic))
        return ()

    @classmethod
    def drawn(cls, at: Situation, draw: Random) -> Self:
        return cls(topic=draw.choice(["", *sorted(at.all_topics)]))
