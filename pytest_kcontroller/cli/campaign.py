"""`kcontroller campaign run FILE...`: campaign files and seeds become runs, each with a verdict. `plan` shows a timeline."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kcontroller_chaos import backends
from pytest_kcontroller.cli import _choices, _plan, explain
from pytest_kcontroller.cluster.zookeeper import EMBEDDED, PLACES

if TYPE_CHECKING:
    from pytest_kcontroller.cli._playing import Playing

NAME = "campaign"
HELP = "play campaign files (run), or show what a seed would do (plan)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    text = "play campaign files, once per seed; the exit status is the worst verdict's"
    run_parser = verbs.add_parser("run", help=text, description=text)
    run_parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="campaign files (TOML)")
    run_parser.add_argument(
        "--backend",
        choices=backends.NAMES,
        default=backends.DEFAULT,
        help=f"how the cluster is made real ({backends.HELP}; default: %(default)s)",
    )
    run_parser.add_argument("--seeds", metavar="A..B", help='"1..50", "3" or "1,4,7"; default: those of the file')
    run_parser.add_argument(
        "--shard", default="1/1", metavar="I/N", help="only every N-th run, from the I-th on: for N jobs side by side"
    )
    run_parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="so many simulated runs at a time (default: %(default)s)"
    )
    run_parser.add_argument(
        "--max-seconds", type=_seconds, metavar="S", help="start no new run after so long (the last one is finished)"
    )
    run_parser.add_argument("--fail-fast", action="store_true", help="start no new run after one that did not hold")
    run_parser.add_argument("-v", "--verbose", action="store_true", help="say of each run how much it has tested")
    run_parser.add_argument(
        "--noop-fault",
        metavar="KIND[:MODE]",
        help="inject nothing for this fault, or for these with commas between: a test of observation",
    )
    run_parser.add_argument(
        "--zookeeper", choices=PLACES, default=EMBEDDED, help="where it runs (default: %(default)s)"
    )
    run_parser.add_argument("--zookeeper-image", metavar="IMAGE", help="of the container (default: zookeeper:3.9)")
    _choices.add_output(run_parser)
    _choices.add_arguments(run_parser)
    explain(
        run_parser,
        examples=[
            "kcontroller campaign run chaos/campaigns/smoke.toml",
            "kcontroller campaign run chaos/campaigns/smoke.toml chaos/campaigns/zombie.toml --backend sim --jobs 2",
            "kcontroller campaign run chaos/campaigns/smoke.toml --backend sim --seeds 1..100",
            "kcontroller campaign run chaos/campaigns/smoke.toml --seeds 1..80 --shard 2/8  # one of eight CI jobs",
            "kcontroller campaign run chaos/campaigns/explore.toml --backend sim --jobs 2 --fail-fast -v",
            "kcontroller campaign run chaos/campaigns/zombie.toml --mutant KAFKA-6082  # a known bug: status 1",
        ],
        statuses="0 held (an [[expected]] failure counts as held), 1 violated, 2 a bad file or option (before\n"
        "anything starts), 4 unknown (too little was tested, or it cannot be judged), 5 nothing ran,\n"
        "6 environment (something did not start, or a fault was not applied, seen or healed), 130 Ctrl-C",
    )
    _plan.add_arguments(verbs)


def run(args: argparse.Namespace) -> int:
    """Validates every file before anything starts; then one run after the other, a line each."""
    if args.verb == "plan":
        return _plan.run(args)
    from kcontroller_chaos.judge.outcome import aggregate
    from pytest_kcontroller.cli._output import documented
    from pytest_kcontroller.cli._playing import play

    playing = _playing(args)
    with documented(lambda status: _print_json(args, playing, status)):
        results = play(playing)
    status = aggregate(result.status for result in results)
    if len(playing.planned) > 1:
        _say_failing(playing)
    _print_json(args, playing, status)
    return status


def _print_json(args: argparse.Namespace, playing: Playing, status: int) -> None:
    from pytest_kcontroller.cli._json import print_json
    from pytest_kcontroller.cli._output import of_failing, of_playing

    if args.json:
        print_json(of_playing("campaign run", playing, status, failing=of_failing(playing)))


def _playing(args: argparse.Namespace) -> Playing:
    """What is to be played. Raises UsageError, before anything starts."""
    from kcontroller_chaos.backends import backend
    from kcontroller_chaos.campaign.file import load_campaign
    from kcontroller_chaos.campaign.seeds import parse_seeds
    from kcontroller_chaos.catalogue import load_catalogue
    from kcontroller_chaos.play.runner import Options, check
    from pytest_kcontroller.cli._playing import Playing
    from pytest_kcontroller.cli._results import Planned
    from pytest_kcontroller.cluster.zookeeper.source import image_of
    from pytest_kcontroller.errors import UsageError

    catalogue = load_catalogue(args.plugin)
    campaigns = [load_campaign(path, catalogue) for path in args.files]
    try:
        seeds = None if args.seeds is None else parse_seeds(args.seeds)
    except ValueError as bad:
        raise UsageError(str(bad), where="--seeds") from None
    options = Options(
        out=args.out,
        mutant=args.mutant,
        noop_fault=args.noop_fault,
        selectors=_choices.selectors(args),
        assignment=args.assignment,
        plugins=tuple(args.plugin),
        zookeeper_image=image_of(
            backend(args.backend).zookeeper_place(args.zookeeper), args.zookeeper_image, option="--zookeeper-image"
        ),
        backend=args.backend,
    )
    for campaign in campaigns:
        check(campaign, options)
    _check_jobs(args)
    index, count = _shard(args.shard)
    planned = [Planned(campaign, seed) for campaign in campaigns for seed in seeds or campaign.seeds]
    mine = planned[index - 1 :: count]
    if not mine:
        print(f"--shard {args.shard}: there are only {len(planned)} runs, none for this shard", file=sys.stderr)
    return Playing(
        planned=mine,
        options=options,
        max_seconds=args.max_seconds,
        jobs=args.jobs,
        fail_fast=args.fail_fast,
        verbose=args.verbose,
    )


def _check_jobs(args: argparse.Namespace) -> None:
    from pytest_kcontroller.errors import NotOnThisBackend

    _choices.check_least(args, jobs=1)
    if args.jobs > 1 and not backends.backend(args.backend).simulated:
        raise NotOnThisBackend(
            f"runs of the backend {args.backend} are played one after the other",
            hint=f"leave --jobs out, use --backend {backends.simulated().name}, or --shard on more machines",
        )


def _say_failing(playing: Playing) -> None:
    """What plays all of them again, and in the last line which they are."""
    from pytest_kcontroller.cli._output import run_line
    from pytest_kcontroller.cli._results import failing, seeds_text

    found = failing(playing.played)
    for file, (_, seeds) in found.items():
        print(f"again: {run_line(playing, file, seeds)}")
    named = [f"{c.name} seed{'' if len(seeds) == 1 else 's'} {seeds_text(seeds)}" for c, seeds in found.values()]
    if named:
        print(f"did not hold: {'; '.join(named)}")


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds above 0")
    return value


def _shard(text: str) -> tuple[int, int]:
    from pytest_kcontroller.errors import UsageError
    from pytest_kcontroller.model.text import whole_number

    index, count = (whole_number(part) for part in text.partition("/")[::2])
    if index is None or count is None or not 1 <= index <= count:
        raise UsageError(f"{text!r} is no shard", where="--shard", hint="2/8 is the second of eight")
    return index, count
