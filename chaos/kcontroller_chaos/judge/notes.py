"""What a reader of a verdict should know besides: it changes no verdict, and explains what looks odd."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from kcontroller_chaos.checking import NEVER_EXERCISED
from kcontroller_chaos.history.read import History
from pytest_kcontroller.model.history import ClockStepped
from pytest_kcontroller.model.history.engine import clock_was_set


def notes(history: History) -> list[str]:
    """Sentences, in the order of what they tell."""
    return [
        f"{clock_was_set(event['step_us'])}, {event['since_us'] / 1e6:.3f} to {event['until_us'] / 1e6:.3f} s into the run; "
        "no verdict and no duration counts by it"
        for event in history.of(ClockStepped)
    ]


def never_exercised(entries: Iterable[Mapping[str, Any]], asked: Collection[str]) -> list[str]:
    """A sentence, if some of the invariants that somebody has `asked` for by name found nothing to check: a path is
    misspelt, say, and a run that holds proves nothing of them."""
    idle = [entry for entry in entries if entry["verdict"] == NEVER_EXERCISED and entry["name"] in asked]
    named = (f"{entry['name']} ({entry['seen'].removeprefix('nothing to check: ')})" for entry in idle)
    return [f"{NEVER_EXERCISED}: {'; '.join(named)}"] if idle else []
