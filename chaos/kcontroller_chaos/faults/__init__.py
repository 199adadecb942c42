"""Faults: one module per kind, found with pkgutil. What a campaign may say of a fault is declared once, in its `Fault`."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from kcontroller_chaos.injection import FaultWork


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What a kind of fault is called and which parameters it has: the fields of the subclass, each with a default.

    A field's metadata may have `unit`, `help` and `choices` (the names that it may take).
    """

    kind: ClassVar[str]
    modes: ClassVar[tuple[str, ...]] = ()
    """Ways to do it; the first is the default. Empty: there is only one."""
    mode_help: ClassVar[Mapping[str, str]] = {}
    """Mode -> what it does, for each of `modes`."""
    example: ClassVar[str]
    """One such fault as it stands in a campaign file; the catalogue shows it."""
    work: ClassVar[Mapping[str, Callable[[], Any]]]
    """Mode (or "") -> what makes the FaultWork."""

    @classmethod
    def drawn(cls, draw: Random, mode: str | None) -> dict[str, Any]:
        """The parameters of one that the generator makes: the defaults, unless the kind draws some."""
        return asdict(cls())


@cache
def kinds() -> Mapping[str, type[Fault]]:
    """Kind -> declaration, by name: the `Fault` subclass of every module here."""
    found: dict[str, type[Fault]] = {}
    for module in sorted(module.name for module in pkgutil.iter_modules(__path__, f"{__name__}.")):
        for value in vars(importlib.import_module(module)).values():
            if isinstance(value, type) and issubclass(value, Fault) and value is not Fault:
                found[value.kind] = value
    return dict(sorted(found.items()))


def summary(fault: type[Fault]) -> str:
    """What this kind of fault does, in a sentence: the first paragraph of its module, behind `<kind>: `."""
    paragraph = (sys.modules[fault.__module__].__doc__ or "").strip().partition("\n\n")[0]
    sentence = " ".join(paragraph.removeprefix(f"{fault.kind}: ").split())
    return sentence[:1].upper() + sentence[1:]


def work_of(kind: str, mode: str | None = None) -> FaultWork:
    """What injects, observes and heals. Raises KeyError: campaigns are checked before anything asks."""
    fault = kinds()[kind]
    work: FaultWork = fault.work[mode or (fault.modes[0] if fault.modes else "")]()
    return work
