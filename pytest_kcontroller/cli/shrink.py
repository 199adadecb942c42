"""`kcontroller shrink RUN`: the fewest faults of a run that still violate what it has violated."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_kcontroller.cli import explain

if TYPE_CHECKING:
    from kcontroller_chaos.campaign.schedule import Schedule
    from kcontroller_chaos.play.runner import Options
    from pytest_kcontroller.cli._results import Planned

NAME = "shrink"
HELP = "find the fewest faults of a simulated run that still violate an invariant"

UNKNOWN = 4
SEEDS = 20
"""So many are tried for the campaign file, whose seed moves its times."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", type=Path, metavar="RUN", help="a run directory (one with a run.json)")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="the campaign file that is written (default: CAMPAIGN-seed-N.toml here)",
    )
    parser.add_argument(
        "--max-runs", type=int, default=500, metavar="N", help="stop after so many (default: %(default)s)"
    )
    parser.add_argument("--out", type=Path, default=Path("runs"), help="where run directories go (default: runs)")
    explain(
        parser,
        examples=[
            "kcontroller shrink runs/explore/20260102T030405-seed-31188",
            "kcontroller shrink runs/explore/20260102T030405-seed-31188 -o chaos/campaigns/found.toml",
        ],
        statuses="0 it is as small as it gets (or as --max-runs lets it), 2 no such run, or none that can be shrunk,\n"
        "4 the violation did not come back, 130 Ctrl-C",
    )


def run(args: argparse.Namespace) -> int:
    from kcontroller_chaos import backends
    from kcontroller_chaos.checking import SAFETY
    from kcontroller_chaos.judge.verdict import VIOLATED
    from kcontroller_chaos.play.shrinking import Shrinking
    from pytest_kcontroller.cli._original import original_run
    from pytest_kcontroller.errors import UsageError

    if args.max_runs < 1:
        raise UsageError(f"{args.max_runs} is no number of runs", where="--max-runs", hint="1 or more")
    planned, options, ((verdict, *violated), _) = original_run(args.what, args.out)
    if not backends.backend(options.backend).simulated:
        hint = f"play its campaign file with --backend {backends.simulated().name}, and shrink a run of that"
        raise UsageError("on real nodes one schedule need not come out as one run", where=str(args.what), hint=hint)
    safety = {one.name for one in planned.campaign.invariants if one.kind == SAFETY}
    others = violated if verdict == VIOLATED else []  # what else broke may be its consequence, or the environment's
    wanted = next((name for name in violated if name in safety), next(iter(others), None))
    if wanted is None or planned.schedule is None:
        raise UsageError(f"this run is {verdict}: there is nothing to shrink", where=str(args.what))
    output = args.output or Path(f"{planned.campaign.name}-seed-{planned.seed}.toml")
    if output.exists():
        raise UsageError("is there already", where=str(output), hint="name another file with -o")

    total = len(planned.schedule.actions)
    print(f"{planned.name}: {total} faults and actions, which violate {wanted}")
    shrinking = Shrinking(
        planned.campaign,
        options,
        planned.schedule,
        wanted,
        args.max_runs,
        lambda count, runs: print(f"{count} of {total} violate it, after {runs} runs", flush=True),
    )
    if not shrinking.comes_back():
        print("the violation did not come back: is the code another one, or a plugin?")
        return UNKNOWN
    found = shrinking.shrunk()
    if shrinking.enough:
        print(f"stopped after {shrinking.runs} runs: fewer may do (--max-runs)")
    _tell(planned, options, found, shrinking.wanted, output)
    return 0


def _tell(planned: Planned, options: Options, found: Schedule, wanted: str, output: Path) -> None:
    """The actions, a run of them with a directory, and the campaign file."""
    import asyncio

    from kcontroller_chaos.play.runner import run_once
    from pytest_kcontroller.cli._plan import table
    from pytest_kcontroller.cli._results import line_of, why

    print()
    print("\n".join(table(found.actions)) if found.actions else "Nothing need happen: it is violated by itself.")
    print()
    result = asyncio.run(run_once(planned.campaign, planned.seed, options, found))
    print(line_of(planned.name, result))
    for line in why(result):
        print(f"    {line}")
    _write(planned, options, found, wanted, output)


def _write(planned: Planned, options: Options, found: Schedule, wanted: str, output: Path) -> None:
    """With a seed that violates it, or not at all."""
    from kcontroller_chaos import backends
    from kcontroller_chaos.campaign.file import load_campaign
    from kcontroller_chaos.campaign.written import campaign_text
    from kcontroller_chaos.play.shrinking import violating_seed
    from pytest_kcontroller.cli._results import arguments, run_line
    from pytest_kcontroller.errors import UsageError

    def write(seed: int) -> None:
        about = f"What is left of {planned.name} by `kcontroller shrink`: it violates {wanted}."
        output.write_text(campaign_text(planned.campaign, found.actions, seed, about), encoding="utf-8")

    try:
        write(planned.seed)
        campaign = load_campaign(output, planned.campaign.catalogue)
    except UsageError as cannot:  # what only a generator can do
        output.unlink()
        print(f"no campaign file can say this: {cannot.what}")
        return
    seeds = [planned.seed, *(seed for seed in range(1, SEEDS + 1) if seed != planned.seed)]
    seed = violating_seed(campaign, options, wanted, seeds)
    if seed is None:
        output.unlink()
        print(f"no campaign file was written: its seed moves the times, and with {len(seeds)} seeds it held")
        return
    write(seed)
    print(f"written: {output}")
    of_file = planned.campaign.cluster
    given = replace(
        options,
        assignment=None if options.assignment == of_file.assignment else options.assignment,
        selectors={} if options.selectors == of_file.selectors else options.selectors,
    )
    print(f"    to play it: {run_line(str(output), [seed], given, backend=backends.DEFAULT)}")
    if not arguments(given, backend=options.backend):
        print(f"    as a test: pytest {shlex.quote(str(output))} --kc-backend={options.backend}")
