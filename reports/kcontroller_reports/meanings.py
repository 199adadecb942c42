"""What the names on a page mean: the invariants, faults and mutants of this project, in the words of their catalogue."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from kcontroller_chaos.catalogue import load_catalogue
from kcontroller_chaos.catalogue.kind import sentence
from kcontroller_chaos.znode_invariants import KINDS
from kcontroller_reports.summary import Summary


@dataclass(frozen=True, slots=True)
class Meaning:
    """`anchor` is where the page says it; `facts` are label and text."""

    anchor: str
    name: str
    what: str
    facts: tuple[tuple[str, str], ...]


@cache
def _known() -> dict[str, dict[str, Meaning]]:
    from kcontroller_chaos.catalogue.loading import MUTANTS
    from pytest_kcontroller.plugin.manager import load_plugins

    known = load_catalogue(installed=False)  # a broken plugin of somebody's is no reason to have no report
    mutants = load_plugins((MUTANTS,), installed=False).mutants
    return {
        "invariant": {
            one.name: _meaning(
                "invariant",
                one.name,
                one.summary,
                ("must hold", one.expected),
                ("kind", one.kind),
                ("source", one.source),
            )
            for one in known.invariants
        }
        | {
            one.rule: _meaning(
                "invariant",
                one.rule,
                sentence(one),
                ("must hold", one.expected),
                ("kind", one.kind),
                ("source", one.source),
            )
            for classes in KINDS.values()
            for one in classes
        },
        "fault": {
            kind.name: _meaning("fault", kind.name, kind.summary, *kind.mode_help.items())
            for kind in known.kinds.values()
        },
        "mutant": {
            name: _meaning("mutant", name, one.description, ("breaks", ", ".join(one.breaks)), ("source", one.source))
            for name, one in ((name, mutants.get(name)) for name in mutants.names)
        },
    }


def _meaning(sort: str, name: str, what: str, *facts: tuple[str, str]) -> Meaning:
    anchor = f"{sort}-{re.sub('[^A-Za-z0-9-]', '-', name)}"
    return Meaning(anchor, name, what, tuple((label, text) for label, text in facts if text))


def meaning(sort: str, name: str | None) -> Meaning | None:
    """Of an invariant (one of a file by its rule), a fault (by its kind, with or without its mode) or a mutant; None: a
    plugin of somebody's."""
    end = {"fault": ":", "invariant": "("}.get(sort)
    return _known()[sort].get((name or "").partition(end)[0] if end else name or "")


def meanings(summary: Summary) -> tuple[tuple[str, tuple[Meaning, ...]], ...]:
    """The ones that this report names."""
    names: dict[str, list[str | None]] = {
        "invariant": [row.invariant for row in summary.invariants],
        "fault": [row.fault for row in summary.fault_kinds],
        "mutant": [run.mutant for run in summary.runs],
    }
    found = []
    for sort, several in names.items():
        told = {one.name: one for name in several if (one := meaning(sort, name))}
        if told:
            found.append((f"{sort}s", tuple(told[name] for name in sorted(told))))
    return tuple(found)
