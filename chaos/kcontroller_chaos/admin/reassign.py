"""reassign: partitions get other replicas. cancel_reassignment: they keep those that they had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import Self

from kcontroller_chaos.admin.action import AdminAction, Situation
from kcontroller_chaos.faults import parameter
from pytest_kcontroller.cluster.contract import Cluster
from pytest_kcontroller.cluster.reassignments import (
    check_answer,
    origins,
    partitions_of,
    request_of,
    request_reassignment,
    why_no_replicas,
)
from pytest_kcontroller.cluster.tree import Tree
from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.model.history import HistoryEvent

MOST_REPLICAS = 3
"""Of a drawn one."""
WHOLE_TOPIC, AGAIN, BY_REQUEST = 0.4, 0.4, 0.4
"""So many of the drawn ones are of all partitions of a topic; of a partition that one was drawn for before; by request."""
SAME_NODES = 0.5
"""So many of those that are drawn again ask for the same nodes, in another order or fewer: that is done at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfPartitions(AdminAction):
    topic: str = parameter(help="its name")
    partition: int = parameter(0, "the number of one of its partitions", least=0)
    whole_topic: bool = parameter(default=False, help="true: all its partitions at once, whatever `partition` is")
    by_request: bool = parameter(
        default=False, help="true: by a request, as tools since Kafka 2.4; false: by a znode, as those before"
    )

    @property
    def _number(self) -> int | None:
        return None if self.whole_topic else self.partition


@dataclass(frozen=True, slots=True, kw_only=True)
class Reassign(_OfPartitions):
    """asks for other replicas of partitions; the controller moves them, once the new ones are in sync"""

    kind = "reassign"

    replicas: tuple[int, ...] = parameter(help="the nodes that shall have replicas, the preferred leader first")

    async def carry_out(self, cluster: Cluster) -> Sequence[HistoryEvent]:
        if (why := why_no_replicas(self.replicas, cluster.nodes)) is not None:
            raise UsageError(f"replicas of {self.topic!r}: {why}", hint="ids of nodes, each once")
        targets = dict.fromkeys(partitions_of(await cluster.tree(), self.topic, self._number), self.replicas)
        if self.by_request:
            check_answer(await cluster.ask_controller(request_of(targets)))
        else:
            what = f"a reassignment of {self.topic!r} was requested"
            await cluster.write(what, partial(request_reassignment, targets=targets))
        return ()

    def undone(self, tree: Tree) -> str | None:
        tps = partitions_of(tree, self.topic, self._number)
        return next((why for tp in tps if (why := tree.not_reassigned(tp, self.replicas)) is not None), None)

    def wrong_on(self, nodes: int) -> tuple[str, str, str] | None:
        if (why := why_no_replicas(self.replicas, range(nodes))) is None:
            return None
        return "replicas", why, f"ids of nodes, 0 to {nodes - 1}, each once"

    @classmethod
    def possible(cls, at: Situation) -> bool:
        return bool(at.all_topics)

    @classmethod
    def drawn(cls, at: Situation, draw: Random) -> Self:
        """Any nodes, dead ones too: the reassignment waits for them."""
        nodes: Sequence[int] = range(at.nodes)
        before = [action for action in at.before if isinstance(action, cls) and action.topic in at.all_topics]
        if before and draw.random() < AGAIN:
            last = before[-1]
            topic, partition, whole_topic = last.topic, last.partition, last.whole_topic
            nodes = last.replicas if draw.random() < SAME_NODES else nodes
        else:
            topic = draw.choice(sorted(at.all_topics))
            partition, whole_topic = draw.randrange(at.all_topics[topic]), draw.random() < WHOLE_TOPIC
        replicas = tuple(draw.sample(nodes, draw.randint(1, min(MOST_REPLICAS, len(nodes)))))
        by_request = draw.random() < BY_REQUEST
        return cls(topic=topic, partition=partition, whole_topic=whole_topic, replicas=replicas, by_request=by_request)


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelReassignment(_OfPartitions):
    """asks for the replicas that partitions had before they were reassigned; refused if none of them is on its way"""

    kind = "cancel_reassignment"

    async def carry_out(self, cluster: Cluster) -> Sequence[HistoryEvent]:
        tree = await cluster.tree()
        targets = origins(tree, partitions_of(tree, self.topic, self._number))
        if self.by_request:
            check_answer(await cluster.ask_controller(request_of(dict.fromkeys(targets))))
        else:
            what = f"a reassignment of {self.topic!r} was cancelled"
            await cluster.write(what, partial(request_reassignment, targets=targets))
        return ()

    def undone(self, tree: Tree) -> str | None:
        tps = partitions_of(tree, self.topic, self._number)
        return next((why for tp in tps if (why := tree.being_reassigned(tp)) is not None), None)

    @classmethod
    def possible(cls, at: Situation) -> bool:
        return any(isinstance(action, Reassign) and action.topic in at.all_topics for action in at.before)

    @classmethod
    def drawn(cls, at: Situation, draw: Random) -> Self:
        """Most often of the last one, which may not have ended yet."""
        before = [action for action in at.before if isinstance(action, Reassign) and action.topic in at.all_topics]
        chosen = before[-1] if draw.random() < 0.7 else draw.choice(before)
        return cls(
            topic=chosen.topic,
            partition=chosen.partition,
            whole_topic=chosen.whole_topic,
            by_request=draw.random() < BY_REQUEST,
        )
