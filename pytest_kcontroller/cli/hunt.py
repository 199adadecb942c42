"""`kcontroller hunt FILE`: new seeds in simulated time, until one of them violates an invariant or the time is over."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from pytest_kcontroller.cli import _choices, explain
from pytest_kcontroller.errors import NotOnThisBackend

NAME = "hunt"
HELP = "play new seeds of a campaign in simulated time until one violates an invariant"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a campaign file (TOML)")
    parser.add_argument("--from-seed", type=int, default=1, metavar="N", help="the first one (default: %(default)s)")
    parser.add_argument(
        "--max-seconds", type=float, default=60.0, metavar="S", help="give up after so long (default: %(default)g)"
    )
    parser.add_argument("--max-runs", type=int, metavar="N", help="stop after so many")
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="processes side by side (default: %(default)s)"
    )
    _choices.add_output(parser)
    _choices.add_arguments(parser)
    explain(
        parser,
        examples=[
            "kcontroller hunt chaos/campaigns/explore.toml",
            "kcontroller hunt chaos/campaigns/explore.toml --from-seed 10000 --max-seconds 600 --jobs 4",
            "kcontroller hunt chaos/campaigns/zombie.toml --mutant KAFKA-6082  # a known bug: status 1",
        ],
        statuses="0 nothing was found, 1 a violation was found, 2 a bad file or option, 4 a run could not be judged,\n"
        "or none tested anything, 5 no run ended in time, 6 a fault was not applied, seen or healed, 130 Ctrl-C",
    )


def run(args: argparse.Namespace) -> int:
    from kcontroller_chaos.backends import DEFAULT, first_able, simulated
    from kcontroller_chaos.campaign.file import load_campaign
    from kcontroller_chaos.catalogue import load_catalogue
    from kcontroller_chaos.play.runner import Options, check
    from pytest_kcontroller.cli._hunting import Hunt, document_of, hunt
    from pytest_kcontroller.cli._json import print_json
    from pytest_kcontroller.cli._output import documented
    from pytest_kcontroller.cli._results import run_line

    _choices.check_seed(args.from_seed, "--from-seed")
    _choices.check_least(args, jobs=1, max_seconds=0, max_runs=1)
    campaign = load_campaign(args.file, load_catalogue(args.plugin))
    options = Options(
        out=args.out,
        mutant=args.mutant,
        selectors=_choices.selectors(args),
        assignment=args.assignment,
        plugins=tuple(args.plugin),
        backend=simulated().name,
    )
    try:
        check(campaign, options)
    except NotOnThisBackend as wrong:  # another backend cannot be chosen here
        able = replace(options, backend=first_able(campaign).name)
        line = run_line(str(args.file), campaign.seeds[:1], able, backend=DEFAULT)
        hint = f"a hunt is in simulated time: play it with {line}"
        raise NotOnThisBackend(wrong.what, where=wrong.where, hint=hint) from None
    plan = Hunt(campaign, options, args.from_seed, args.jobs, args.max_seconds, args.max_runs)

    def print_document(status: int) -> None:
        if args.json:
            print_json(document_of(plan, status))

    with documented(print_document):
        status = hunt(plan)
    print_document(status)
    return status
