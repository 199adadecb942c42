"""How plugins are found, and how what they offer is chosen by name.

Found, in this order: the stock ones (`kcontroller_plugins`, every module of it), installed distributions with an entry
point in the group `kcontroller`, and modules named by a setting. Choosing never depends on that order: two plugins that
offer one name are an error.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import os
import pkgutil
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

import pluggy

from pytest_kcontroller import hookspecs
from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.hookspecs import PROJECT, AssignmentStrategy, LeaderSelector
from pytest_kcontroller.model.election import ElectionReason
from pytest_kcontroller.model.suggestions import nearest
from pytest_kcontroller.model.text import shown
from pytest_kcontroller.plugin.assigning import STOCK_STRATEGY, Assigner
from pytest_kcontroller.plugin.blame import FROM_OUTSIDE, advice, place_in, said
from pytest_kcontroller.seams import Mutant

STOCK = "kcontroller_plugins"
ENTRY_POINT_GROUP = "kcontroller"

PATH_VARIABLE = "KCONTROLLER_PLUGIN_PATH"
"""Where a child of ours looks for named plugins besides its own import path: it finds what its owner finds."""

Choice = str | Mapping[str, Any]
"""A name, or {"name": ..., options}."""

T = TypeVar("T")


class Offers(Generic[T]):
    """What plugins offer of one kind, by name."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._offers: dict[str, Any] = {}
        self._plugins: dict[str, str] = {}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._offers))

    def plugin_of(self, name: str) -> str:
        """The plugin that offers `name`."""
        return self._plugins[name]

    def add(self, plugin: str, offer: Any) -> None:
        name = getattr(offer, "name", None)
        if not isinstance(name, str) or not name:
            raise UsageError(f"the plugin {plugin} offers a {self.kind} without a name: {offer!r}")
        if name in self._offers:
            raise UsageError(
                f"two plugins offer the {self.kind} {name!r}: {self._plugins[name]} and {plugin}",
                hint="load only one of them, or rename one",
            )
        self._offers[name], self._plugins[name] = offer, plugin

    def get(self, name: str, *, where: str = "") -> Any:
        """Raises UsageError with the nearest name."""
        if name not in self._offers:
            raise UsageError(f"there is no {self.kind} {name!r}", where=where, hint=nearest(name, self.names))
        return self._offers[name]

    def make(self, choice: Choice, *, where: str = "") -> T:
        """The value that `choice` names, made with its options. Raises UsageError."""
        name, options = split_choice(choice, where=where)
        offer = self.get(name, where=where)
        if not isinstance(offer, type):
            if options:
                raise UsageError(f"the {self.kind} {name!r} takes no options, not even {_keys(options)}", where=where)
            return offer  # type: ignore[no-any-return]
        try:
            made: T = offer(**options)
        except FROM_OUTSIDE:
            raise
        except BaseException as bad:
            of = f"the {self.kind} {name!r} of the plugin {self._plugins[name]}"
            raise UsageError(f"{of} refuses its options: {shown(bad, str)}", where=where) from bad
        return made


