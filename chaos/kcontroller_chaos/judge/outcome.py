"""Verdicts as exit statuses."""

from __future__ import annotations

from collections.abc import Iterable

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
