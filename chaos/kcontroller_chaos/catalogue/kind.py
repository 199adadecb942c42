"""One kind of fault as a campaign names it: its modes, its parameters, and a fault from what a file or a test says."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kcontroller_chaos.catalogue.key import Key, merged, parameters
from kcontroller_chaos.catalogue.placement import FAULT_KEYS
from kcontroller_chaos.faults import Fault
from pytest_kcontroller.cluster.capabilities import Capability
from pytest_kcontroller.cluster.contract import Cluster
from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.model.suggestions import nearest
from pytest_kcontroller.model.text import shown
from pytest_kcontroller.plugin.blame import FROM_OUTSIDE


class WrongKeyError(UsageError):
    """A key, or its value, that a fault cannot have."""

    def __init__(self, kind: str, key: str, what: str, hint: str) -> None:
        self.key = key
        super().__init__(what, where=f"`{kind}.{key}`", hint=hint)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fault: a class for each mode, that of the default mode first."""

    name: str
    plugin: str
    classes: tuple[type[Fault], ...]

    @property
    def modes(self) -> tuple[str, ...]:
        """Empty: there is only one way to do it."""
        return tuple(one.mode for one in self.classes if one.mode is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that a file may use: KIND, and KIND:MODE by each name of a mode."""
        modes = [name for one in self.classes if one.mode is not None for name in (one.mode, *one.also_named)]
        return (self.name, *(f"{self.name}:{mode}" for mode in modes))

    @property
    def summary(self) -> str:
        """What it does: the first paragraph of the docstring where `kind` is said."""
        said = next(one for one in self.classes[0].__mro__ if "kind" in vars(one))
        return sentence(said)

    @property
    def mode_help(self) -> dict[str, str]:
        """Mode -> what it does."""
        return {str(one.mode): sentence(one) for one in self.classes if one.mode is not None}

    @property
    def example(self) -> str:
        return self.classes[0].example or f'[[faults]]\nkind = "{self.name}"\nat_s = 2\n'

    @property
    def keys(self) -> tuple[Key, ...]:
        """The parameters of all modes."""
        return merged({one.mode or "": parameters(one) for one in self.classes}, "in mode", unless_alike=True)

    def of(self, mode: str | None) -> type[Fault]:
        """The class of this mode; None: of the default. Raises WrongKeyError."""
        for one in self.classes:
            if mode in (None, one.mode, *one.also_named):
                return one
        hint = nearest(str(mode), self.modes) if self.modes else "leave the key out"
        raise WrongKeyError(self.name, "mode", f"{self.name} has no mode {mode!r}", hint)

    def fits(self, has: Callable[[Capability[object]], bool]) -> bool:
        """Whether one of its modes needs nothing that there is not."""
        return any(all(map(has, one.needs)) for one in self.classes)

    def mode_for(self, cluster: Cluster) -> str | None:
        """The first one that needs nothing which this cluster has not; None: there is none."""
        return next((one.mode for one in self.classes if one.mode and all(map(cluster.has, one.needs))), None)

    def fault(self, mode: str | None, given: Mapping[str, Any]) -> Fault:
        """The fault with these parameters, and defaults for the others. Raises WrongKeyError."""
        made = self.of(mode)
        keys = {key.name: key for key in parameters(made)}
        for name, value in given.items():
            if name not in keys:
                known = (*keys, *(key.name for key in FAULT_KEYS))
                raise WrongKeyError(
                    self.name, name, f"a fault of the kind {self.name} has no key `{name}`", nearest(name, known)
                )
            if found := keys[name].wrong(value):
                raise WrongKeyError(self.name, name, *found)
        values = {name: float(value) if keys[name].type == "number" else value for name, value in given.items()}
        try:
            return made(**values)
        except FROM_OUTSIDE:
            raise
        except BaseException as refused:
            what = f"{self.name} (plugin {self.plugin}) refuses its parameters: {shown(refused)}"
            raise WrongKeyError(self.name, next(iter(given), "kind"), what, "") from refused


def sentence(declared: type) -> str:
    """The first paragraph of its docstring. (A dataclass without one gets its signature as docstring: that says nothing.)"""
    text = inspect.cleandoc(vars(declared).get("__doc__") or "").partition("\n\n")[0]
    generated = text.startswith(f"{declared.__name__}(")
    return "(its class has no docstring that says what it does)" if generated or not text else " ".join(text.split())
