"""One key of a campaign file or parameter of a fault: its type, unit, bounds and choices, and what is wrong with a value.

Errors of campaign files, of `chaos.inject`, the JSON schema and the tables in the docs are made from this declaration.

Why no library: msgspec and pydantic (50 and 78 ms of CPU to import; this module 2) check types and bounds and print a
schema, but know no units, no nearest name and no line, and stop at texts such as "Expected `int` >= 1 - at `$.nodes`". What
they would take over is `Key.wrong`; what would come is a translation of their errors into sentences, as long, models that
are made when plugins have been loaded, and a package more in the environment of every test suite.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_type_hints

from pytest_kcontroller.model.suggestions import nearest

MOST_SHOWN = 60
MOST_NUMBER = 10**9
"""Of a key that says no bound of its own: no campaign has use for more."""

REQUIRED: Any = object()
"""The default of a key that has none."""

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "plugin": (str, dict),
    "seeds": (str, list),
    "names": (list,),
    "nodes": (list,),
    "range": (list,),
    "date": (datetime.date,),
}
_SAID = {"string": "a text", "integer": "a whole number", "number": "a number", "boolean": "true or false"}
_SAID |= {"object": "a table", "plugin": "a name or a table", "seeds": '"1..20" or a list of whole numbers'}
_SAID |= {
    "names": "a list of names",
    "nodes": "a list of ids of nodes",
    "range": "[least, most]",
    "date": "a date (without quotes: 2027-03-01)",
}
PARAMETER_TYPES: Mapping[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
"""What a fault's parameter may be."""
ACTION_TYPES: Mapping[Any, str] = {**PARAMETER_TYPES, tuple[int, ...]: "nodes"}
"""What an admin action's parameter may be."""


@dataclass(frozen=True, slots=True)
class Key:
    """`type` is a JSON schema type or one of: seeds, plugin, names, nodes, range, date. `choices`: the only values (of a
    table: keys)."""

    name: str
    type: str
    help: str
    default: Any = None
    unit: str = ""
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None

    def wrong(self, value: Any) -> tuple[str, str] | None:
        """What is wrong with this value, and a hint; None: it can be used."""
        odd = self.type == "names" and isinstance(value, list) and not all(isinstance(name, str) for name in value)
        odd = odd or (isinstance(value, bool) and self.type != "boolean") or isinstance(value, datetime.datetime)
        if odd or not isinstance(value, _TYPES[self.type]):
            return f"{shown(value)} is not {_SAID[self.type]}", self.help
        if self.type == "plugin" and isinstance(value, dict) and not isinstance(value.get("name"), str):
            return "the table has no `name`", self.help
        if self.type == "nodes" and isinstance(value, list):
            return self._wrong_nodes(value)
        if self.type == "range" and isinstance(value, list):
            return self._wrong_range(value)
        if isinstance(value, int | float) and (found := self._wrong_number(value)):
            return found
        names = value if isinstance(value, dict | list) else (str(value),)
        unknown = [name for name in names if name not in self.choices] if self.choices else []
        return (f"{unknown[0]!r} is not known", nearest(unknown[0], self.choices)) if unknown else None

    def _wrong_number(self, value: float) -> tuple[str, str] | None:
        unit = f" {self.unit}" if self.unit else ""
        most = MOST_NUMBER if self.most is None else self.most
        if self.least is not None and value < self.least:
            return f"{shown(value)} is less than {self.least:g}{unit}", self.help
        if not value <= most:  # nan is in no order
            return f"{shown(value)} is no number up to {most:,}{unit}", self.help
        return None

    def _wrong_nodes(self, value: list[Any]) -> tuple[str, str] | None:
        odd = next((one for one in value if type(one) is not int or one < 0), None)
        return None if odd is None else (f"{shown(odd)} in {shown(value)} is no id of a node", self.help)

    def _wrong_range(self, value: list[Any]) -> tuple[str, str] | None:
        numbers = [one for one in value if isinstance(one, int | float) and not isinstance(one, bool)]
        if len(numbers) != 2 or len(value) != 2 or not (self.least or 0) <= numbers[0] <= numbers[1]:
            least = f"{self.least or 0:g}"
            what = f"{shown(value)} is no range: two numbers, from {least} on, the smaller one first"
            return what, self.help
        return self._wrong_number(numbers[0]) or self._wrong_number(numbers[1])


def parameters(declared: type, types: Mapping[Any, str] = PARAMETER_TYPES) -> tuple[Key, ...]:
    """The keys that the fields of a fault or, with ACTION_TYPES, of an admin action make; the default of one that must be
    given is REQUIRED. Raises TypeError: a field that cannot stand in a campaign file."""
    hints = _types_of(declared)
    return tuple(_parameter(field, hints[field.name], types) for field in dataclasses.fields(declared))


# A command asks some hundred times; each answer compiles all annotations of the class and of its bases.
_types_of = functools.cache(get_type_hints)


def _parameter(field: dataclasses.Field[Any], kind: Any, types: Mapping[Any, str]) -> Key:
    if kind not in types:
        raise TypeError(f"the type of {field.name} is {kind!r}, not str, int, float or bool")
    told, default = field.metadata, REQUIRED if field.default is dataclasses.MISSING else field.default
    key = Key(
        field.name,
        types[kind],
        told.get("help", ""),
        default,
        told.get("unit", ""),
        tuple(told.get("choices", ())),
        told.get("least"),
        told.get("most"),
    )
    if default is REQUIRED and types is PARAMETER_TYPES:
        raise TypeError(f"{field.name} has no default")
    if default is not REQUIRED and (found := key.wrong(list(default) if key.type == "nodes" else default)):
        raise TypeError(f"the default of {field.name}: {found[0]}")
    return key


def merged(declared: Mapping[str, Iterable[Key]], word: str, *, unless_alike: bool = False) -> tuple[Key, ...]:
    """One key for each name that several kinds or modes declare: it takes what it takes with one of them.

    Its help says which has what ("of kill: ..."; `word` is the "of"), with `unless_alike` only where that differs. A
    default that not all have stands there too."""
    named: dict[str, dict[str, Key]] = {}
    for one, keys in declared.items():
        for key in keys:
            named.setdefault(key.name, {})[one] = key
    return tuple(_merged(of, word, unless_alike) for of in named.values())


def _merged(of: Mapping[str, Key], word: str, unless_alike: bool) -> Key:
    keys = tuple(of.values())
    alike = keys[0].default is not REQUIRED and all(key.default == keys[0].default for key in keys)
    said: dict[str, list[str]] = {}
    for one, key in of.items():
        default = "required" if key.default is REQUIRED else f"default {typed(key.default)}"
        said.setdefault(key.help if alike else f"{key.help} ({default})", []).append(one)
    plain = unless_alike and len(said) == 1
    least = [key.least for key in keys if key.least is not None]
    most = [key.most for key in keys if key.most is not None]
    choices = dict.fromkeys(choice for key in keys for choice in key.choices)
    return replace(
        keys[0],
        help=next(iter(said)) if plain else "; ".join(f"{word} {', '.join(by)}: {help}" for help, by in said.items()),
        default=keys[0].default if alike else None,
        choices=tuple(choices) if all(key.choices for key in keys) else (),
        least=min(least) if len(least) == len(keys) else None,
        most=max(most) if len(most) == len(keys) else None,
    )


def typed(value: object) -> str:
    """As it would stand in a campaign file."""
    return json.dumps(value)


def shown(value: object) -> str:
    """As it is written; a number of a thousand digits is not."""
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."
