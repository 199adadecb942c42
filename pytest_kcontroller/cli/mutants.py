"""`kcontroller mutants`: known bugs that can be put back, to see that a campaign finds them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_kcontroller.cli import _catalogue
from pytest_kcontroller.cli._catalogue import Entry

if TYPE_CHECKING:
    from pytest_kcontroller.plugin.manager import Offers
    from pytest_kcontroller.seams import Mutant

NAME = "mutants"
HELP = "the mutants: known bugs that --mutant puts back, and the invariants that each breaks"

FOOTER = """\
Each replaces steps of a node's code (seams) while a run goes on; the run records how often that changed something.
Found: an invariant is violated. Survived: it ran, and nothing was violated. Not reached: it never ran."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _catalogue.add_arguments(parser, examples=["kcontroller mutants", "kcontroller mutants KAFKA-7235"], plugins=True)


def run(args: argparse.Namespace) -> int:
    from kcontroller_chaos.catalogue.loading import MUTANTS
    from pytest_kcontroller.plugin.manager import load_plugins

    offers = load_plugins((*args.plugin, MUTANTS)).mutants
    entries = [_entry(offers.get(name), offers, args.plugin) for name in offers.names]
    return _catalogue.show("mutants", entries, args, footer=FOOTER, examples_in_list=False)


def _entry(mutant: Mutant, offers: Offers[Mutant], given: Sequence[str]) -> Entry:
    plugin, breaks = offers.plugin_of(mutant.name), ", ".join(mutant.breaks)
    option = f" --plugin {plugin}" if plugin in given else ""
    seams = [seam for seam, _ in mutant.replacements]
    if mutant.kafkas:
        breaks = f"{breaks} (as Kafka 3.9 itself: kafka_compat)"
    facts = [("replaces", ", ".join(seams)), ("source", mutant.source), ("plugin", plugin)]
    return Entry(
        name=mutant.name,
        what=mutant.description,
        facts=(*([("breaks", breaks)] if breaks else []), *facts),
        example=f"kcontroller hunt chaos/campaigns/explore.toml{option} --mutant {mutant.name}\n",
        data={
            "breaks": list(mutant.breaks),
            "replaces": seams,
            "source": mutant.source,
            "plugin": plugin,
            "kafkas": mutant.kafkas,
        },
    )
