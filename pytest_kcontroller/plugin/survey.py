"""Every plugin there is, one by one: a broken one is described instead of stopping the others from being seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.plugin.blame import FROM_OUTSIDE, said
from pytest_kcontroller.plugin.manager import Plugins, Source, new_manager, register, sources

Offered = Callable[[Plugins], Sequence[tuple[str, str]]]
"""What else plugins offer, (kind, name); raises UsageError for what cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPlugin:
    """`offers` are (kind, name); `problem` is empty if it can be used."""

    name: str
    origin: str
    hooks: tuple[str, ...] = ()
    offers: tuple[tuple[str, str], ...] = ()
    problem: str = ""


def survey(modules: Sequence[str], *, stock: Sequence[str], more: Offered) -> list[FoundPlugin]:
    """The stock plugins, those of other packages (`stock`), the installed ones, and `modules`. Raises nothing, whatever a
    plugin does."""
    return _without_doubles([_survey(source, more) for source in sources(modules, stock=stock)])


def _survey(source: Source, more: Offered) -> FoundPlugin:
    """What the plugin offers when it is alone."""
    manager = new_manager()
    hooks: tuple[str, ...] = ()
    try:
        hooks = register(manager, source)
        plugins = Plugins(manager)
        kinds = (plugins.selectors, plugins.assignments, plugins.mutants)
        offers = tuple((kind.kind, offer) for kind in kinds for offer in kind.names) + tuple(more(plugins))
    except FROM_OUTSIDE:
        raise
    except BaseException as broken:  # noqa: BLE001 - so that the others are seen
        what = said(broken)
        if isinstance(broken, UsageError):
            what = f"{broken.what} ({broken.where})" if broken.where else broken.what
        return FoundPlugin(name=source.name, origin=source.origin, hooks=hooks, problem=_one_line(what))
    return FoundPlugin(name=source.name, origin=source.origin, hooks=hooks, offers=offers)


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
