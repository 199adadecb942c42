"""`kcontroller faults`: what a campaign can do to a cluster."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from pytest_kcontroller.cli import _catalogue
from pytest_kcontroller.cli._catalogue import Entry

if TYPE_CHECKING:
    from kcontroller_chaos.catalogue.key import Key
    from kcontroller_chaos.catalogue.kind import Kind

NAME = "faults"
HELP = "the faults: what each does, its modes and keys, an example"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    examples = ["kcontroller faults", "kcontroller faults session_expiry  # one, with all its keys"]
    _catalogue.add_arguments(parser, examples=examples, plugins=True)


def run(args: argparse.Namespace) -> int:
    from kcontroller_chaos.catalogue import load_catalogue
    from kcontroller_chaos.catalogue.placement import TARGETS

    footer = f"Targets: {', '.join(TARGETS)}.\nAll keys of one: kcontroller faults NAME"
    entries = [_entry(kind) for kind in load_catalogue(args.plugin).kinds.values()]
    return _catalogue.show("faults", entries, args, footer=footer)


def _entry(kind: Kind) -> Entry:
    from kcontroller_chaos.catalogue.placement import FAULT_KEYS, TARGETS

    common = [key for key in FAULT_KEYS if key.name != "kind" and (kind.modes or key.name != "mode")]
    modes = [
        (f"mode {mode}", what + (" (the default)" if mode == kind.modes[0] else ""))
        for mode, what in kind.mode_help.items()
    ]
    return Entry(
        name=kind.name,
        what=kind.summary,
        facts=(*modes, *((f"key {key.name}", _say(key)) for key in kind.keys)),
        details=(*((f"key {key.name}", _say(key)) for key in common), ("plugin", kind.plugin)),
        example=kind.example,
        data={
            "modes": kind.mode_help,
            "targets": list(TARGETS),
            "keys": [_record(key) for key in (*common, *kind.keys)],
            "plugin": kind.plugin,
        },
    )


def _say(key: Key) -> str:
    unit = f", {key.unit}" if key.unit else ""
    default = "" if key.default is None else f", default {key.default}"
    choices = f": {', '.join(key.choices)}" if key.choices else ""
    return f"{key.help}{choices} ({key.type}{unit}{default})"


def _record(key: Key) -> dict[str, Any]:
    shown = {"name": key.name, "type": key.type, "unit": key.unit, "default": key.default}
    return {**shown, "choices": list(key.choices), "help": key.help}
