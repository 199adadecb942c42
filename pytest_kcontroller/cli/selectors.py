"""`kcontroller selectors`: who may decide who leads a partition."""

from __future__ import annotations

import argparse
from dataclasses import replace

from pytest_kcontroller.cli import _catalogue
from pytest_kcontroller.cli._catalogue import Entry

NAME = "selectors"
HELP = "the leader selectors: what each chooses, its options, an example"

FOOTER = """\
A selector is chosen for a reason: {reasons}.
To try one on a partition that you describe: kcontroller run-selector NAME VIEW.json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    examples = ["kcontroller selectors", "kcontroller selectors offline --json"]
    _catalogue.add_arguments(parser, examples=examples, plugins=True)


def run(args: argparse.Namespace) -> int:
    from pytest_kcontroller.model.election import ElectionReason
    from pytest_kcontroller.plugin.manager import load_plugins

    reasons = {reason.value.replace("_", "-"): reason.value for reason in ElectionReason}
    entries = _catalogue.plugin_entries(
        load_plugins(args.plugin).selectors,
        lambda name, choice: f"[cluster]\nselectors = {{ {reasons.get(name, 'offline')} = {choice} }}\n",
    )
    footer = FOOTER.format(reasons=", ".join(reasons.values()))
    return _catalogue.show("selectors", [_with_default(entry, reasons) for entry in entries], args, footer=footer)


def _with_default(entry: Entry, reasons: dict[str, str]) -> Entry:
    """Says of a stock selector for which reason it is asked if nothing is chosen."""
    reason = reasons.get(entry.name)
    facts = entry.facts if reason is None else (("default of", f"the reason {reason}"), *entry.facts)
    return replace(entry, facts=facts, data={**entry.data, "default_of": reason})
