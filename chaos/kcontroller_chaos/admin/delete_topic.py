"""delete_topic: a topic is marked for deletion, which is the controller's business from then on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import Self

from kcontroller_chaos.admin.action import AdminAction, Situation
from kcontroller_chaos.faults import parameter
from pytest_kcontroller.cluster.contract import Cluster
from pytest_kcontroller.cluster.topics import mark_deleted
from pytest_kcontroller.cluster.tree import Tree
from pytest_kcontroller.model.history import HistoryEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopic(AdminAction):
    """marks a topic for deletion; the controller deletes it once all its replicas live"""

    kind = "delete_topic"

    topic: str = parameter(help="its name")

    async def carry_out(self, cluster: Cluster) -> Sequence[HistoryEvent]:
        what = f"the topic {self.topic!r} was marked for deletion"
        await cluster.write(what, partial(mark_deleted, name=self.topic))
        return ()

    def undone(self, tree: Tree) -> str | None:
        return tree.undeleted(self.topic)

    def topics_after(self, topics: Mapping[str, int]) -> dict[str, int]:
        return {name: count for name, count in topics.items() if name != self.topic}

    @classmethod
    def possible(cls, at: Situation) -> bool:
        return bool(at.topics)

    @classmethod
    def drawn(cls, at: Situation, draw: Random) -> Self:
        return cls(topic=draw.choice(sorted(at.topics)))
