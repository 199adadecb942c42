"""`kcontroller plugins list`: every plugin that is found, what it offers, and what is wrong with it."""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING

from pytest_kcontroller.cli import explain
from pytest_kcontroller.cli._json import print_json
from pytest_kcontroller.cli._text import labelled

if TYPE_CHECKING:
    from pytest_kcontroller.plugin.survey import FoundPlugin

NAME = "plugins"
HELP = "list the plugins that are found, and what is wrong with broken ones"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    text = "list every plugin: stock, installed (entry point group kcontroller), and those of --plugin"
    listing = verbs.add_parser("list", help=text, description=text)
    listing.add_argument(
        "--plugin", action="append", default=[], metavar="MODULE", help="look at this module too; may be repeated"
    )
    listing.add_argument("--json", action="store_true", help="one JSON object instead of text")
    explain(
        listing,
        examples=["kcontroller plugins list", "kcontroller plugins list --plugin my_package.selectors"],
        statuses="0 all can be used, 2 at least one is broken (all are listed)",
    )


def run(args: argparse.Namespace) -> int:
    from kcontroller_chaos.catalogue.loading import MUTANTS, STOCK, offers
    from pytest_kcontroller.errors import UsageError
    from pytest_kcontroller.plugin.survey import survey

    found = survey(args.plugin, stock=(*STOCK, MUTANTS), more=offers)
    broken = sum(bool(plugin.problem) for plugin in found)
    if args.json:
        print_json({"plugins": [_record(plugin) for plugin in found], "broken": broken})
    else:
        print("\n\n".join(_text(plugin) for plugin in found))
        print(f"\n{len(found)} plugins, {broken} broken")
    return UsageError.exit_status if broken else 0


def _record(plugin: FoundPlugin) -> dict[str, object]:
    offers = [{"kind": kind, "name": name} for kind, name in plugin.offers]
    return {**dataclasses.asdict(plugin), "offers": offers}


def _text(plugin: FoundPlugin) -> str:
    from pytest_kcontroller.model.text import printable

    rows = [("found as", plugin.origin)]
    rows += [("hook", hook) for hook in plugin.hooks]
    rows += [("offers", f"{kind} {name}") for kind, name in plugin.offers]
    if plugin.problem:
        rows.append(("BROKEN", plugin.problem))
    rows = [(label, printable(text)) for label, text in rows]
    return "\n".join([printable(plugin.name), *labelled(rows, indent="    ")])
