"""Invariants: one module each, a pure function `check` from a History to a Verdict; found with pkgutil.

A module also has `KIND` (safety or liveness), `EXPECTED` (what must hold) and `SOURCE` (where the rule comes from); its
docstring says it in words.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from kcontroller_chaos.checking import Verdict
from kcontroller_chaos.history.read import History


@dataclass(frozen=True, slots=True, kw_only=True)
class Invariant:
    """One module's declaration."""

    name: str
    kind: str
    summary: str
    expected: str
    source: str
    check: Callable[[History], Verdict]


@cache
def invariants() -> tuple[Invariant, ...]:
    """All there are, by name."""
    return tuple(_read(name) for name in sorted(module.name for module in pkgutil.iter_modules(__path__)))


def named(name: str) -> Invariant:
    """The one of this name. Raises KeyError."""
    return {invariant.name: invariant for invariant in invariants()}[name]


def _read(name: str) -> Invariant:
    module = importlib.import_module(f"{__name__}.{name}")
    return Invariant(
        name=name.replace("_", "-"),
        kind=module.KIND,
        summary=" ".join((module.__doc__ or "").partition("\n\n")[0].split()),
        expected=module.EXPECTED,
        source=module.SOURCE,
        check=module.check,
    )


def check_all(history: History) -> list[dict[str, Any]]:
    """Every invariant's entry of verdicts.json, by name. One that crashes is `unknown`, with its error."""
    entries = []
    for invariant in invariants():
        try:
            verdict = Verdict.unknown(history.log_error) if history.log_error else invariant.check(history)
        except Exception as crashed:  # noqa: BLE001 - a checker's bug must not hide the others' findings
            verdict = Verdict.unknown(f"the checker failed: {crashed!r}")
        entries.append(verdict.entry(invariant.name, invariant.kind))
    return entries
