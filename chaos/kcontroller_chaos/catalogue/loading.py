"""What can be named in a campaign: the faults and invariants that plugins offer, ours and a user's.

They are checked when they are loaded: a wrong one is a UsageError that names the plugin, before anything starts. What only
shows in a run is kept in check by the player (play/player.py) and by `Invariant.judge`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kcontroller_chaos.catalogue.checks import fault_problem, invariant_problem
from kcontroller_chaos.catalogue.kind import Kind
from kcontroller_chaos.faults import Fault
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.model.suggestions import nearest
from pytest_kcontroller.plugin.manager import Plugins, load_plugins

STOCK = ("kcontroller_chaos.faults", "kcontroller_chaos.invariants")
"""The plugins that offer what this project brings."""
MUTANTS = "kcontroller_chaos.mutants"
"""The one that has the mutants: loaded when one is named."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Everything that plugins offer to campaigns, by name."""

    kinds: Mapping[str, Kind]
    invariants: tuple[Invariant, ...]
    plugin_of: Mapping[str, str]
    """Invariant -> plugin."""
    plugins: Plugins = field(repr=False, compare=False)
    """What else they offer."""

    @property
    def fault_names(self) -> tuple[str, ...]:
        """KIND and KIND:MODE of all."""
        return tuple(name for kind in self.kinds.values() for name in kind.names)

    def kind(self, name: str) -> Kind:
        """Raises UsageError with the nearest name."""
        if name not in self.kinds:
            raise UsageError(f"there is no fault {name!r}", hint=nearest(name, self.kinds))
        return self.kinds[name]

    def invariant(self, name: str) -> Invariant:
        """Raises UsageError with the nearest name."""
        known = {one.name: one for one in self.invariants}
        if name not in known:
            raise UsageError(f"there is no invariant {name!r}", hint=nearest(name, known))
        return known[name]

    def named(self, name: str) -> type[Fault]:
        """The class that KIND or KIND:MODE names. Raises UsageError."""
        kind, _, mode = name.partition(":")
        return self.kind(kind).of(mode or None)


def load_catalogue(modules: Sequence[str] = (), *, installed: bool = True) -> Catalogue:
    """What the stock plugins, the installed ones and `modules` offer. Raises UsageError as load_plugins does."""
    return catalogue_of(load_plugins(modules, installed=installed, stock=STOCK))


def catalogue_of(plugins: Plugins) -> Catalogue:
    """Raises UsageError that names the plugin whose offer cannot be used."""
    invariants, plugin_of = _invariants(plugins.offered("kcontroller_invariants"))
    return Catalogue(_kinds(plugins.offered("kcontroller_faults")), invariants, plugin_of, plugins)


def offers(plugins: Plugins) -> list[tuple[str, str]]:
    """What `kcontroller plugins list` says of these plugins: (fault or invariant, name). Raises UsageError."""
    known = catalogue_of(plugins)
    return [*(("fault", name) for name in known.kinds), *(("invariant", one.name) for one in known.invariants)]


def _kinds(offered: Sequence[tuple[str, Any]]) -> dict[str, Kind]:
    found: dict[str, Kind] = {}
    for plugin, offer in offered:
        if problem := fault_problem(offer):
            raise UsageError(f"the plugin {plugin} offers a fault that cannot be used: {_named(offer)} {problem}")
        kind = found.get(offer.kind, Kind(offer.kind, plugin, ()))
        if kind.plugin != plugin:
            raise UsageError(
                f"two plugins offer the fault {kind.name!r}: {kind.plugin} and {plugin}",
                hint="load only one of them, or rename one",
            )
        found[kind.name] = dataclasses.replace(kind, classes=(*kind.classes, offer))
    for kind in found.values():
        if len(kind.classes) > 1 and len({one.mode for one in kind.classes} - {None}) < len(kind.classes):
            raise UsageError(
                f"the plugin {kind.plugin} offers {kind.name!r} twice", hint="give each a `mode` of its own"
            )
    return dict(sorted(found.items()))


def _invariants(offered: Sequence[tuple[str, Any]]) -> tuple[tuple[Invariant, ...], dict[str, str]]:
    found: dict[str, Invariant] = {}
    plugin_of: dict[str, str] = {}
    for plugin, offer in offered:
        if problem := invariant_problem(offer):
            raise UsageError(f"the plugin {plugin} offers an invariant that cannot be used: {_named(offer)} {problem}")
        if offer.name in found:
            raise UsageError(
                f"two plugins offer the invariant {offer.name!r}: {plugin_of[offer.name]} and {plugin}",
                hint="load only one of them, or rename one",
            )
        found[offer.name], plugin_of[offer.name] = offer() if isinstance(offer, type) else offer, plugin
    return tuple(found[name] for name in sorted(found)), plugin_of


def _named(offer: Any) -> str:
    return f"{offer.__module__}.{offer.__qualname__}" if isinstance(offer, type) else repr(offer)
