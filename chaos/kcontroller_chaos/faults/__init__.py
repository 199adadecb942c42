"""Faults: what can be done to a cluster, one module per kind, offered through the public hook as a user's own are.

Public: `Fault`, `parameter`.
"""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import MISSING, asdict, dataclass, field
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from types import ModuleType
from typing import Any, ClassVar, Self

from kcontroller_chaos.injection import Evidence, Injection, Placement, Wrong
from pytest_kcontroller.cluster.capabilities import Capability
from pytest_kcontroller.cluster.contract import Cluster
from pytest_kcontroller.hookspecs import hookimpl

__all__ = ["Fault", "parameter"]


def parameter(
    default: Any = MISSING,
    help: str = "",
    *,
    unit: str = "",
    least: float | None = None,
    most: float | None = None,
    choices: Sequence[str] = (),
) -> Any:
    """A field of a fault: a key of campaign files and an argument of `chaos.inject`. `least` and `most` are of a number,
    `choices` the only texts that it takes. Only that of an admin action may have no default: then it must be given."""
    metadata = {"help": help, "unit": unit, "least": least, "most": most, "choices": tuple(choices)}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault(ABC):
    """One fault, as it stands in a campaign: its fields are its parameters (str, int, float or bool; see `parameter`).

    A kind with several modes has a class for each, below one with what they share: `kind`, `example`, and a docstring that
    says what the kind does. The docstring of a mode's class says what this mode does. A fault keeps nothing that it has
    done: `Injection.kept` is for that.
    """

    kind: ClassVar[str]
    """Its name in campaign files: small letters, digits, underscores."""
    mode: ClassVar[str | None] = None
    """A way to do it, of several. The one that a plugin offers first is the kind's default."""
    also_named: ClassVar[tuple[str, ...]] = ()
    """Other names of the mode, as others call it: a campaign may say them, all else says `mode`."""
    example: ClassVar[str] = ""
    """One such fault as it stands in a campaign file; the catalogue shows it. Empty: one that is at the controller."""
    ends_session: ClassVar[bool] = False
    """Whether it may cost the node its session; the end of any other session shows an overloaded host."""
    ends_process: ClassVar[bool] = False
    """Whether the node's process may end by it; the end of any other violates `nodes-stay-up`."""
    exit_statuses: ClassVar[tuple[int, ...]] = ()
    """How that process may end by it, -9 by SIGKILL, 0 in good order, whatever the status for that is on a backend; empty:
    anyhow. Any other end violates `nodes-stay-up` too."""
    on_zookeeper: ClassVar[bool] = False
    """Whether it is on ZooKeeper's own servers, and so on no node: its target is `zookeeper`, and it needs ZOOKEEPERS."""
    of_controller: ClassVar[bool] = False
    """Whether there is nothing to be done to a node that is not the controller: the generator gives it no other target."""
    least_zookeepers: ClassVar[int] = 1
    """So many servers ZooKeeper must have."""
    claims: ClassVar[tuple[str, ...]] = ()
    """What of its node nobody else may touch meanwhile (injection.py): a drawn fault that meets one is skipped."""
    may_miss: ClassVar[bool] = False
    """Whether it lies in wait for something that need not come; a drawn fault that missed is skipped."""
    needs: ClassVar[tuple[Capability[object], ...]] = ()
    """What a backend must have so that this can be done, besides what every one has (cluster/capabilities.py)."""

    least_nodes: ClassVar[int] = 1
    """So many must there be: a fault on links between nodes has nothing to hit on one."""
    keeps_session: ClassVar[bool] = False
    """Its evidence is of a session that goes on, or that its client closes: a node that stands still for longer loses it."""

    def wrong_at(self, at: Placement) -> Wrong | None:
        """Why it can never be observed there; None: it can. Asked of what a file or a test says that it must happen."""
        called = self.kind if self.mode is None else f"{self.kind}:{self.mode}"
        if at.nodes < self.least_nodes:
            what = f"{called} has nothing to hit on fewer than {self.least_nodes} nodes, and the cluster has {at.nodes}"
            return "kind", what, "give it more `nodes`, or leave the fault out"
        if self.keeps_session and at.still_ms > at.session_timeout_ms:
            what = (
                f"the node stands still for {at.still_ms:g} ms, and its session ends after {at.session_timeout_ms} ms"
            )
            return "still_ms", f"{what}: {called} cannot be observed then", "less than `session_timeout_ms`"
        return None

    @abstractmethod
    async def inject(self, on: Injection) -> None:
        """Does it. Raises EnvironmentFailure if it could not: the fault was not applied."""

    @abstractmethod
    async def observe(self, on: Injection) -> Evidence:
        """Waits for the evidence, by other means than `inject` used; its time is limited to `within_s`."""

    async def look_again(self, on: Injection) -> None:  # noqa: B027 - what is over by itself need not last
        """Just before it is healed, once it has been observed: raises EnvironmentFailure if it is not in force any more,
        with what was found. Of several nodes that are hit, one may not have shown it yet: that is none."""

    async def heal(self, on: Injection) -> None:  # noqa: B027 - what is over by itself has nothing to be taken back
        """Takes it back; called exactly once, also after a failed or interrupted `inject`."""

    def within_s(self, on: Injection) -> float:
        """The time that the observation may take, in seconds, unscaled."""
        return 2.0

    @classmethod
    def drawn(cls, draw: Random) -> Self:
        """One that the generator makes: with the defaults, unless the kind draws some."""
        return cls()

    def statuses(self, cluster: Cluster) -> tuple[int, ...] | None:
        """How the processes that it hits may end by it; empty: anyhow, as a program of a user's that is asked to; None: they
        may not."""
        if not self.ends_process:
            return None
        if 0 not in self.exit_statuses:
            return self.exit_statuses
        orderly = cluster.stop_statuses
        return (*orderly, *(status for status in self.exit_statuses if status != 0)) if orderly else ()

    def costs_session(self, cluster: Cluster) -> bool:
        """Whether it may, on this cluster, end the session of a node whose process lives."""
        return self.ends_session

    @property
    def parameters(self) -> dict[str, Any]:
        """As they are recorded."""
        return asdict(self)


@hookimpl
def kcontroller_faults() -> list[type[Fault]]:
    """Those of every module here, by module name, and of several modes in the order in which they stand in it."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__, f"{__name__}."))
    public = [name for name in modules if not name.rpartition(".")[2].startswith("_")]
    return [fault for name in public for fault in _of(importlib.import_module(name))]


def _of(module: ModuleType) -> list[type[Fault]]:
    """Not what its modes have in common, which is none."""
    made = [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__]
    faults = [one for one in made if issubclass(one, Fault)]
    shared = [base for base in faults if base.mode is None and any(base in one.__mro__[1:] for one in faults)]
    return [one for one in faults if one not in shared]
