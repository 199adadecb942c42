"""What a cluster may have besides what every one must have; asked for in one way: `cluster.capability(HOLDS)`.

Which backend lacks what is in its entry of the registry, which imports this: so it is light.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from pytest_kcontroller.model import history
    from pytest_kcontroller.model.cluster import Address
    from pytest_kcontroller.runtime.ports import Transport

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Capability(Generic[T_co]):
    """`name` as it is said of a backend: "it has no `name`". `what`: what somebody wants who asks for it."""

    name: str
    what: str

    def __str__(self) -> str:
        return f"{self.name} ({self.what})"


class Holds(Protocol):
    """See runtime/holds.py."""

    async def hold(self, node: int, point: str) -> None: ...
    async def release(self, node: int, point: str) -> None: ...
    async def lose(self, node: int, point: str, count: int) -> None: ...


class CrashPoints(Protocol):
    """See sim/crash_points.py."""

    async def reach(self, nodes: Sequence[int], point: str, count: int) -> int:
        """Until one of `nodes`, the answer, is just at its `count`-th write, written or request from now on; there it
        stands, until `thaw`."""
        ...

    async def thaw(self, node: int) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """What a node reports of itself. `epoch` is the controller epoch that it knows; `session` 0: it has none now.

    `pending` is what it has yet to do as the controller: events, and requests that are not answered.
    """

    node: int
    active: bool
    epoch: int
    session: int
    phase: str
    pending: int = 0
    raw: Mapping[str, Any] = field(default_factory=dict)

    def event(self) -> history.NodeStatus:
        """For the history."""
        from pytest_kcontroller.model import history

        session = hex(self.session) if self.session else None
        return history.NodeStatus(
            node=self.node, active=self.active, epoch=self.epoch, session=session, phase=self.phase
        )


class Reports(Protocol):
    """What nodes of ours answer when they are asked."""

    async def status(self, node: int) -> NodeStatus | None:
        """None: it does not answer (ended, paused)."""
        ...

    async def caught_up(self, node: int) -> NodeStatus | None:
        """As `status`; what ZooKeeper had to tell it when it was asked has come, or is among what is pending."""
        ...

    async def metadata(self, node: int) -> Mapping[str, Any] | None:
        """What UpdateMetadata has told the node (broker.metadata.MetadataCache.to_json); None: it does not answer."""
        ...

    async def metrics(self, node: int) -> Mapping[str, Any] | None:
        """What its controller counts (controller.metrics.Metrics.to_json); None: it does not answer."""
        ...


class Clients(Protocol):
    """Whoever is outside of the cluster and talks to its nodes; see contract.CLIENT."""

    def client_address(self, node: int) -> Address:
        """Where clients reach `node`: over a link of their own, of the plane `client`."""
        ...


class ZooKeepers(Protocol):
    """ZooKeeper's own servers, by their numbers from 1; what is done to one raises UsageError if there is no such."""

    @property
    def harness_sessions(self) -> tuple[int, ...]:
        """Those that the harness has had so far: no node's, and they can end with a server as a node's can."""
        ...

    async def zookeeper_modes(self, limit_s: float) -> Mapping[int, str | None]:
        """What each says that it is when a client asks: `standalone`, `leader`, `follower`; None: it serves nobody, or does
        not answer in `limit_s`."""
        ...

    def zookeeper_state(self, server: int) -> str | None:
        """The operating system's letter for its process (T: stopped); None: it has ended."""
        ...

    async def kill_zookeeper(self, server: int) -> None: ...
    async def pause_zookeeper(self, server: int) -> None: ...
    async def mend_zookeeper(self, servers: Sequence[int]) -> None:
        """These go on or are started again; returns when they serve, if those that others hold up leave a majority, and if
        all are there, under one leader. Raises EnvironmentFailure."""
        ...


class OwnClose(Protocol):
    """A node closes its session when it is told to, and opens another one."""

    async def close_session(self, node: int) -> None: ...


class Brokers(Protocol):
    """That its nodes are brokers with a controller: contract.Coordination has what can be asked of it."""


class Peers(Protocol):
    """That its nodes reach each other over links of their own, at whose ends Kafka's ApiVersions is answered
    (contract.Links.route): by the nodes, or by what stands before them (system/peer_relay.py)."""


class Clocks(Protocol):
    """The wall clock as one node sees it."""

    async def jump(self, node: int, by_ms: int) -> None:
        """It is so much later for the node from now on, or earlier; what it measures goes on as it did."""
        ...

    async def wall_ms(self, node: int) -> int | None:
        """Milliseconds since 1970, as the node says; None: it does not answer."""
        ...


class Disks(Protocol):
    """What a node keeps, whichever process it is."""

    def files(self, node: int) -> Mapping[str, int]:
        """Name -> bytes, as they are on its disk now, and will be again on one that has failed."""
        ...

    def wipe(self, node: int) -> None:
        """It has a new, empty one, whatever was wrong with the old one; to be called while the node has no process."""
        ...

    def log_dirs_of(self, node: int) -> Mapping[str, Collection[str]]:
        """Name of a broker's log directory -> the partitions (TOPIC-NUMBER) that it keeps there, of those that have not
        failed, in their order; of a broker with one, that is its whole disk: one without a name."""
        ...

    def fail_log_dir(self, node: int, name: str) -> None:
        """Nothing can be read or written there from now on, whether its process runs or not. Raises UsageError: there is
        none of that name; EnvironmentFailure: it has failed already."""
        ...

    def mend_log_dir(self, node: int, name: str) -> None:
        """It works again, and has all that it had; does nothing to one that does. Raises UsageError: there is none of that
        name."""
        ...


