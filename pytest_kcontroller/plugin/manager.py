"""How plugins are found, and how what they offer is chosen by name.

Found, in this order: the stock ones (`kcontroller_plugins`, every module of it), installed distributions with an entry
point in the group `kcontroller`, and modules named by a setting. Choosing never depends on that order: two plugins that
offer one name are an error.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import pluggy

from pytest_kcontroller import hookspecs
from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.hookspecs import PROJECT, AssignmentStrategy, LeaderSelector
from pytest_kcontroller.model.election import ElectionReason
from pytest_kcontroller.runtime.seams import Mutant

STOCK = "kcontroller_plugins"
ENTRY_POINT_GROUP = "kcontroller"

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
        except Exception as bad:
            raise UsageError(
                f"the {self.kind} {name!r} of the plugin {self._plugins[name]} refuses its options: {bad}", where=where
            ) from bad
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

    @property
    def manager(self) -> pluggy.PluginManager:
        """For hooks that are called later (observers)."""
        return self._manager

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

    def mutant(self, name: str | None, *, where: str = "") -> Mutant | None:
        """None for None."""
        if name is None:
            return None
        mutant: Mutant = self.mutants.get(name, where=where)
        return mutant

    def _collect(self, hook: str, offers: Offers[Any]) -> None:
        """Plugin by plugin, so that an error can name the plugin."""
        for implementation in sorted(getattr(self._manager.hook, hook).get_hookimpls(), key=lambda h: h.plugin_name):
            try:
                offered = list(implementation.function())
            except (Exception, SystemExit) as bad:
                raise UsageError(f"the plugin {implementation.plugin_name} failed in {hook}: {bad!r}") from bad
            for offer in offered:
                offers.add(implementation.plugin_name, offer)


def load_plugins(modules: Sequence[str] = (), *, installed: bool = True) -> Plugins:
    """Stock plugins, installed ones unless `installed` is false, and `modules` by import name.

    Raises UsageError for a plugin that cannot be imported, implements a hook that does not exist, or offers a name that
    another one offers.
    """
    manager = new_manager()
    for name in stock_modules():
        register_module(manager, name)
    if installed:
        try:
            manager.load_setuptools_entrypoints(ENTRY_POINT_GROUP)
        except (Exception, SystemExit) as bad:
            raise UsageError(
                f"an installed plugin (entry point group {ENTRY_POINT_GROUP}) cannot be loaded: {bad!r}",
                hint="uninstall or mend the distribution that has this entry point",
            ) from bad
    for name in modules:
        register_module(manager, name)
    return checked(manager)


def new_manager() -> pluggy.PluginManager:
    """One that knows the hooks and no plugin."""
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(hookspecs)
    return manager


def checked(manager: pluggy.PluginManager) -> Plugins:
    """What the registered plugins offer. Raises UsageError, also for a hook that does not exist."""
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as bad:
        raise UsageError(str(bad), hint="the hooks are listed in pytest_kcontroller.hookspecs") from bad
    return Plugins(manager)


def split_choice(choice: Choice, *, where: str = "") -> tuple[str, dict[str, Any]]:
    """A choice's name and its options. Raises UsageError."""
    if isinstance(choice, str):
        return choice, {}
    if not isinstance(choice, Mapping) or not isinstance(choice.get("name"), str):
        raise UsageError(f"{choice!r} is neither a name nor a table with a name", where=where, hint='{ name = "..." }')
    return choice["name"], {str(key): value for key, value in choice.items() if key != "name"}


def nearest(name: str, names: Sequence[str]) -> str:
    """A hint for an unknown name."""
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    known = ", ".join(sorted(names)) or "none"
    return f"did you mean {close[0]!r}? there are: {known}" if close else f"there are: {known}"


def register_module(manager: pluggy.PluginManager, name: str) -> None:
    """Raises UsageError if the module cannot be imported or does not fit."""
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit) as bad:
        raise UsageError(
            f"the plugin {name} cannot be imported: {bad!r}",
            hint="every node process imports it by this name: install it, or put its folder on PYTHONPATH",
        ) from bad
    if manager.is_registered(module):
        return
    try:
        manager.register(module, name)
    except pluggy.PluginValidationError as bad:
        raise UsageError(f"the plugin {name} does not fit: {bad}") from bad


def stock_modules() -> list[str]:
    """All modules below kcontroller_plugins, sorted by name; those that begin with `_` are their helpers."""
    package = importlib.import_module(STOCK)
    names = (module.name for module in pkgutil.walk_packages(package.__path__, f"{STOCK}.") if not module.ispkg)
    return sorted(name for name in names if not name.rpartition(".")[2].startswith("_"))


def _keys(options: Mapping[str, Any]) -> str:
    return ", ".join(sorted(options))


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else f"selectors.{key}"
