"""The controller's events, its state machines and its leader selectors as parts of a page, printed from the code."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator, Mapping
from enum import StrEnum

from pytest_kcontroller.controller import events
from pytest_kcontroller.controller.events.event import Event
from pytest_kcontroller.controller.transitions import PARTITION_FROM, REPLICA_FROM, PartitionState, ReplicaState
from pytest_kcontroller.plugin.manager import load_plugins


def events_table() -> str:
    """In Markdown, by name. `answered`: whether somebody waits for it, and hears NOT_CONTROLLER if it is preempted."""
    lines = ["| event | comes from | metric |", "|---|---|---|"]
    for event in sorted(all_events(), key=lambda event: (event.name, event.source)):
        metric = "" if event.metric is None else f"`{event.metric}`"
        lines.append(f"| `{event.name}` | {event.source} | {metric} |")
    return "\n".join(lines) + "\n"


def all_events() -> Iterator[type[Event]]:
    """Those of every module, in the order of the modules."""
    for module in sorted(pkgutil.iter_modules(events.__path__), key=lambda module: module.name):
        name = f"{events.__name__}.{module.name}"
        for _, kind in inspect.getmembers(importlib.import_module(name), inspect.isclass):
            if issubclass(kind, Event) and kind.__module__ == name and not inspect.isabstract(kind):
                yield kind


def partition_machine() -> str:
    return _machine(PARTITION_FROM, PartitionState)


def replica_machine() -> str:
    return _machine(REPLICA_FROM, ReplicaState)


def _machine(legal: Mapping[StrEnum, frozenset[StrEnum]], states: type[StrEnum]) -> str:
    """The table of legal transitions, and the same as a Mermaid diagram; in the order in which the states are declared."""
    lines = ["| to | from |", "|---|---|"]
    arrows = []
    for target in states:
        origins = [state for state in states if state in legal[target]]
        lines.append(f"| `{target}` | {', '.join(f'`{state}`' for state in origins)} |")
        arrows += [f"    {origin} --> {target}" for origin in origins]
    return "\n".join([*lines, "", "```mermaid", "stateDiagram-v2", *arrows, "```"]) + "\n"


def selectors_table() -> str:
    """Name and the first paragraph of what each selector says of itself."""
    lines = ["| selector | rule |", "|---|---|"]
    offered = load_plugins(installed=False).selectors
    for name in sorted(offered.names):
        paragraph = inspect.cleandoc(offered.get(name).__doc__ or "").split("\n\n")[0]
        lines.append(f"| `{name}` | {' '.join(paragraph.split())} |")
    return "\n".join(lines) + "\n"
