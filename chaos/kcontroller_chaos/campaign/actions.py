"""What a schedule is made of: timed faults and admin actions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kcontroller_chaos.admin import AdminAction
from kcontroller_chaos.catalogue import Catalogue
from kcontroller_chaos.catalogue.actions import action_of
from kcontroller_chaos.faults import Fault
from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.model.suggestions import nearest

ADMIN = "admin"
FAULT = "fault"


_NOTHING = type(None)
_ENTRY: dict[str, tuple[type, ...]] = {
    "id": (str,),
    "what": (str,),
    "kind": (str,),
    "stream": (str,),
    "mode": (str, _NOTHING),
    "target": (str, _NOTHING),
    "at_us": (int, _NOTHING),
    "when": (str, _NOTHING),
    "after_us": (int,),
    "still_us": (int,),
    "duration_us": (int, _NOTHING),
    "until": (str, _NOTHING),
    "within_us": (int, _NOTHING),
    "if_possible": (bool,),
    "parameters": (dict,),
}
"""The keys of an entry, and what they can be."""
_NEEDED = ("id", "what", "kind", "stream", "mode", "parameters")


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One fault or admin action. Times are run times and lengths in microseconds; `at_us` None: it waits for `when`; with
    both it waits for the crash point `when` from `at_us` on.

    `does` is the very object that is injected. `stream` names the random stream that a drawn target comes from:
    `Schedule.rng`.
    """

    id: str
    does: Fault | AdminAction
    stream: str
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

    @property
    def what(self) -> str:
        return FAULT if isinstance(self.does, Fault) else ADMIN

    @property
    def kind(self) -> str:
        """A fault's kind, or the action's (create_topic ...)."""
        return self.does.kind

    @property
    def mode(self) -> str | None:
        return self.does.mode if isinstance(self.does, Fault) else None

    @property
    def parameters(self) -> dict[str, Any]:
        return self.does.parameters

    @property
    def entry(self) -> dict[str, Any]:
        """What schedule.jsonl has of it (docs/formats.md)."""
        return {
            "id": self.id,
            "what": self.what,
            "kind": self.kind,
            "stream": self.stream,
            "mode": self.mode,
            "target": self.target,
            "at_us": self.at_us,
            "when": self.when,
            "after_us": self.after_us,
            "still_us": self.still_us,
            "duration_us": self.duration_us,
            "until": self.until,
            "within_us": self.within_us,
            "if_possible": self.if_possible,
            "parameters": self.parameters,
        }

    @classmethod
    def of_entry(cls, entry: Mapping[str, Any], catalogue: Catalogue) -> Action:
        """Raises UsageError for what is no entry, and for a fault or action that nobody offers."""
        for name in entry:
            if name not in _ENTRY:
                raise UsageError(f"no action has a key `{name}`", hint=nearest(name, _ENTRY))
        for name, kinds in _ENTRY.items():
            if name not in entry and name in _NEEDED:
                raise UsageError(f"the key `{name}` is missing", hint="every action has it")
            if name in entry and type(entry[name]) not in kinds:
                raise UsageError(f"its `{name}` is {json.dumps(entry[name])}, which no action has")
        rest = {name: value for name, value in entry.items() if name not in ("what", "kind", "mode", "parameters")}
        if entry["what"] not in (ADMIN, FAULT):
            raise UsageError(f"its `what` is {json.dumps(entry['what'])}", hint=f"{FAULT} or {ADMIN}")
        if entry["what"] == ADMIN:
            return cls(does=action_of(entry["kind"], entry["parameters"]), **rest)
        return cls(does=catalogue.kind(entry["kind"]).fault(entry["mode"], entry["parameters"]), **rest)
