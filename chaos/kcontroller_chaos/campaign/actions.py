"""What a schedule is made of: timed faults and admin actions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ADMIN = "admin"
FAULT = "fault"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One fault or admin action. Times are run times and lengths in microseconds; `at_us` None: it waits for `when`; with
    both it waits for the crash point `when` from `at_us` on.

    A fault's `kind` is the fault's, an admin action's the action's (create_topic). `stream` names the random stream that
    a drawn target comes from: `Schedule.rng`.
    """

    id: str
    what: str
    kind: str
    stream: str
    mode: str | None = None
    target: str | None = None
    at_us: int | None = None
    when: str | None = None
    after_us: int = 0
    still_us: int = 0
    """At a crash point: so long the node stands still after the injection."""
    duration_us: int | None = None
    until: str | None = None
    within_us: int | None = None
    """A crash point counts for so long; None: for the campaign's time."""
    if_possible: bool = False
    """Skipped, not failed, if there is nothing that it can hit."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
