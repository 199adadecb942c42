"""What docs/formats.md says of the history, printed from the declarations of its kinds."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import ModuleType, NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from kcontroller_chaos.history import transactions
from pytest_kcontroller.model.history import broker, controller, engine, faults, node, program
from pytest_kcontroller.model.history.event import About, Batch, HistoryEvent, kinds, names_of
from pytest_kcontroller.model.history.fields import COLUMNS

GROUPS: Mapping[str, ModuleType] = {
    "A node's process": node,
    "A node as the controller": controller,
    "A node as a broker": broker,
    "A program of yours": program,
    "The engine, or a test": engine,
    "Faults": faults,
    "ZooKeeper's log": transactions,
}
_PLAIN = {int: "number", float: "number", str: "text", bool: "true or false", Any: "any"}


def docs_tables() -> str:
    """A table of kinds for each writer, then one of all fields."""
    parts = []
    for title, module in GROUPS.items():
        group = [kind for kind in kinds() if kind.__module__ == module.__name__]
        parts += [f"### {title}\n", *_kinds(group), ""]
    return "\n".join([*parts, "### Fields\n", *_fields(kinds()), ""])


def _kinds(group: Sequence[type[HistoryEvent]]) -> Iterator[str]:
    """What all of them have is said above the table."""
    shared = [name for name in names_of(group[0]) if all(name in names_of(kind) for kind in group)]
    if len(group) > 1 and shared:
        yield f"All have {_named(shared)}.\n"
    else:
        shared = []
    yield "| kind | what happened | fields |"
    yield "|---|---|---|"
    for kind in group:
        what = " ".join((inspect.getdoc(kind) or "").split())
        columns = f" of {_named(kind.columns)}" if issubclass(kind, Batch) else ""
        fields = _named(name for name in names_of(kind) if name not in shared) + columns
        yield f"| `{kind.kind}` | {what} | {fields} |".replace("  |", " |")


def _named(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _fields(all_kinds: Iterable[type[HistoryEvent]]) -> Iterator[str]:
    """By name; one that means several things has a row for each."""
    meant: dict[str, dict[tuple[str, str], list[str]]] = {}
    for kind in all_kinds:
        hints = get_type_hints(kind, include_extras=True)
        columns = kind.columns if issubclass(kind, Batch) else ()
        for name in (*names_of(kind), *columns):
            hint = COLUMNS[name] if name in columns else hints[name]
            meant.setdefault(name, {}).setdefault(_said(hint), []).append(kind.kind)
    yield "| field | type | what it is |"
    yield "|---|---|---|"
    for name in sorted(meant):
        for (kind_of, meaning), where in meant[name].items():
            of = f" ({_named(_whole_families(where))})" if len(meant[name]) > 1 else ""
            yield f"| `{name}` | {kind_of} | {meaning}{of} |"


def _whole_families(where: Sequence[str]) -> Iterator[str]:
    """`fault.*` in place of all kinds that begin so."""
    families: dict[str, list[str]] = {}
    for name in where:
        families.setdefault(name.partition(".")[0], []).append(name)
    for family, members in families.items():
        every = [kind.kind for kind in kinds() if kind.kind.startswith(f"{family}.")]
        yield from [f"{family}.*"] if len(members) == len(every) > 1 else members


def _said(hint: Any) -> tuple[str, str]:
    """Type and meaning."""
    about = next(each for each in hint.__metadata__ if isinstance(each, About))
    unit = f", in {about.unit}" if about.unit else ""
    return _type(get_args(hint)[0]), f"{about.meaning}{unit}"


def _type(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join("null" if each is NoneType else _type(each) for each in arguments)
    if origin is list:
        return f"list of {_type(arguments[0])}s" if arguments[0] in (int, str) else "list of objects"
    return _PLAIN.get(hint, "object")