class Plugins:
    """The loaded plugins. Every look-up raises UsageError for a name that nobody offers."""

    def __init__(self, manager: pluggy.PluginManager) -> None:
        self._manager = manager
        self.selectors: Offers[LeaderSelector] = Offers("leader selector")
        self.assignments: Offers[AssignmentStrategy] = Offers("assignment strategy")
        self.mutants: Offers[Mutant] = Offers("mutant")
        self._collect("kcontroller_leader_selectors", self.selectors)
        self._collect("kcontroller_assignment_strategies", self.assignments)
        self._collect("kcontroller_mutants", self.mutants)

    def selectors_for(self, choices: Mapping[str, Choice], *, where: str = "") -> dict[ElectionReason, LeaderSelector]:
        """A selector for every reason; the reasons that `choices` leaves out get the stock one of their name."""
        known = tuple(reason.value for reason in ElectionReason)
        for reason in choices:
            if reason not in known:
                raise UsageError(f"there is no election reason {reason!r}", where=where, hint=nearest(reason, known))
        return {
            reason: self.selectors.make(
                choices.get(reason.value, reason.value.replace("_", "-")), where=_join(where, reason.value)
            )
            for reason in ElectionReason
        }

    def assigner(self, choice: Choice, draw: Callable[[int], int], *, limit_s: float, where: str = "") -> Assigner:
        """Asks the strategy that `choice` names; `limit_s` is of real time. Raises UsageError."""
        strategy = self.assignments.make(choice, where=where)
        return Assigner(strategy, self.assignments.make(STOCK_STRATEGY), draw, limit_s=limit_s)

    def mutant(self, name: str | None, *, where: str = "") -> Mutant | None:
        """None for None."""
        if name is None:
            return None
        mutant: Mutant = self.mutants.get(name, where=where)
        return mutant

    def also(self, module: str) -> Plugins:
        """These, and the stock plugin of this import name."""
        register(self._manager, _of_module(module, "stock"))
        return Plugins(self._manager)

    def kafkas(self, names: Sequence[str], *, where: str = "") -> tuple[Mutant, ...]:
        """The mutants of these names, of which each has to be Kafka's own behaviour. Raises UsageError."""
        there = [name for name in self.mutants.names if self.mutants.get(name).kafkas]
        for name in names:
            if name not in there:
                raise UsageError(f"{name!r} is nothing that Kafka 3.9 does", where=where, hint=nearest(name, there))
        return tuple(self.mutants.get(name) for name in dict.fromkeys(names))

    def offered(self, hook: str) -> list[tuple[str, Any]]:
        """(plugin, offer) of this hook, plugin by plugin, so that an error can name the plugin. Raises UsageError."""
        found: list[tuple[str, Any]] = []
        for implementation in sorted(getattr(self._manager.hook, hook).get_hookimpls(), key=lambda h: h.plugin_name):
            try:
                found += [(implementation.plugin_name, offer) for offer in implementation.function()]
            except FROM_OUTSIDE:
                raise
            except BaseException as bad:
                module = getattr(implementation.plugin, "__name__", "")
                raise UsageError(
                    f"the plugin {implementation.plugin_name} failed in {hook}: {said(bad)}",
                    where=place_in(module, bad),
                ) from bad
        return found

    def _collect(self, hook: str, offers: Offers[Any]) -> None:
        for plugin, offer in self.offered(hook):
            offers.add(plugin, offer)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a plugin comes from; `load` imports it."""

    name: str
    origin: str
    load: Callable[[], object]
    module: str
    hint: str = ""
    """What to do if it cannot be imported; empty: that depends on why."""


def sources(modules: Sequence[str] = (), *, installed: bool = True, stock: Sequence[str] = ()) -> list[Source]:
    """The stock plugins, more `stock` ones, the installed ones unless `installed` is false, and `modules` by import name."""
    found = [_of_module(name, "stock") for name in (*stock_modules(), *stock)]
    for name, point in _installed() if installed else ():
        dist = _distribution(point)
        hint = f"uninstall or mend {dist}, which has this entry point"
        found.append(Source(name, f"entry point of {dist}", point.load, point.module, hint))
    return found + [_of_module(name, "option") for name in modules]


def _installed() -> list[tuple[str, importlib.metadata.EntryPoint]]:
    """By the name of the entry point; where two distributions have chosen the same, `DISTRIBUTION:NAME`."""
    points = sorted(importlib.metadata.entry_points(group=ENTRY_POINT_GROUP), key=lambda one: (one.name, one.value))
    count = Counter(point.name for point in points)
    return [(one.name if count[one.name] == 1 else f"{_distribution(one)}:{one.name}", one) for one in points]


def _distribution(point: importlib.metadata.EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value


def _of_module(name: str, origin: str) -> Source:
    return Source(name or "''", origin, partial(_import, name), name)


def _import(name: str) -> ModuleType:
    _extend_path()
    return importlib.import_module(name)


def _extend_path() -> None:
    for entry in os.environ.get(PATH_VARIABLE, "").split(os.pathsep):
        if entry and entry not in sys.path:
            sys.path.append(entry)


def child_environment() -> dict[str, str]:
    """For a child of ours that loads plugins: where this process imports from, by full paths."""
    entries = dict.fromkeys(str(Path(entry).absolute()) for entry in sys.path)
    return {PATH_VARIABLE: os.pathsep.join(entries)}


def typed(command: Sequence[str], modules: Sequence[str], variables: Mapping[str, str] | None = None) -> str:
    """The command as it is typed in a shell: before it stand these variables, and what it needs to find these modules as
    this process does."""
    given = "".join(f"{name}={shlex.quote(value)} " for name, value in (variables or {}).items())
    return _environment_for(tuple(modules)) + given + shlex.join(command)


@cache
def _environment_for(modules: tuple[str, ...]) -> str:
    """`PYTHONPATH=/project `, or empty. A Python that is newly started is asked what it finds without."""
    names = sorted({name.partition(".")[0] for name in modules})
    if not names:
        return ""
    program = "import importlib.util as u, sys; print(*[n for n in sys.argv[1:] if u.find_spec(n) is None])"
    asked = subprocess.run([sys.executable, "-P", "-c", program, *names], capture_output=True, text=True, check=False)
    _extend_path()
    found = filter(None, map(importlib.util.find_spec, asked.stdout.split()))
    places = [place for spec in found for place in spec.submodule_search_locations or filter(None, [spec.origin])]
    folders = [str(Path(place).parent) for place in places]  # a namespace package has several, and no file
    if not folders:
        return ""
    already = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return f"PYTHONPATH={shlex.quote(os.pathsep.join(dict.fromkeys([*folders, *already])))} "


def versions(modules: Sequence[str] = ()) -> dict[str, str]:
    """Of every plugin that is not stock: that of its distribution; of a module that belongs to none what it says itself
    (`__version__`), else `sha256:` and the beginning of that of its file."""
    return dict(_versions(tuple(modules)))


@cache
def _versions(modules: tuple[str, ...]) -> dict[str, str]:
    """Once per process: it looks through all that is installed, and what is imported stays as it is."""
    found = {}
    for name, point in _installed():
        found[name] = "unknown" if point.dist is None else f"{point.dist.name} {point.dist.version}"
    distributions = importlib.metadata.packages_distributions() if modules else {}
    for name in modules:
        own = distributions.get(name.partition(".")[0])
        found[name] = f"{own[0]} {importlib.metadata.version(own[0])}" if own else _version_of(name)
    return dict(sorted(found.items()))


def _version_of(name: str) -> str:
    module = _import(name)
    if isinstance(version := getattr(module, "__version__", None), str):
        return version
    if (file := getattr(module, "__file__", None)) is None:
        return "unknown"
    return f"sha256:{hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]}"


def load_plugins(modules: Sequence[str] = (), *, installed: bool = True, stock: Sequence[str] = ()) -> Plugins:
    """Stock plugins, and `stock` of other packages; installed ones unless `installed` is false; `modules` by import name.

    Raises UsageError for a plugin that cannot be imported, implements no hook or one that does not exist, or offers a name
    that another one offers.
    """
    manager = new_manager()
    for source in sources(modules, installed=installed, stock=stock):
        register(manager, source)
    return Plugins(manager)


def new_manager() -> pluggy.PluginManager:
    """One that knows the hooks and no plugin."""
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(hookspecs)
    return manager


def split_choice(choice: Choice, *, where: str = "") -> tuple[str, dict[str, Any]]:
    """A choice's name and its options. Raises UsageError."""
    if isinstance(choice, str):
        return choice, {}
    if not isinstance(choice, Mapping) or not isinstance(choice.get("name"), str):
        raise UsageError(f"{choice!r} is neither a name nor a table with a name", where=where, hint='{ name = "..." }')
    return choice["name"], {str(key): value for key, value in choice.items() if key != "name"}


