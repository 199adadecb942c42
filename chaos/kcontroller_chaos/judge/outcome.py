"""The verdict of a run from its parts, and verdicts as exit statuses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from kcontroller_chaos.checking import SAFETY

HELD, VIOLATED, INTERNAL, UNKNOWN, NOTHING_RAN, ENVIRONMENT = 0, 1, 3, 4, 5, 6
_OF_VERDICT = {"held": HELD, "violated": VIOLATED, "unknown": UNKNOWN, "environment": ENVIRONMENT}
_WORST_FIRST = (VIOLATED, INTERNAL, ENVIRONMENT, UNKNOWN, NOTHING_RAN, HELD)


def exit_status(verdict: str) -> int:
    """The status of one run."""
    return _OF_VERDICT.get(verdict, INTERNAL)


def aggregate(statuses: Iterable[int]) -> int:
    """The status of many runs: the first of 1, 3, 6, 4, 5, 0 that occurred; 5 if there was none."""
    occurred = sorted(set(statuses))
    return next((status for status in _WORST_FIRST if status in occurred), INTERNAL if occurred else NOTHING_RAN)


def counted_as(overall: str, unexpected: str) -> str:
    """A run's verdict where runs are counted, and told in a word: that of its exit status, but a violation that is known,
    and nothing besides, is one all the same."""
    return overall if unexpected in ("held", "violated") else unexpected


def worst_of(value: Mapping[str, Any], *, but: Collection[str] = ()) -> str:
    """The overall verdict of a verdicts.json, as if the invariants `but` had not been violated.

    A safety violation with a witness stands whatever else failed; a run that did not end is unknown otherwise.
    """
    left = [entry for entry in value["invariants"] if entry["verdict"] != "violated" or entry["name"] not in but]
    violated = [entry for entry in left if entry["verdict"] == "violated"]
    if any(entry["kind"] == SAFETY and entry["witness"] for entry in violated):
        return "violated"
    if not value["ended"]:
        return "unknown"
    parts = [part["verdict"] for part in value["parts"].values()]  # that too little was exercised is in one of them
    if "environment" in parts:
        return "environment"
    if violated:
        return "violated"
    return "unknown" if "unknown" in (*parts, judged(left, value["transactions"])) else "held"


def judged(invariants: Sequence[Mapping[str, Any]], transactions: int) -> str:
    """The verdict of the invariants together: what never happened in any of them does not hold."""
    verdicts = [entry["verdict"] for entry in invariants]
    if "violated" in verdicts:
        return "violated"
    return "unknown" if "unknown" in verdicts or "held" not in verdicts or not transactions else "held"
