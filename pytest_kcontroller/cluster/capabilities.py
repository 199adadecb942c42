"""What a cluster may have besides what every one must have; asked for in one way: `cluster.capability(HOLDS)`.

Which backend lacks what is in its entry of the registry, which imports this: so it is light.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from pytest_kcontroller.model import history

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


class CrashPoints(Protocol):
    """See sim/crash_points.py."""

    async def reach(self, nodes: Sequence[int], point: str, count: int) -> int:
        """Until one of `nodes`, the answer, is just at its `count`-th write, written or request from now on; there it
        stands, until `thaw`."""
        ...

    async def thaw(self, node: int) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """What a node reports of itself. `epoch` is the controller epoch that it knows; `session` 0: it has none now."""

    node: int
    active: bool
    epoch: int
    session: int
    phase: str
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

    async def metadata(self, node: int) -> Mapping[str, Any] | None:
        """What UpdateMetadata has told the node (broker.metadata.MetadataCache.to_json); None: it does not answer."""
        ...


HOLDS: Capability[Holds] = Capability("hold points", "a task of a node waits where it is told to")
CRASH_POINTS: Capability[CrashPoints] = Capability("crash points", "a node stands still just at a write or request")
REPORTS: Capability[Reports] = Capability(
    "reports of nodes", "a node says who it takes for controller, and its metadata"
)
OPTIONAL: tuple[Capability[object], ...] = (HOLDS, CRASH_POINTS, REPORTS)
