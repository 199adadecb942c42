"""Invariants: one module each, a pure function `check` from a History to a Verdict; found with pkgutil."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from kcontroller_chaos.checking import Verdict
from kcontroller_chaos.history import History


def check_all(history: History) -> list[dict[str, Any]]:
    """Every invariant's entry of verdicts.json, by name. One that crashes is `unknown`, with its error."""
    entries = []
    for name in sorted(module.name for module in pkgutil.iter_modules(__path__)):
        module = importlib.import_module(f"{__name__}.{name}")
        try:
            verdict = Verdict.unknown(history.log_error) if history.log_error else module.check(history)
        except Exception as crashed:  # noqa: BLE001 - a checker's bug must not hide the others' findings
            verdict = Verdict.unknown(f"the checker failed: {crashed!r}")
        entries.append(verdict.entry(name.replace("_", "-"), module.KIND))
    return entries
