"""What the catalogues (faults, invariants, selectors, assignments) have in common: entries, as text or as JSON."""

from __future__ import annotations

import argparse
import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_kcontroller.cli import explain
from pytest_kcontroller.cli._json import print_json
from pytest_kcontroller.cli._text import WIDTH, labelled
from pytest_kcontroller.model.text import shown

NO_DOCSTRING = "(its class has no docstring that says what it does)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that can be named. `facts` are label and text; `details` too, but shown only when this one is asked for.

    `data` is what `--json` has besides name, what and example.
    """

    name: str
    what: str
    example: str
    facts: tuple[tuple[str, str], ...] = ()
    details: tuple[tuple[str, str], ...] = ()
    data: dict[str, Any] = field(default_factory=dict)


def add_arguments(parser: argparse.ArgumentParser, *, examples: Sequence[str], plugins: bool = False) -> None:
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="only this one, with everything there is to say about it"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    if plugins:
        parser.add_argument(
            "--plugin", action="append", default=[], metavar="MODULE", help="load this plugin too; may be repeated"
        )
    wrong = "there is no such name, or a plugin is broken" if plugins else "there is no such name"
    explain(parser, examples=examples, statuses=f"0 printed, 2 {wrong}")


def show(
    kind: str, entries: Sequence[Entry], args: argparse.Namespace, *, footer: str, examples_in_list: bool = True
) -> int:
    """Prints the entries, or the one that is asked for. Raises UsageError with the nearest name. `kind` is the plural."""
    from pytest_kcontroller.errors import UsageError
    from pytest_kcontroller.model.suggestions import nearest

    chosen = [entry for entry in entries if args.name in (None, entry.name)]
    if args.name is not None and not chosen:
        hint = nearest(args.name, [entry.name for entry in entries])
        raise UsageError(f"there is no {args.name!r} among the {kind}", hint=hint)
    if args.json:
        print_json({kind: [_record(entry) for entry in chosen]})
        return 0
    whole = args.name is not None
    print("\n\n".join(_text(entry, whole=whole, example=whole or examples_in_list) for entry in chosen))
    if not whole:
        print(f"\n{footer}")
    return 0


def _record(entry: Entry) -> dict[str, Any]:
    return {"name": entry.name, "what": entry.what, **entry.data, "example": entry.example}


def _text(entry: Entry, *, whole: bool, example: bool) -> str:
    lines = [entry.name, *textwrap.wrap(entry.what, WIDTH - 4, initial_indent="    ", subsequent_indent="    ")]
    lines += labelled([*entry.facts, *(entry.details if whole else ())], indent="    ")
    if example:
        lines += ["", textwrap.indent(entry.example.rstrip("\n"), "        ")]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Option:
    """A parameter of a plugin's class. `default` is text; None: it must be given."""

    name: str
    default: str | None
    in_file: str
    """How an example of a campaign file says it; empty: no file can, and it is left out there."""

    def __str__(self) -> str:
        return f"{self.name} (must be given)" if self.default is None else f"{self.name} (default {self.default})"


def sentence(offer: Any) -> str:
    """The first paragraph of the docstring of a plugin's class."""
    made = offer if isinstance(offer, type) else type(offer)
    text = inspect.cleandoc(vars(made).get("__doc__") or "").partition("\n\n")[0]
    return " ".join(text.split()) or NO_DOCSTRING


def options(offer: Any) -> tuple[Option, ...]:
    """What a plugin's class takes; a ready value takes nothing."""
    if not isinstance(offer, type):
        return ()
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    try:
        parameters = [p for p in inspect.signature(offer).parameters.values() if p.kind in named]
    except ValueError:  # a class that was not written in Python may not say what it takes
        return ()
    return tuple(_option(p.name, p.default) for p in parameters)


def _option(name: str, default: object) -> Option:
    from kcontroller_chaos.campaign.written import value_text

    if default is inspect.Parameter.empty:
        return Option(name, None, "...")
    try:
        text = value_text(default)
    except TypeError:
        return Option(name, shown(default), "")
    return Option(name, text, text)


def choice(name: str, given: Sequence[Option]) -> str:
    """A choice of this plugin as a campaign file has it: a name, or a table with its options."""
    if not any(option.in_file for option in given):
        return f'"{name}"'
    pairs = ", ".join(f"{option.name} = {option.in_file}" for option in given if option.in_file)
    return f'{{ name = "{name}", {pairs} }}'


def plugin_entries(offers: Any, example: Callable[[str, str], str]) -> list[Entry]:
    """Entries of what plugins offer (plugin_manager.Offers). `example` gets a name and its choice in TOML."""
    return [_plugin_entry(name, offers, example) for name in offers.names]


def _plugin_entry(name: str, offers: Any, example: Callable[[str, str], str]) -> Entry:
    offer, plugin = offers.get(name), offers.plugin_of(name)
    given = options(offer)
    facts = [("plugin", plugin)]
    if given:
        facts.append(("options", ", ".join(map(str, given))))
    return Entry(
        name=name,
        what=sentence(offer),
        facts=tuple(facts),
        example=example(name, choice(name, given)),
        data={"plugin": plugin, "options": [{"name": o.name, "default": o.default} for o in given]},
    )
