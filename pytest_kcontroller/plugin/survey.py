"""Every plugin there is, one by one: a broken one is described instead of stopping the others from being seen."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType

import pluggy

from pytest_kcontroller import hookspecs
from pytest_kcontroller.errors import KControllerError, UsageError
from pytest_kcontroller.hookspecs import PROJECT
from pytest_kcontroller.plugin.manager import (
    ENTRY_POINT_GROUP,
    checked,
    nearest,
    new_manager,
    register_module,
    stock_modules,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPlugin:
    """`offers` are (kind, name); `problem` is empty if it can be used."""

    name: str
    origin: str
    hooks: tuple[str, ...] = ()
    offers: tuple[tuple[str, str], ...] = ()
    problem: str = ""


def survey(modules: Sequence[str] = ()) -> list[FoundPlugin]:
    """The stock plugins, the installed ones, and `modules`. Raises nothing, whatever a plugin does."""
    found = [_look(name, "stock", partial(register_module, name=name)) for name in stock_modules()]
    for point in sorted(importlib.metadata.entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name):
        origin = f"entry point of {point.dist.name if point.dist is not None else point.value}"
        found.append(_look(point.name, origin, partial(_register_point, point=point)))
    found += [_look(name, "option", partial(register_module, name=name)) for name in modules]
    return _without_doubles(found)


def _register_point(manager: pluggy.PluginManager, point: importlib.metadata.EntryPoint) -> None:
    try:
        manager.register(point.load(), point.name)
    except Exception as bad:
        raise UsageError(f"the plugin {point.name} cannot be loaded from {point.value}: {bad!r}") from bad


def _look(name: str, origin: str, register: Callable[[pluggy.PluginManager], None]) -> FoundPlugin:
    manager = new_manager()
    hooks: tuple[str, ...] = ()
    try:
        register(manager)
        (plugin,) = manager.get_plugins()
        hooks = tuple(sorted(caller.name for caller in manager.get_hookcallers(plugin) or ()))
        plugins = checked(manager)
    except (KControllerError, SystemExit) as broken:  # a module may call sys.exit when it is imported
        what = broken.what if isinstance(broken, UsageError) else repr(broken)
        return FoundPlugin(name=name, origin=origin, hooks=hooks, problem=_one_line(what))
    kinds = (plugins.selectors, plugins.assignments, plugins.mutants)
    offers = tuple((kind.kind, offer) for kind in kinds for offer in kind.names)
    return FoundPlugin(name=name, origin=origin, hooks=hooks, offers=offers, problem=_unmarked(plugin, hooks))


def _unmarked(plugin: object, hooks: Sequence[str]) -> str:
    """A function that is called like a hook and is none: its author forgot the marker, and nobody would say so."""
    known = sorted(name for name in vars(hookspecs) if name.startswith(f"{PROJECT}_"))
    for name, value in sorted(vars(plugin).items() if isinstance(plugin, ModuleType) else ()):
        if name.startswith(f"{PROJECT}_") and callable(value) and name not in hooks:
            return f"{name} is not marked with @hookimpl" if name in known else f"{name}: {nearest(name, known)}"
    return "" if hooks else "it implements no hook"


def _without_doubles(found: list[FoundPlugin]) -> list[FoundPlugin]:
    """Two plugins that offer one name cannot be loaded together: the later one is the problem."""
    owner: dict[tuple[str, str], str] = {}
    shown: list[FoundPlugin] = []
    for plugin in found:
        doubles = [offer for offer in plugin.offers if offer in owner and owner[offer] != plugin.name]
        if doubles and not plugin.problem:
            kind, name = doubles[0]
            problem = f"it offers the {kind} {name!r}, which {owner[doubles[0]]} offers too"
            shown.append(replace(plugin, problem=problem))
        else:
            shown.append(plugin)
        owner.update((offer, plugin.name) for offer in plugin.offers if offer not in owner)
    return shown


def _one_line(text: str) -> str:
    return " ".join(text.split())
