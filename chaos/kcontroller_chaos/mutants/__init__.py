"""Known bugs that can be put back, one module each, offered through the public hook.

A node loads this package only when its settings name a mutant.
"""

from __future__ import annotations

import importlib
import pkgutil

from pytest_kcontroller.hookspecs import hookimpl
from pytest_kcontroller.seams import Mutant


@hookimpl
def kcontroller_mutants() -> list[Mutant]:
    """The `MUTANT` of every module here, by module name."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__, f"{__name__}."))
    return [importlib.import_module(name).MUTANT for name in modules]
