"""The contract of a backend: what engine, faults and fixtures may ask of a cluster, however it is made real.

What every cluster has, in parts: Nodes, Processes, Links, Sessions, and what ZooKeeper holds (Coordination). None of it
needs a word of a node, so that a system can be driven that is not ours. What a cluster may have besides is behind
`capability`: Holds, CrashPoints, Reports (capabilities.py).

Waits are in seconds, already scaled by the caller; every method raises UsageError if its node is unknown.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from pytest_kcontroller.cluster.capabilities import Capability
from pytest_kcontroller.cluster.tree import Tree
from pytest_kcontroller.model.cluster import Address, TopicPartition
from pytest_kcontroller.model.history import StrategyBadAnswer
from pytest_kcontroller.runtime.ports import Transport
from pytest_kcontroller.zookeeper.session import ZkSession

ZOOKEEPER = "zookeeper"
"""The name of ZooKeeper as an end of a link; a node's name is its id in decimal."""

T = TypeVar("T")


class Nodes(Protocol):
    """Which there are, and how each starts and ends."""

    @property
    def nodes(self) -> tuple[int, ...]:
        """Ids of all nodes, running or not."""
        ...

    @property
    def running(self) -> tuple[int, ...]:
        """Ids of the nodes whose process lives (also a stopped one: SIGSTOP)."""
        ...

    @property
    def stop_s(self) -> float:
        """A node that gets SIGTERM has ended within so long, unscaled, whatever the controller does: by its `config`."""
        ...

    async def kill(self, node: int) -> int:
        """SIGKILL; returns the observed exit status (-9)."""
        ...

    async def terminate(self, node: int) -> None:
        """SIGTERM; returns at once."""
        ...

    async def stop_node(self, node: int) -> int:
        """SIGTERM: a controlled shutdown, then the end; returns the observed exit status."""
        ...

    async def restart(self, node: int) -> None:
        """Starts a node that has ended, on its directory; returns when it is registered. Raises StartError."""
        ...


class Processes(Protocol):
    """What can be done to a node's process besides."""

    async def pause(self, node: int) -> None: ...
    async def resume(self, node: int) -> None: ...
    def process_state(self, node: int) -> str | None:
        """The operating system's letter for the node's process (T: stopped); None: it has ended."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkState:
    """What is in force on a link now, by whoever it was set: as a whole, in both directions."""

    cut: bool
    delay_ms: float

    def __str__(self) -> str:
        if self.cut:
            return "passes nothing"
        return f"is late by {self.delay_ms:g} ms" if self.delay_ms else "passes everything"


class Links(Protocol):
    """The ways from node to node and from each node to ZooKeeper: (source, target, plane)."""

    async def cut(self, source: str, target: str, plane: str) -> None:
        """A black hole in both directions: connections stay open, nothing passes."""
        ...

    async def heal(self, source: str, target: str, plane: str) -> None: ...
    async def slow(self, source: str, target: str, plane: str, *, delay_ms: int) -> None:
        """What is said on this link is late by so much, in both directions; 0: not any more."""
        ...

    async def link_state(self, source: str, target: str, plane: str) -> LinkState:
        """As whoever carries the link says it, not as it was asked for here."""
        ...

    async def reset(self, source: str, target: str, plane: str) -> None:
        """Its open connections break for both ends; new ones can be made."""
        ...

    def route(self, source: str, target: str) -> tuple[Transport, Address]:
        """How to connect to node `target` over the link (plane control) that node `source` uses, with its faults."""
        ...

    async def zookeeper_round_trip_us(self, node: int, *, limit_s: float) -> int | None:
        """How long a question to ZooKeeper and its answer take on the node's link to it; None: no answer in `limit_s`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSession:
    """A session of a node as ZooKeeper granted it, read where the answer passed the node's link to it."""

    session_id: int
    password: bytes = field(repr=False)
    timeout_ms: int
    """As negotiated."""
    connected: bool
    """Whether the connection is open on which ZooKeeper granted or resumed it."""


class Sessions(Protocol):
    """The nodes' ZooKeeper sessions, as they are seen on their links."""

    @property
    def session_timeout_ms(self) -> int:
        """What nodes ask for."""
        ...

    def session(self, node: int) -> NodeSession | None:
        """Of a node that runs: the one that ZooKeeper granted or resumed last. None: it has none, or has been refused it."""
        ...

    def sessions(self, node: int) -> tuple[NodeSession, ...]:
        """All that were granted to a node, of earlier processes too, oldest first."""
        ...

    async def expire_session_server(self, node: int) -> int:
        """A second client resumes the node's session and closes it; returns the session's id."""
        ...


class Coordination(Protocol):
    """What ZooKeeper holds, waits for it, and the topics that are written into it."""

    @property
    def admin(self) -> ZkSession:
        """A session straight to ZooKeeper: no fault of a link hits it."""
        ...

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int = 1,
        replication_factor: int = 1,
        assignment: Mapping[int, Sequence[int]] | None = None,
        topic_id: bool = True,
    ) -> StrategyBadAnswer | None:
        """As Kafka's tools do; without `topic_id` as those before Kafka 2.8 did, so that the controller gives it an id.

        The event, to be recorded, says that the strategy's answer could not be used, and the stock one decided. Raises
        AssignmentError if a strategy refuses, UsageError if the topic exists."""
        ...

    async def tree(self) -> Tree: ...
    async def leader(self, partition: TopicPartition) -> int | None:
        """As its state znode says; None: it has none."""
        ...

    async def controller(self) -> int | None: ...
    async def broker_owner(self, node: int) -> int:
        """The session that owns the node's registration; 0: it is not registered."""
        ...

    async def wait_until(self, what: str, check: Callable[[], Awaitable[str | None]], *, timeout_s: float) -> None:
        """Until `check` gives None; else WaitTimeoutError with what it gave last."""
        ...

    async def wait_for_controller(self, *, other_than: int | None = None, timeout_s: float) -> int: ...
    async def wait_until_converged(self, *, timeout_s: float) -> None: ...


class Cluster(Nodes, Processes, Links, Sessions, Coordination, Protocol):
    """What every backend has."""

    def capability(self, wanted: Capability[T]) -> T:
        """Raises NotOnThisBackend. Campaigns are checked for it before anything starts (Campaign.needs)."""
        ...

    def has(self, wanted: Capability[object]) -> bool: ...
    async def stop(self) -> None:
        """Ends everything. Idempotent."""
        ...
