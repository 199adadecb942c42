"""Faults: what can be done to a cluster, one module per kind, offered through the public hook as a user's own are.

Public: `Fault`, `parameter`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import Any, ClassVar, Self

from kcontroller_chaos.injection import Evidence, Injection
from pytest_kcontroller.cluster.capabilities import Capability
from pytest_kcontroller.hookspecs import hookimpl

__all__ = ["Fault", "parameter"]


def parameter(
    default: Any,
    help: str,
    *,
    unit: str = "",
    least: float | None = None,
    most: float | None = None,
    choices: Sequence[str] = (),
) -> Any:
    """A field of a fault: a key of campaign files and an argument of `chaos.inject`. `least` and `most` are of a number,
    `choices` the only texts that it takes."""
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
    example: ClassVar[str] = ""
    """One such fault as it stands in a campaign file; the catalogue shows it. Empty: one that is at the controller."""
    ends_session: ClassVar[bool] = False
    """Whether it may cost the node its session; the end of any other session shows an overloaded host."""
    ends_process: ClassVar[bool] = False
    """Whether the node's process may end by it; the end of any other violates `nodes-stay-up`."""
    claims: ClassVar[tuple[str, ...]] = ()
    """What of its node nobody else may touch meanwhile (injection.py): a drawn fault that meets one is skipped."""
    may_miss: ClassVar[bool] = False
    """Whether it lies in wait for something that need not come; a drawn fault that missed is skipped."""
    needs: ClassVar[tuple[Capability[object], ...]] = ()
    """What a backend must have so that this can be done, besides what every one has (cluster/capabilities.py)."""

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

    @property
    def parameters(self) -> dict[str, Any]:
        """As they are recorded."""
        return asdict(self)


@hookimpl
def kcontroller_faults() -> list[type[Fault]]:
    from kcontroller_chaos.faults import depose, hold, kill, latency, partition, pause, reset, session_expiry

    return [
        depose.Depose,
        hold.Hold,
        kill.Sigkill,
        kill.Sigterm,
        latency.LatencyControl,
        latency.LatencyZooKeeper,
        partition.Control,
        partition.Outbound,
        partition.Inbound,
        partition.ZooKeeper,
        partition.All,
        pause.Pause,
        reset.ResetZooKeeper,
        reset.ResetControl,
        session_expiry.Natural,
        session_expiry.Server,
    ]
