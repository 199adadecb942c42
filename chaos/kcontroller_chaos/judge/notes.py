"""What a reader of a verdict should know besides: it changes no verdict, and explains what looks odd."""

from __future__ import annotations

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
