"""Options that several commands have: where runs go, how the result is told, and what takes the place of what a campaign
file says (a mutant, selectors, a strategy, plugins)."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.runtime.rng import MOST_SEED


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mutant", metavar="NAME", help="put a known bug back into every node")
    parser.add_argument("--selector", action="append", default=[], metavar="REASON=NAME", help="leader selector")
    parser.add_argument("--assignment", metavar="NAME", help="replica assignment strategy")
    parser.add_argument("--plugin", action="append", default=[], metavar="MODULE", help="load this plugin")


def named_path(text: str) -> Path:
    """The type of an option that names one. An empty text would be the current directory, which a script whose variable is
    empty does not mean."""
    if not text:
        raise argparse.ArgumentTypeError(
            "an empty name: write a path, or leave the option out (the current directory: .)"
        )
    return Path(text)


def add_output(parser: argparse.ArgumentParser, *names: str) -> None:
    """Of a command that plays runs; `names`: what `--out` is called."""
    parser.add_argument(
        *(names or ("-o", "--out")),
        type=named_path,
        default=Path("runs"),
        help="where run directories go (default: runs)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text, when all is played")


def check_least(args: argparse.Namespace, **least: float) -> None:
    """The numbers of these names, if they were given. Raises UsageError for one that is below its least."""
    for name, at_least in least.items():
        value = getattr(args, name)
        if value is not None and not value >= at_least:  # nan is neither
            where = f"--{name.replace('_', '-')}"
            raise UsageError(f"{value:g} is too small", where=where, hint=f"{at_least:g} or more")


def check_seed(seed: int | None, where: str) -> None:
    """Raises UsageError for what is no seed. None: it was not given."""
    if seed is not None and not 0 <= seed <= MOST_SEED:
        raise UsageError(f"{seed} is no seed", where=where, hint=f"0 to {MOST_SEED}")


def selectors(args: argparse.Namespace) -> dict[str, str]:
    """Reason -> name. Raises UsageError."""
    chosen: dict[str, str] = {}
    for text in args.selector:
        reason, equals, name = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{text!r} is not REASON=NAME", where="--selector", hint="offline=noop, for example")
        if reason in chosen:
            what = f"{reason} is to be both {chosen[reason]} and {name}"
            raise UsageError(what, where="--selector", hint="one selector for each reason: leave one out")
        chosen[reason] = name
    return chosen
