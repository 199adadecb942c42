"""`kcontroller campaign run FILE...`: campaign files and seeds become runs, each with a verdict. `plan` shows a timeline."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_kcontroller.cli import _plan, explain

if TYPE_CHECKING:
    from kcontroller_chaos.campaign import Campaign
    from kcontroller_chaos.runner import Options, RunResult

NAME = "campaign"
HELP = "play campaign files (run), or show what a seed would do (plan)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    text = "play campaign files, once per seed; the exit status is the worst verdict's"
    run_parser = verbs.add_parser("run", help=text, description=text)
    run_parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="campaign files (TOML)")
    run_parser.add_argument("--seeds", metavar="A..B", help='"1..50", "3" or "1,4,7"; default: those of the file')
    run_parser.add_argument("--out", type=Path, default=Path("runs"), help="where run directories go (default: runs)")
    run_parser.add_argument("--mutant", metavar="NAME", help="put a known bug back into every node")
    run_parser.add_argument(
        "--noop-fault", metavar="KIND[:MODE]", help="inject nothing for this fault: a test of observation"
    )
    run_parser.add_argument("--selector", action="append", default=[], metavar="REASON=NAME", help="leader selector")
    run_parser.add_argument("--assignment", metavar="NAME", help="replica assignment strategy")
    run_parser.add_argument(
        "--zookeeper",
        choices=("embedded", "container"),
        default="embedded",
        help="where it runs (default: %(default)s)",
    )
    run_parser.add_argument("--zookeeper-image", metavar="IMAGE", help="of the container (default: zookeeper:3.9)")
    run_parser.add_argument("--plugin", action="append", default=[], metavar="MODULE", help="load this plugin")
    explain(
        run_parser,
        examples=[
            "kcontroller campaign run chaos/campaigns/smoke.toml",
            "kcontroller campaign run chaos/campaigns/*.toml --seeds 1..20 --out runs",
            "kcontroller campaign run chaos/campaigns/zombie.toml --mutant KAFKA-6082  # a known bug: status 1",
        ],
        statuses="0 held, 1 violated, 2 a bad file or option (before anything starts), 4 unknown,\n"
        "6 environment (something did not start, or a fault was not applied, seen or healed), 130 Ctrl-C",
    )
    _plan.add_arguments(verbs)


def run(args: argparse.Namespace) -> int:
    """Validates every file before anything starts; then one run after the other, a line each."""
    if args.verb == "plan":
        return _plan.run(args)
    import asyncio

    from kcontroller_chaos.campaign import load_campaign, parse_seeds
    from kcontroller_chaos.outcome import aggregate, exit_status
    from kcontroller_chaos.runner import Options, check
    from pytest_kcontroller.cluster.zookeeper_source import image_of
    from pytest_kcontroller.errors import UsageError

    campaigns = [load_campaign(path) for path in args.files]
    try:
        seeds = None if args.seeds is None else parse_seeds(args.seeds)
    except ValueError as bad:
        raise UsageError(str(bad), where="--seeds") from None
    options = Options(
        out=args.out,
        mutant=args.mutant,
        noop_fault=args.noop_fault,
        selectors=_selectors(args.selector),
        assignment=args.assignment,
        plugins=tuple(args.plugin),
        zookeeper_image=image_of(args.zookeeper, args.zookeeper_image),
    )
    for campaign in campaigns:
        check(campaign, options)
    work = [(campaign, seeds or campaign.seeds) for campaign in campaigns]
    try:
        results = asyncio.run(_until_terminated(_run_all(work, options)))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    return aggregate(exit_status(result.verdict) for result in results)


async def _until_terminated(work: Coroutine[Any, Any, list[RunResult]]) -> list[RunResult]:
    """SIGTERM, which CI systems send, ends a run as Ctrl-C does: faults are healed, everything is stopped."""
    import asyncio

    task = asyncio.ensure_future(work)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        return await task
    finally:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGTERM)


def _selectors(given: list[str]) -> dict[str, str]:
    from pytest_kcontroller.errors import UsageError

    chosen = {}
    for text in given:
        reason, equals, name = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{text!r} is not REASON=NAME", where="--selector", hint="offline=noop, for example")
        chosen[reason] = name
    return chosen


async def _run_all(work: list[tuple[Campaign, tuple[int, ...]]], options: Options) -> list[RunResult]:
    from kcontroller_chaos.runner import run_once

    results = []
    for campaign, seeds in work:
        for seed in seeds:
            result = await run_once(campaign, seed, options)
            results.append(result)
            print(f"{campaign.name} seed {seed}: {result.verdict} in {result.seconds:.1f} s  {result.path}", flush=True)
            for line in _why(result):
                print(f"    {line}", flush=True)
    return results


def _why(result: RunResult) -> list[str]:
    """What a person must know of a run that did not hold."""
    lines = [result.error] if result.error else []
    lines += [
        f"{place}: a killed writer left this line half; it was left out" for place in result.details.get("cut", ())
    ]
    if result.verdict == "held" or not result.details:
        return lines
    for invariant in result.details["invariants"]:
        if invariant["verdict"] == "violated":
            lines.append(
                f"{invariant['name']}: {invariant['seen']} ({invariant['where']}); expected {invariant['expected']}"
            )
            if invariant["witness"]:
                lines.append("witness: " + ", ".join(f"{key} {value}" for key, value in invariant["witness"].items()))
        elif invariant["verdict"] == "unknown":
            lines.append(f"{invariant['name']}: unknown: {invariant['seen']}")
    for name, part in result.details["parts"].items():
        if part["verdict"] == "environment":
            lines.append(f"not {name}: {part['detail']}")
    return lines
