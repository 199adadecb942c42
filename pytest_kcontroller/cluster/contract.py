"""The contract of a backend: what engine, faults and fixtures may ask of a cluster, however it is made real."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pytest_kcontroller.cluster.tree import Tree
from pytest_kcontroller.model import history
from pytest_kcontroller.model.cluster import Address, TopicPartition
from pytest_kcontroller.model.history import StrategyBadAnswer
from pytest_kcontroller.runtime.ports import Transport
from pytest_kcontroller.zookeeper.session import ZkSession

ZOOKEEPER = "zookeeper"
"""The name of ZooKeeper as an end of a link; a node's name is its id in decimal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """What a node says of itself. `epoch` is the controller epoch that it knows; `session` 0: it has none now."""

    node: int
    active: bool
    epoch: int
    session: int
    phase: str
    password: bytes = b""
    raw: Mapping[str, Any] = field(default_factory=dict)

    def event(self) -> history.NodeStatus:
        """For the history."""
        session = hex(self.session) if self.session else None
        return history.NodeStatus(
            node=self.node, active=self.active, epoch=self.epoch, session=session, phase=self.phase
        )


class Cluster(Protocol):
    """Waits are in seconds, already scaled by the caller; every method raises EnvironmentError_ if its node is unknown."""

    @property
    def nodes(self) -> tuple[int, ...]:
        """Ids of all nodes, running or not."""
        ...

    @property
    def running(self) -> tuple[int, ...]:
        """Ids of the nodes whose process lives (also a stopped one: SIGSTOP)."""
        ...

    @property
    def admin(self) -> ZkSession:
        """A session straight to ZooKeeper: no fault of a link hits it."""
        ...

    @property
    def session_timeout_ms(self) -> int: ...

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

    async def pause(self, node: int) -> None: ...
    async def resume(self, node: int) -> None: ...
    def process_state(self, node: int) -> str | None:
        """The operating system's letter for the node's process (T: stopped); None: it has ended."""
        ...

    async def status(self, node: int) -> NodeStatus | None:
        """None: it does not answer (ended, paused)."""
        ...

    async def metadata(self, node: int) -> Mapping[str, Any] | None:
        """What UpdateMetadata has told the node (broker.metadata.MetadataCache.to_json); None: it does not answer."""
        ...

    async def reach(self, nodes: Sequence[int], point: str, count: int) -> int:
        """Until one of `nodes`, the answer, is just at its `count`-th write, written or request from now on (see
        sim/crash_points.py); there it stands, until `thaw`. Raises NotOnThisBackend where nobody can stop it so exactly."""
        ...

    async def thaw(self, node: int) -> None: ...
    async def hold(self, node: int, point: str) -> None: ...
    async def release(self, node: int, point: str) -> None: ...
    async def cut(self, source: str, target: str, plane: str) -> None:
        """A black hole in both directions: connections stay open, nothing passes."""
        ...

    async def heal(self, source: str, target: str, plane: str) -> None: ...
    async def slow(self, source: str, target: str, plane: str, *, delay_ms: int) -> None:
        """What is said on this link is late by so much, in both directions; 0: not any more."""
        ...

    async def zookeeper_round_trip_us(self, node: int, *, limit_s: float) -> int | None:
        """How long a question to ZooKeeper and its answer take on the node's link to it; None: no answer in `limit_s`."""
        ...

    async def reset(self, source: str, target: str, plane: str) -> None:
        """Its open connections break for both ends; new ones can be made."""
        ...

    def route(self, source: str, target: str) -> tuple[Transport, Address]:
        """How to connect to node `target` over the link (plane control) that node `source` uses, with its faults."""
        ...

    async def expire_session_server(self, node: int) -> int:
        """A second client resumes the node's session and closes it; returns the session's id."""
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
        """Until `check` gives None; else EnvironmentError_ with what it gave last."""
        ...

    async def wait_for_controller(self, *, other_than: int | None = None, timeout_s: float) -> int: ...
    async def wait_until_converged(self, *, timeout_s: float) -> None: ...
    async def stop(self) -> None:
        """Ends everything. Idempotent."""
        ...
