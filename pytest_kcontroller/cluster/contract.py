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
from pytest_kcontroller.model.toxics import STREAMS, Direction, Toxic
from pytest_kcontroller.runtime.ports import Transport
from pytest_kcontroller.wire.message import Request, Response
from pytest_kcontroller.zookeeper.session import ZkSession

ZOOKEEPER = "zookeeper"
"""The name of ZooKeeper as an end of a link; a node's name is its id in decimal."""

CLIENT = "client"
"""The name of whoever is outside of the cluster and talks to its nodes, as the source of a link."""

REQUEST_S = 10.0
"""A controller answers an admin's request within this time, unscaled, or nobody knows what has become of it."""

T = TypeVar("T")
R = TypeVar("R", bound=Response)


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

    async def add_node(self) -> int:
        """A further node joins the running cluster, under the next id; returns when it is registered.

        Raises UsageError if a node is paused, which could not be told of it, or if there are too many; StartError."""
        ...

    @property
    def fallen(self) -> tuple[int, ...]:
        """Nodes that have ended by themselves, where it is known that nobody has ended them."""
        ...

    @property
    def ready_s(self) -> float:
        """A program of a user's is ready within so long after its start, unscaled; 0: the nodes are ours."""
        ...

    @property
    def stop_s(self) -> float:
        """A node that gets SIGTERM has ended within so long, unscaled, whatever the controller does: by its `config`."""
        ...

    @property
    def checkpoint_s(self) -> float:
        """A broker writes to its disk at least so often, unscaled: by its `config`."""
        ...

    @property
    def log_dirs(self) -> int:
        """How many log directories each broker has."""
        ...

    @property
    def stop_statuses(self) -> tuple[int, ...]:
        """How a node that gets SIGTERM ends; empty: anyhow."""
        ...

    @property
    def refused_statuses(self) -> tuple[int, ...]:
        """How a node may end that starts while the registration of its predecessor is there; empty: it waits."""
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

    async def launch(self, node: int) -> None:
        """Starts the process of a node that has ended, on its directory; waits for nothing else."""
        ...

    async def wait_ready(self, node: int) -> None:
        """Returns when a node that was launched is registered. Raises StartError: it is not in time, or has ended."""
        ...

    async def restart(self, node: int) -> None:
        """Starts a node that has ended, on its directory; returns when it is registered. Raises StartError."""
        ...

    async def unready(self, node: int) -> str | None:
        """Why a node that runs is not ready, as `restart` waits for it; None: it is."""
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
    """What is in force on a link now, by whoever it was set."""

    toxics: tuple[Toxic, ...]

    @property
    def cut(self) -> bool:
        """In both directions."""
        return {toxic.stream for toxic in self.toxics if toxic.is_cut} >= set(STREAMS)

    def __str__(self) -> str:
        if self.cut:
            return "passes nothing"
        return f"is {' and '.join(map(str, self.toxics))}" if self.toxics else "passes everything"


class Links(Protocol):
    """The ways from node to node and from each node to ZooKeeper: (source, target, plane).

    Where clients can connect (capabilities.CLIENTS), theirs to each node are links too. What can be done to the bytes of
    each direction is toxiproxy's (model/toxics.py); on a link without bytes (capabilities.ZOOKEEPER_BYTES) they can be cut,
    late, or break the connection.
    """

    async def impair(self, source: str, target: str, plane: str, toxic: Toxic) -> None:
        """In the toxic's direction; in the place of another one of its type."""
        ...

    async def restore(self, source: str, target: str, plane: str, toxic: Toxic) -> None:
        """Takes it back, if it is there."""
        ...

    async def cut(self, source: str, target: str, plane: str, *, direction: Direction = "both") -> None:
        """A black hole: connections stay open, nothing passes."""
        ...

    async def slow(
        self, source: str, target: str, plane: str, *, delay_ms: int, jitter_ms: int = 0, direction: Direction = "both"
    ) -> None:
        """What is said on this link is late by so much, more or less `jitter_ms`; 0: not any more."""
        ...

    async def heal(self, source: str, target: str, plane: str) -> None:
        """Takes everything back."""
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
    connection: int = field(compare=False)
    """Which one that is: later ones have greater numbers. It is the same session on another one."""


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

    async def expire_session_server(self, node: int, session_id: int | None = None) -> int:
        """A second client resumes a session of the node's, the one granted last if none is named, and closes it; returns its
        id."""
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

    async def add_partitions(
        self, name: str, *, partitions: int = 1, assignment: Mapping[int, Sequence[int]] | None = None
    ) -> StrategyBadAnswer | None:
        """So many more, or those of `assignment`, numbered from the next one on; each with as many replicas as partition 0.

        As create_topic. Raises UsageError if there is no such topic, or if it is being deleted or reassigned."""
        ...

    async def write(self, what: str, work: Callable[[ZkSession], Awaitable[T]]) -> T:
        """What an admin tool writes, in the harness's session. `what` was done, in the past tense: of an interruption.

        Raises what `work` raises; EnvironmentFailure if ZooKeeper did not answer for sure."""
        ...

    async def ask_controller(self, message: Request[R]) -> R:
        """What an admin client asks, over the controller's own link to itself, and what it is answered.

        Raises UsageError if there is no controller, so that nobody was asked; EnvironmentFailure if it does not answer."""
        ...

    async def tree(self) -> Tree: ...
    async def leader(self, partition: TopicPartition) -> int | None:
        """As its state znode says; None: it has none."""
        ...

    async def controller(self) -> int | None: ...
    async def broker_owner(self, node: int) -> int:
        """The session that owns the node's registration; 0: it is not registered."""
        ...

    async def owner_of(self, path: str) -> int:
        """The session that owns the ephemeral `path`, or whose child of it comes first in a recipe (cluster/owners.py);
        0: there is none."""
        ...

    async def around(self, path: str) -> str:
        """For people: what is below a path or, if it is not there, below the nearest of its parents that is."""
        ...

    def said_otherwise(self, node: int) -> str:
        """For people: what the program that is this node has printed on stdout besides JSON objects; empty: nothing."""
        ...

    async def hear_out(self) -> None:
        """Returns when all that programs have printed by now is in the history. Raises EnvironmentFailure: one prints so
        much that it is not."""
        ...

    async def wait_until(self, what: str, check: Callable[[], Awaitable[str | None]], *, timeout_s: float) -> None:
        """Until `check` gives None; else WaitTimeoutError with what it gave last."""
        ...

    async def wait_for_controller(self, *, other_than: int | None = None, timeout_s: float) -> int: ...
    async def wait_until_known(self, *, timeout_s: float) -> None:
        """Until a controller knows every node that runs."""
        ...

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
