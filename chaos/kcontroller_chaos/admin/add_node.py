"""add_node: a further node joins the running cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import Self

from kcontroller_chaos.admin.action import AdminAction, Situation
from pytest_kcontroller.cluster.contract import Cluster
from pytest_kcontroller.model.history import HistoryEvent

MOST_DRAWN = 2
"""So many join a cluster at most that a generator plays with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddNode(AdminAction):
    """starts one more node, under the next id; refused while a node is paused, which could not be told of it"""

    kind = "add_node"
    needs = ()
    nodes_added = 1

    async def carry_out(self, cluster: Cluster) -> Sequence[HistoryEvent]:
        await cluster.add_node()
        return ()

    @classmethod
    def possible(cls, at: Situation) -> bool:
        return sum(isinstance(action, cls) for action in at.before) < MOST_DRAWN

    @classmethod
    def drawn(cls, at: Situation, draw: Random) -> Self:
        return cls()
