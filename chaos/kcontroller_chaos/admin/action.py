"""What an admin action is: its name, its parameters, how it is carried out, and how one is drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import Any, ClassVar, Self

from pytest_kcontroller.cluster.capabilities import BROKERS, Capability
from pytest_kcontroller.cluster.contract import Cluster
from pytest_kcontroller.cluster.tree import Tree
from pytest_kcontroller.model.history import HistoryEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What is known of the cluster when the generator draws an action: by the plan, since nothing runs yet."""

    number: int
    """Of the drawn action in its schedule: names that are made of it are new."""
    nodes: int
    up: int
    """So many of them are not down all the time."""
    topics: Mapping[str, int] = field(default_factory=dict)
    """Those that the drawn actions have made so far and not deleted -> number of partitions."""
    deleted: tuple[str, ...] = ()
    """Names of those that they have deleted, and not made again."""
    standing: Mapping[str, int] = field(default_factory=dict)
    """The same for those of the campaign file, which no drawn action deletes."""
    before: Sequence[AdminAction] = ()
    """The actions that have been drawn so far, in order."""

    @property
    def all_topics(self) -> Mapping[str, int]:
        return {**self.standing, **self.topics}


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminAction(ABC):
    """One action as it stands in a campaign file. Its fields are its parameters (see `parameter`): str, int, float, bool, or
    tuple[int, ...] for ids of nodes. The first paragraph of its docstring says what it does.

    `op`, `action` and `error` are no names of parameters: the history has them besides.
    """

    kind: ClassVar[str]
    """Its name in campaign files, and of the method of `kcluster`: small letters and underscores."""

    needs: ClassVar[tuple[Capability[object], ...]] = (BROKERS,)
    """As of a fault."""
    nodes_added: ClassVar[int] = 0
    """So many nodes more there are when it has been done."""

    @abstractmethod
    async def carry_out(self, cluster: Cluster) -> Sequence[HistoryEvent]:
        """Asks for it as Kafka's tools do, and does not wait until it has come about. Returns what the history records
        besides (`admin.ok` with the parameters is recorded by whoever plays it).

        What ZooKeeper is asked goes through `cluster.write`. Raises UsageError: it is refused, and nothing was written
        (`admin.fail`); any other KControllerError: nobody knows whether it was done (`admin.info`).
        """

    def undone(self, tree: Tree) -> str | None:
        """Why it has not come about yet, by what ZooKeeper holds, and who is waited for; None: it has."""
        return None

    def wrong_on(self, nodes: int) -> tuple[str, str, str] | None:
        """What of it can never be done on so many nodes (ids from 0): the parameter, a sentence, a hint."""
        return None

    def topics_after(self, topics: Mapping[str, int]) -> dict[str, int]:
        """The topics (-> number of partitions) that there are if it is done when there are these."""
        return dict(topics)

    @classmethod
    def possible(cls, at: Situation) -> bool:
        """Whether there is something that it could be drawn for."""
        return True

    @classmethod
    @abstractmethod
    def drawn(cls, at: Situation, draw: Random) -> Self:
        """One that the generator makes, when it is `possible`."""

    @property
    def parameters(self) -> dict[str, Any]:
        """As they are recorded."""
        return asdict(self)