class SizedDisks(Protocol):
    """What a node keeps is on a file system that no other has, of a size."""

    async def fill_disk(self, node: int) -> None:
        """There is no room for a write, whether its process runs or not, until it is freed or wiped (Disks)."""
        ...

    def free_disk(self, node: int) -> None:
        """There is room again; does nothing to one that has some."""
        ...


class Powers(Protocol):
    """What nobody can do to a real machine at the moment that a test wants."""

    def take_back_write(self, node: int, *, torn: bool) -> str | None:
        """A power failure on a disk that lied: see sim/disk.py. Which file; None: nothing was ever written."""
        ...

    def delay_removal(self, delay_ms: int) -> None:
        """ZooKeeper removes the ephemerals of a session so long after it has ended; 0: at once."""
        ...

    def lag(self, node: int, lag_ms: int) -> None:
        """The node is connected with a follower that has everything so late; 0: not late any more."""
        ...

    def lag_of(self, node: int) -> tuple[int, int]:
        """By how many milliseconds the node's server lags, and how many transactions it has not yet."""
        ...


class Containers(Protocol):
    """What is done to the container that a node is."""

    async def disconnect(self, node: int) -> None:
        """From its network: nothing reaches it, and it reaches nobody. Raises UsageError: it does not run."""
        ...

    async def connect(self, node: int) -> None:
        """At its address again; does nothing if it is there, or has ended."""
        ...

    def interfaces(self, node: int) -> tuple[str, ...] | None:
        """To networks, as the kernel says, besides the loopback; None: it has ended."""
        ...

    async def limit_memory(self, node: int, limit: int | None) -> None:
        """To so many bytes, swap included; None: to all that the machine has. Does nothing if it has ended.

        Raises EnvironmentFailure: the engine refuses, as the kernel may for one that uses more already."""
        ...

    async def memory(self, node: int) -> tuple[int, int] | None:
        """Bytes that it may have, as the kernel or the engine says, and that it has now; None: it has ended."""
        ...


class ZooKeeperBytes(Protocol):
    """The links to ZooKeeper carry bytes, so that what is done to bytes (model/toxics.py) can be done to them."""

    def zookeeper_route(self, node: int) -> tuple[Transport, Address]:
        """How to connect to ZooKeeper over the link that `node` uses, with its faults."""
        ...


HOLDS: Capability[Holds] = Capability("hold points", "a task of a node waits where it is told to")
CRASH_POINTS: Capability[CrashPoints] = Capability("crash points", "a node stands still just at a write or request")
REPORTS: Capability[Reports] = Capability(
    "reports of nodes", "a node says who it takes for controller, and its metadata"
)
CLIENTS: Capability[Clients] = Capability("sockets for clients", "Kafka's clients and tools connect with its nodes")
ZOOKEEPERS: Capability[ZooKeepers] = Capability(
    "ZooKeeper servers", "they are several, or one of them is ended or stopped by itself"
)
BROKERS: Capability[Brokers] = Capability("brokers", "nodes of Kafka's, with a controller and topics")
PEERS: Capability[Peers] = Capability("links between nodes", "nodes reach each other over proxies")
CLOCKS: Capability[Clocks] = Capability("clocks of their own", "what time it is for a node is set for it alone")
DISKS: Capability[Disks] = Capability("disks of its nodes", "what a node keeps is looked at, and taken from it")
SIZED_DISKS: Capability[SizedDisks] = Capability("disks of a size of their own", "there is no room on a node's disk")
POWERS: Capability[Powers] = Capability(
    "powers of a simulator",
    "a disk loses what it has kept, ZooKeeper removes ephemerals late, or lags behind",
)
ZOOKEEPER_BYTES: Capability[ZooKeeperBytes] = Capability(
    "bytes on the links to ZooKeeper", "they are slow, cut into pieces, or counted"
)
CONTAINERS: Capability[Containers] = Capability("containers", "a node is taken from its network, or has less memory")
OWN_CLOSE: Capability[OwnClose] = Capability("word with a node's client", "it closes its session when it is told to")
OPTIONAL: tuple[Capability[object], ...] = (
    HOLDS,
    CRASH_POINTS,
    REPORTS,
    OWN_CLOSE,
    CLIENTS,
    ZOOKEEPERS,
    BROKERS,
    PEERS,
    DISKS,
    SIZED_DISKS,
    POWERS,
    CLOCKS,
    ZOOKEEPER_BYTES,
    CONTAINERS,
)
OF_PROGRAMS: tuple[Capability[object], ...] = (CLIENTS, ZOOKEEPERS, ZOOKEEPER_BYTES, DISKS)
"""What nodes have that are programs of a user's (cluster/system), whatever these are told: see Program.offers."""