def register(manager: pluggy.PluginManager, source: Source) -> tuple[str, ...]:
    """The hooks that the plugin implements. Raises UsageError if it cannot be imported or does not fit."""
    try:
        plugin = source.load()
    except FROM_OUTSIDE:
        raise
    except BaseException as bad:
        raise UsageError(
            f"the plugin {source.name} cannot be imported: {said(bad)}",
            where=place_in(source.module, bad),
            hint=source.hint or advice(source.module, bad),
        ) from bad
    try:
        if not manager.is_registered(plugin):
            manager.register(plugin, source.name)
    except (pluggy.PluginValidationError, ValueError) as bad:
        raise UsageError(f"the plugin {source.name} does not fit: {bad}") from bad
    hooks = tuple(sorted(caller.name for caller in manager.get_hookcallers(plugin) or ()))
    if problem := _misfit(plugin, hooks):
        raise UsageError(f"the plugin {source.name} does not fit: {problem}", hint="the hooks are in docs/extending.md")
    return hooks


def _misfit(plugin: object, hooks: Sequence[str]) -> str:
    """A hook that does not exist, or a function that is called like one and is none: its author forgot the marker, and
    nobody would say so."""
    known = sorted(name for name in vars(hookspecs) if name.startswith(f"{PROJECT}_"))
    if unknown := [name for name in hooks if name not in known]:
        return f"there is no hook {unknown[0]}: {nearest(unknown[0], known)}"
    for name, value in sorted(vars(plugin).items() if isinstance(plugin, ModuleType) else ()):
        if name.startswith(f"{PROJECT}_") and callable(value) and name not in hooks:
            return f"{name} is not marked with @hookimpl" if name in known else f"{name}: {nearest(name, known)}"
    return "" if hooks else "it implements no hook"


def stock_modules() -> list[str]:
    """All modules below kcontroller_plugins, sorted by name; those that begin with `_` are their helpers."""
    package = importlib.import_module(STOCK)
    names = (module.name for module in pkgutil.walk_packages(package.__path__, f"{STOCK}.") if not module.ispkg)
    return sorted(name for name in names if not name.rpartition(".")[2].startswith("_"))


def _keys(options: Mapping[str, Any]) -> str:
    return ", ".join(sorted(options))


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else f"selectors.{key}"
