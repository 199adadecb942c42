"""`kcontroller shrink RUN`: the fewest faults of a run that still violate what it has violated."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_kcontroller.cli import _choices, explain

if TYPE_CHECKING:
    from pytest_kcontroller.cli._shrinking import Shrink

NAME = "shrink"
HELP = "find the fewest faults of a run that still violate an invariant"

PLAYS = 3
MAX_SECONDS = 1800.0
"""Where real nodes take some ten seconds for a run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", type=Path, metavar="RUN", help="a run directory (one with a run.json)")
    parser.add_argument(
        "-o",
        "--output",
        type=_choices.named_path,
        metavar="FILE",
        help="the campaign file that is written (default: CAMPAIGN-seed-N.toml here)",
    )
    parser.add_argument(
        "--plays",
        type=int,
        metavar="K",
        help="so often faults are played that violate nothing, before others are tried (default: 1 in simulated time, "
        f"where a run repeats exactly, {PLAYS} on real nodes)",
    )
    parser.add_argument(
        "--max-runs", type=int, default=500, metavar="N", help="stop after so many (default: %(default)s)"
    )
    parser.add_argument(
        "--max-seconds",
        type=float,
        metavar="S",
        help=f"leave nothing more out after so long (default: no limit in simulated time, {MAX_SECONDS:g} on real nodes)",
    )
    _choices.add_output(parser, "--out")  # what it writes is a file, by -o
    explain(
        parser,
        examples=[
            "kcontroller shrink runs/explore/20260102T030405-seed-31188",
            "kcontroller shrink runs/explore/20260102T030405-seed-31188 -o chaos/campaigns/found.toml",
            "kcontroller shrink runs/links/20260102T030405-seed-7 --plays 5 --max-seconds 3600  # of real nodes",
        ],
        statuses="0 it is as small as it gets (or as --max-runs and --max-seconds let it), 2 no such run, or none that\n"
        "can be shrunk, 4 the violation did not come back, 130 Ctrl-C",
    )


def run(args: argparse.Namespace) -> int:
    from pytest_kcontroller.cli._json import print_json
    from pytest_kcontroller.cli._output import documented
    from pytest_kcontroller.cli._shrinking import document_of, reserved, shrink

    _choices.check_least(args, plays=1, max_runs=1, max_seconds=0)
    plan = _plan(args)

    def print_document(status: int) -> None:
        if args.json:
            print_json(document_of(plan, status))

    with reserved(plan), documented(print_document):
        status = shrink(plan)
    print_document(status)
    return status


def _plan(args: argparse.Namespace) -> Shrink:
    """Raises UsageError: there is nothing to shrink."""
    from kcontroller_chaos import backends
    from kcontroller_chaos.checking import SAFETY
    from kcontroller_chaos.judge.verdict import VIOLATED
    from kcontroller_chaos.play.runner import check
    from pytest_kcontroller.cli._original import original_run
    from pytest_kcontroller.cli._shrinking import Shrink
    from pytest_kcontroller.errors import UsageError
    from pytest_kcontroller.plugin.manager import typed

    planned, options, original = original_run(args.what, args.out)
    if original is None:
        line = typed(["kcontroller", "replay", str(args.what)], options.plugins)
        hint = f"replay it first, and shrink that run: {line}"
        what = "it has no verdicts.json: nobody knows what it violates"
        raise UsageError(what, where=str(args.what), hint=hint)
    (verdict, *violated), _ = original
    safety = {one.name for one in planned.campaign.invariants if one.kind == SAFETY}
    others = violated if verdict == VIOLATED else []  # what else broke may be its consequence, or the environment's
    wanted = next((name for name in violated if name in safety), next(iter(others), None))
    if wanted is None or planned.schedule is None:
        raise UsageError(f"this run is {verdict}: there is nothing to shrink", where=str(args.what))
    output = args.output or Path(f"{planned.campaign.name}-seed-{planned.seed}.toml")
    check(planned.campaign, options, str(args.what / "run.json"))
    simulated = backends.backend(options.backend).simulated
    return Shrink(
        run=args.what,
        planned=planned,
        schedule=planned.schedule,
        options=options,
        wanted=wanted,
        output=output,
        plays=args.plays or (1 if simulated else PLAYS),
        max_runs=args.max_runs,
        max_seconds=MAX_SECONDS if args.max_seconds is None and not simulated else args.max_seconds,
    )
