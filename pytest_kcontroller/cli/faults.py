"""`kcontroller faults`: what a campaign can do to a cluster."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_kcontroller.cli import _catalogue
from pytest_kcontroller.cli._catalogue import Entry

if TYPE_CHECKING:
    from kcontroller_chaos.campaign.keys import Key
    from kcontroller_chaos.faults import Fault

NAME = "faults"
HELP = "the faults: what each does, its modes and keys, an example"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    examples = ["kcontroller faults", "kcontroller faults session_expiry  # one, with all its keys"]
    _catalogue.add_arguments(parser, examples=examples)


def run(args: argparse.Namespace) -> int:
    from kcontroller_chaos.campaign import keys
    from kcontroller_chaos.faults import kinds

    footer = f"Targets: {', '.join(keys.TARGETS)}.\nAll keys of one: kcontroller faults NAME"
    return _catalogue.show("faults", [_entry(fault) for fault in kinds().values()], args, footer=footer)


def _entry(fault: type[Fault]) -> Entry:
    from kcontroller_chaos.campaign import keys
    from kcontroller_chaos.faults import summary

    own = [replace(key, help=key.help.removeprefix(f"of {fault.kind}: ")) for key in keys.parameters(fault)]
    common = [key for key in keys.FAULT_KEYS if key.name != "kind" and (fault.modes or key.name != "mode")]
    modes = [
        (f"mode {mode}", fault.mode_help[mode] + (" (the default)" if mode == fault.modes[0] else ""))
        for mode in fault.modes
    ]
    return Entry(
        name=fault.kind,
        what=summary(fault),
        facts=(*modes, *((f"key {key.name}", _say(key)) for key in own)),
        details=tuple((f"key {key.name}", _say(key)) for key in common),
        example=fault.example,
        data={
            "modes": dict(fault.mode_help),
            "targets": list(keys.TARGETS),
            "keys": [_record(key) for key in (*common, *own)],
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
