"""`kcontroller assignments`: who may decide where replicas live."""

from __future__ import annotations

import argparse

from pytest_kcontroller.cli import _catalogue

NAME = "assignments"
HELP = "the replica assignment strategies: where each puts replicas, its options, an example"

FOOTER = "A cluster has one; the default is striped."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    examples = ["kcontroller assignments", "kcontroller assignments rack-aware"]
    _catalogue.add_arguments(parser, examples=examples, plugins=True)


def run(args: argparse.Namespace) -> int:
    from pytest_kcontroller.plugin.manager import load_plugins

    entries = _catalogue.plugin_entries(
        load_plugins(args.plugin).assignments, lambda _, choice: f"[cluster]\nassignment = {choice}\n"
    )
    return _catalogue.show("assignments", entries, args, footer=FOOTER)
