"""The sections of a campaign file as frozen values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kcontroller_chaos.admin import AdminAction
from kcontroller_chaos.faults import Fault
from kcontroller_chaos.injection import Placement


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSpec:
    """What the campaign is played on; times in milliseconds."""

    nodes: int
    log_dirs: int
    zookeeper: int
    session_timeout_ms: int
    assignment: Any
    selectors: Mapping[str, Any]
    plugin_limit_s: float
    """Real time; all others are times of the run."""
    config: Mapping[str, Any]
    kafka_compat: Sequence[str]

    def placement(self, nodes: int) -> Placement:
        """Of a fault, with the nodes that join."""
        return Placement(nodes=nodes, session_timeout_ms=self.session_timeout_ms, log_dirs=self.log_dirs)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSpec:
    name: str
    partitions: int
    replication_factor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminSpec:
    """One action at one time (seconds from the start)."""

    at_s: float
    does: AdminAction


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultSpec:
    """One fault. Exactly one of `at_s` and `when` is set (both: from then on the crash point is counted), at most one of
    `duration_s` and `until`."""

    id: str
    fault: Fault
    """As it is injected."""
    target: str
    at_s: float | None
    when: str | None
    after_ms: float
    still_ms: float
    duration_s: float | None
    until: str | None
    if_possible: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorSpec:
    """What is drawn; the keys of `[generator]`."""

    faults: tuple[str, ...]
    every_s: tuple[float, float]
    lasting_s: tuple[float, float]
    max_concurrent: int
    heal_before_end_s: float
    targets: tuple[str, ...]
    admin: tuple[str, ...]
    crash_points: float
    swarm: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """How much of what is planned must come about, so that a run can hold."""

    faults_applied: int = 1
    operations_ok: int = 1
    invariants_exercised: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A known failure; `until` is its last day, as ISO text."""

    invariant: str
    faults: tuple[str, ...]
    reason: str
    until: str
