"""A campaign file from a campaign and the actions that are to be left of it: what shrinking gives to a person."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from kcontroller_chaos.campaign.actions import ADMIN, Action
from kcontroller_chaos.campaign.file import Campaign

_BARE = re.compile(r"[A-Za-z0-9_-]+")
PLACED = ("faults", "workload", "generator")
"""The sections that say what happens."""


def campaign_text(campaign: Campaign, actions: Sequence[Action], seed: int, about: str) -> str:
    """Everything else of the file is as it was, with thresholds that these actions can reach. The seed moves the times a
    little, as in every file, so that it need not come out as this schedule does. `about` is its first line."""
    told = {name: value for name, value in tomllib.loads(campaign.text).items() if name not in PLACED}
    faults = [_fault(action, campaign.duration_s) for action in actions if action.what != ADMIN]
    told["campaign"] = {**told["campaign"], "seeds": f"{seed}"}
    workload = [_admin(action, campaign.duration_s) for action in actions if action.what == ADMIN]
    told["thresholds"] = told.get("thresholds", {}) | {  # no file may ask for more than it has
        "faults_applied": min(campaign.thresholds.faults_applied, len(faults)),
        "operations_ok": min(campaign.thresholds.operations_ok, len(workload)),
    }
    told["faults"] = faults
    told["workload"] = workload
    return "".join(f"{line}\n" for line in [f"# {about}", *_sections(told)])


def _fault(action: Action, duration_s: float) -> dict[str, Any]:
    row = {
        "id": action.id,
        "kind": action.kind,
        "mode": action.mode,
        "target": action.target,
        "at_s": None if action.at_us is None else _at_s(action.at_us, duration_s),
        "when": action.when,
        "after_ms": action.after_us / 1000 or None,
        "still_ms": action.still_us / 1000 or None,
        "duration_s": None if action.duration_us is None else action.duration_us / 1e6,
        "until": action.until,
        "if_possible": action.if_possible or None,
    }
    return {name: value for name, value in row.items() if value is not None} | action.parameters


def _admin(action: Action, duration_s: float) -> dict[str, Any]:
    return {"kind": ADMIN, "action": action.kind, "at_s": _at_s(action.at_us or 0, duration_s), **action.parameters}


def _at_s(at_us: int, duration_s: float) -> float:
    """The seed may have moved it to a time after the end, which no file may say."""
    return min(at_us / 1e6, duration_s)


def _sections(told: Mapping[str, Any]) -> Iterator[str]:
    for name, value in told.items():
        for head, table in (
            [(f"[{name}]", value)] if isinstance(value, dict) else [(f"[[{name}]]", one) for one in value]
        ):
            yield ""
            yield head
            yield from (f"{_key(key)} = {value_text(one)}" for key, one in table.items())


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name)


def value_text(value: object) -> str:
    """As TOML has it; its texts are written as those of JSON are. Raises TypeError: TOML has no form for it."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(name)} = {value_text(one)}' for name, one in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(value_text, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | float | date):
        return str(value)
    raise TypeError(f"{value!r} has no form in TOML")
