"""`kcontroller campaign plan FILE --seed 7`: the timeline of a campaign and a seed, without a cluster."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_kcontroller.cli import _choices, explain
from pytest_kcontroller.cli._json import print_json
from pytest_kcontroller.cli._text import columns

if TYPE_CHECKING:
    from kcontroller_chaos.campaign.actions import Action
    from kcontroller_chaos.campaign.file import Campaign
    from kcontroller_chaos.campaign.schedule import Schedule

HELP = "show the timeline of a campaign file and a seed; starts nothing"


def add_arguments(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = verbs.add_parser("plan", help=HELP, description=HELP)
    parser.add_argument("file", type=Path, metavar="FILE", help="a campaign file (TOML)")
    parser.add_argument("--seed", type=int, metavar="N", help="default: the first seed of the file")
    parser.add_argument("--plugin", action="append", default=[], metavar="MODULE", help="load this plugin")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    explain(
        parser,
        examples=[
            "kcontroller campaign plan chaos/campaigns/smoke.toml --seed 7",
            "kcontroller campaign plan chaos/campaigns/zombie.toml --json",
        ],
        statuses="0 the file is valid and its timeline is printed, 2 the file or the seed is not valid",
    )


def run(args: argparse.Namespace) -> int:
    from kcontroller_chaos import backends
    from kcontroller_chaos.campaign.file import load_campaign
    from kcontroller_chaos.campaign.schedule import JITTER_US, draw
    from kcontroller_chaos.catalogue import load_catalogue
    from kcontroller_chaos.play.runner import Options
    from pytest_kcontroller.cli._results import run_line

    _choices.check_seed(args.seed, "--seed")
    campaign = load_campaign(args.file, load_catalogue(args.plugin))
    schedule = draw(campaign, campaign.seeds[0] if args.seed is None else args.seed)
    if args.json:
        head = {"campaign": campaign.name, "file": campaign.file, "seed": schedule.seed}
        actions = [action.entry for action in schedule.actions]
        remarks = [*_remarks(campaign, schedule)]
        print_json({**head, "duration_s": campaign.duration_s, "actions": actions, "remarks": remarks})
        return 0
    cluster = campaign.cluster
    print(f"{campaign.name}, seed {schedule.seed}: {campaign.duration_s:g} s on {cluster.nodes} nodes")
    for topic in campaign.topics:
        print(
            f"  before it: topic {topic.name}, {topic.partitions} partitions, {topic.replication_factor} replicas each"
        )
    print()
    if schedule.actions:
        print("\n".join(table(schedule.actions)))
    elif not schedule.no_room:
        print("Nothing happens: the file has no faults and no workload.")
    for remark in _remarks(campaign, schedule):
        print(f"note: {remark}")
    if not schedule.actions:
        return 0
    print(
        f"\nThe seed moves each time of the file by up to {JITTER_US / 1e6:g} s. Targets are looked up when they are hit."
    )
    options = Options(plugins=tuple(args.plugin), backend=backends.first_able(campaign).name)
    print(f"To play it: {run_line(str(args.file), [schedule.seed], options, backend=backends.DEFAULT)}")
    return 0


def _remarks(campaign: Campaign, schedule: Schedule) -> Iterator[str]:
    """What of the plan will not come about."""
    if schedule.no_room:
        yield schedule.no_room
    yield from campaign.remarks


def table(actions: tuple[Action, ...]) -> list[str]:
    head = ("AT", "WHAT", "ON", "HEALED", "ID", "WITH")
    return columns([head, *(_row(action) for action in actions)])


def _row(action: Action) -> tuple[str, ...]:
    kind = action.kind if action.mode is None else f"{action.kind} ({action.mode})"
    given = " ".join(f"{key}={value}" for key, value in action.parameters.items())
    if action.what == "admin":
        return _at(action), kind, "the cluster", "", action.id, given
    return _at(action), kind, action.target or "", _healed(action), action.id, given


def _at(action: Action) -> str:
    if action.at_us is not None and action.when is not None:
        return f"{action.when} after {action.at_us / 1e6:.3f} s"
    if action.at_us is not None:
        return f"{action.at_us / 1e6:.3f} s"
    return f"{action.when} + {action.after_us / 1000:g} ms" if action.after_us else str(action.when)


def _healed(action: Action) -> str:
    if action.until is not None:
        return f"at {action.until}"
    return "once it is observed" if action.duration_us is None else f"after {round(action.duration_us / 1e6, 3):g} s"
