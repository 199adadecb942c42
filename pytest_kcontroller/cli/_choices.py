"""The options that take the place of what a campaign file says: a mutant, selectors, a strategy, plugins."""

from __future__ import annotations

import argparse

from pytest_kcontroller.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mutant", metavar="NAME", help="put a known bug back into every node")
    parser.add_argument("--selector", action="append", default=[], metavar="REASON=NAME", help="leader selector")
    parser.add_argument("--assignment", metavar="NAME", help="replica assignment strategy")
    parser.add_argument("--plugin", action="append", default=[], metavar="MODULE", help="load this plugin")


def selectors(args: argparse.Namespace) -> dict[str, str]:
    """Reason -> name. Raises UsageError."""
    chosen = {}
    for text in args.selector:
        reason, equals, name = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{text!r} is not REASON=NAME", where="--selector", hint="offline=noop, for example")
        chosen[reason] = name
    return chosen
