"""`kcontroller invariants`: what must hold, and where each rule comes from."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pytest_kcontroller.cli import _catalogue
from pytest_kcontroller.cli._catalogue import Entry

if TYPE_CHECKING:
    from kcontroller_chaos.invariants import Invariant

NAME = "invariants"
HELP = "the invariants: what must hold, safety or liveness, where the rule comes from"

FOOTER = """\
safety: violated at no moment, with ZooKeeper's own log as the witness. liveness: holds after the last fault is healed.
All are checked at the end of every campaign run, and when a test calls kcluster.check(); those whose names have
underscores where a file asks for them ([[invariants]]), or a plugin gives them.
How to check one again on a run that is over: kcontroller invariants NAME"""

_OF_FILES = "kcontroller_chaos.znode_invariants"
EXAMPLE = """\
from pathlib import Path
from kcontroller_chaos.catalogue import load_catalogue
from kcontroller_chaos.history.read import read_history

verdict = load_catalogue({plugins}).invariant("{name}").check(read_history(Path("runs/smoke/RUN-ID/history")))
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    examples = ["kcontroller invariants", "kcontroller invariants leader-in-isr"]
    _catalogue.add_arguments(parser, examples=examples, plugins=True)


def run(args: argparse.Namespace) -> int:
    from kcontroller_chaos.catalogue import load_catalogue

    known = load_catalogue(args.plugin)
    entries = [_entry(one, known.plugin_of[one.name], args.plugin) for one in known.invariants]
    entries += _kinds()
    return _catalogue.show("invariants", entries, args, footer=FOOTER, examples_in_list=False)


def _kinds() -> Iterator[Entry]:
    """What a campaign file asks for by `[[invariants]]`."""
    from kcontroller_chaos.catalogue.invariants import keys_of
    from kcontroller_chaos.catalogue.key import REQUIRED
    from kcontroller_chaos.catalogue.kind import sentence
    from kcontroller_chaos.znode_invariants import EXAMPLES, KINDS

    for kind, classes in KINDS.items():
        keys = ", ".join(
            f"{key.name} (must be given)" if key.default is REQUIRED else key.name for key in keys_of(kind)
        )
        holds = "; ".join(one.expected for one in classes)
        yield Entry(
            name=kind,
            what=" ".join(sentence(one) for one in classes),
            facts=(("kind", classes[0].kind), ("must hold", holds), ("source", classes[0].source), ("keys", keys)),
            example=EXAMPLES[kind],
            data={"kind": classes[0].kind, "expected": holds, "source": classes[0].source, "plugin": _OF_FILES},
        )


def _entry(one: Invariant, plugin: str, given: Sequence[str]) -> Entry:
    return Entry(
        name=one.name,
        what=one.summary,
        facts=(("kind", one.kind), ("must hold", one.expected), ("source", one.source), ("plugin", plugin)),
        example=EXAMPLE.format(name=one.name, plugins=repr([plugin]) if plugin in given else ""),
        data={"kind": one.kind, "expected": one.expected, "source": one.source, "plugin": plugin},
    )
