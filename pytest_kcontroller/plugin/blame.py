"""A plugin that raises where it is imported or asked what it offers: what is its own, where it was, what to do."""

from __future__ import annotations

import traceback
from pathlib import Path

from pytest_kcontroller.model.text import shown
from pytest_kcontroller.runtime.foreign import GivenUp

FROM_OUTSIDE = (KeyboardInterrupt, GivenUp)
"""Comes while a plugin's code runs, and passes: Ctrl-C, a time limit. All else that is raised there is the plugin's, also
what is no Exception: `pytest.importorskip` must not make a skipped test of a plugin that is not there."""


def said(raised: BaseException) -> str:
    """What it raised, in a line. A SyntaxError's place is told by `place_in`."""
    text = raised.msg if isinstance(raised, SyntaxError) else shown(raised, str)
    return f"{type(raised).__name__}: {text}" if text else type(raised).__name__


def place_in(module: str, raised: BaseException) -> str:
    """FILE:LINE, the innermost in the module or its package; empty: it was not even begun."""
    if isinstance(raised, SyntaxError) and raised.filename and not raised.filename.startswith("<"):
        return f"{raised.filename}:{raised.lineno}"
    package, place = module.partition(".")[0], ""
    for frame, line in traceback.walk_tb(raised.__traceback__):
        if str(frame.f_globals.get("__name__")).partition(".")[0] == package:
            place = f"{frame.f_code.co_filename}:{line}"
    return place


def advice(module: str, raised: BaseException) -> str:
    """What to do about one that cannot be imported."""
    if place_in(module, raised):
        return "mend it"
    if "/" in module or module.endswith(".py"):
        return f"name the module, as in `import {Path(module).stem}`, not its file, and put its folder on PYTHONPATH"
    if isinstance(raised, ModuleNotFoundError) and raised.name and f"{module}.".startswith(f"{raised.name}."):
        return "it is imported by this name: install it, or put its folder on PYTHONPATH"
    return "name it as in `import my_plugin`"
