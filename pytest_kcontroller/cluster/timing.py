"""Time limits that can be stretched on a slow machine, and how slow it is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.runtime.starvation import OURSELVES, starved_s

VARIABLE = "KC_TIMEOUT_SCALE"

_stretched = True


def scaled(seconds: float) -> float:
    """`seconds` times $KC_TIMEOUT_SCALE (default 1). For limits only, never for what is measured. Raises UsageError."""
    return stretched(seconds) if _stretched else seconds


def stretched(seconds: float) -> float:
    """The same of a limit of real time, also where time is simulated. Raises UsageError."""
    text = os.environ.get(VARIABLE) or "1"
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    if not 0 < factor < 1000:
        raise UsageError(f"{text!r} is not a number above 0", where=f"${VARIABLE}")
    return seconds * factor


def withheld_s() -> float:
    """How long this thread was ready to run and had no core, since it began. It stands still where time is simulated."""
    return starved_s(OURSELVES) if _stretched else 0.0


@contextmanager
def unscaled() -> Iterator[None]:
    """No limit is stretched in the block: in virtual time a slow machine is not slow, and a seed gives one history."""
    global _stretched
    before, _stretched = _stretched, False
    try:
        yield
    finally:
        _stretched = before
