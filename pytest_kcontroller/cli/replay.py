"""`kcontroller replay RUN|FILE`: the same schedule again, and whether the verdict comes back."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcontroller_chaos import backends
from pytest_kcontroller.cli import _choices, explain

if TYPE_CHECKING:
    from kcontroller_chaos.play.runner import Options, RunResult
    from pytest_kcontroller.cli._original import Original
    from pytest_kcontroller.cli._playing import Playing
    from pytest_kcontroller.cli._results import Planned

NAME = "replay"
HELP = "play the schedule of a run again, and see whether its verdict comes back"
OF_A_FILE = {"seed": "seed", "backend": "backend", "plugin": "plugins"}
"""Options that a run has said itself."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what", type=Path, metavar="RUN|FILE", help="a run directory (one with a run.json), or a campaign file"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="of a campaign file (default: its first)")
    parser.add_argument(
        "--backend",
        choices=backends.NAMES,
        help=f"of a campaign file (default: {backends.DEFAULT}, or the first that has what the file needs)",
    )
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="MODULE",
        help="load this plugin, which a campaign file needs; a run says itself which it had",
    )
    parser.add_argument("--times", type=int, default=1, metavar="N", help="how often (default: %(default)s)")
    parser.add_argument("-v", "--verbose", action="store_true", help="say of each replay how much it has tested")
    _choices.add_output(parser)
    explain(
        parser,
        examples=[
            "kcontroller replay runs/zombie/20260102T030405-seed-7",
            "kcontroller replay runs/zombie/20260102T030405-seed-7 --times 10",
            "kcontroller replay chaos/campaigns/smoke.toml --seed 3",
        ],
        statuses="0 every replay held, 1 one of them violated, 2 no such run or file, 4 unknown, 6 environment,\n"
        "130 Ctrl-C",
    )


def run(args: argparse.Namespace) -> int:
    from kcontroller_chaos.history.rundir import looked
    from kcontroller_chaos.judge.outcome import aggregate
    from kcontroller_chaos.play.runner import check
    from pytest_kcontroller.cli._original import original_run
    from pytest_kcontroller.cli._output import documented
    from pytest_kcontroller.cli._playing import Playing, play
    from pytest_kcontroller.errors import UsageError

    _choices.check_least(args, times=1)
    _choices.check_seed(args.seed, "--seed")
    if looked(args.what, Path.is_dir):
        for name, its in OF_A_FILE.items():
            if getattr(args, name) not in (None, []):
                what, hint = f"a run has its {its}", "leave it out, or name a campaign file"
                raise UsageError(what, where=f"--{name}", hint=hint)
        planned, options, original = original_run(args.what, args.out)
        place = str(args.what / "run.json")
        if original is None:
            print(
                f"{args.what}: it has no verdicts.json: what comes of a replay is compared with nothing",
                file=sys.stderr,
            )
    else:
        planned, original, place = _of_file(args.what, args.seed, args.plugin), None, ""
        backend = args.backend or backends.first_able(planned.campaign).name
        options = _options(args.out, backend=backend, plugins=tuple(args.plugin))
    check(planned.campaign, options, place)
    playing = Playing(planned=[planned] * args.times, options=options, verbose=args.verbose)
    with documented(lambda status: _print_json(args, playing, original, status)):
        results = play(playing)
    _say_compared(original, results)
    status = aggregate(result.status for result in results)
    _print_json(args, playing, original, status)
    return status


def _print_json(args: argparse.Namespace, playing: Playing, original: Original | None, status: int) -> None:
    from pytest_kcontroller.cli._json import print_json
    from pytest_kcontroller.cli._output import of_playing

    if not args.json:
        return
    compared: dict[str, Any] = {"original": None, "came_back": None, "differences": []}
    if original is not None:
        outcome, _ = original
        compared = {
            "original": {"verdict": outcome[0], "violated": list(outcome[1:])},
            "came_back": _times_back(original, playing.results),
            "differences": [
                {"directory": str(path), "text": text} for path, text in _differences(original, playing.results)
            ],
        }
    print_json(of_playing("replay", playing, status, **compared))


def _options(out: Path, **given: Any) -> Options:
    from kcontroller_chaos.play.runner import Options

    return Options(out=out, **given)


def _of_file(path: Path, seed: int | None, plugins: Sequence[str]) -> Planned:
    from kcontroller_chaos.campaign.file import load_campaign
    from kcontroller_chaos.catalogue import load_catalogue
    from pytest_kcontroller.cli._results import Planned

    campaign = load_campaign(path, load_catalogue(plugins))
    return Planned(campaign, campaign.seeds[0] if seed is None else seed)


def _say_compared(original: Original | None, results: Sequence[RunResult]) -> None:
    if original is None:
        return
    outcome, _ = original
    print(f"the verdict came back {_times_back(original, results)} of {len(results)} times: {' '.join(outcome)}")
    for path, difference in _differences(original, results):
        print(f"    {path}: {difference}")


def _times_back(original: Original, results: Sequence[RunResult]) -> int:
    from pytest_kcontroller.cli._original import outcome

    before, _ = original
    return sum(_came_back(before, outcome(result.details or {"overall": result.verdict})) for result in results)


def _differences(original: Original, results: Sequence[RunResult]) -> Iterator[tuple[Path, str]]:
    """Of each replay that differs: its directory, and the first decision that came out otherwise."""
    from pytest_kcontroller.cli._original import decisions

    for result in results:
        if result.details and (difference := _first_difference(original[1], decisions(result.details))):
            yield result.path, difference


def _came_back(before: Sequence[str], now: Sequence[str]) -> bool:
    """The same verdict, and one of the same violations: on real nodes what else breaks may differ."""
    return before[0] == now[0] and (len(before) == 1 or any(name in now[1:] for name in before[1:]))


def _first_difference(before: Sequence[str], now: Sequence[str]) -> str:
    """The first decision, by time, that came out otherwise; on real nodes some always may."""
    for one, other in zip(before, now, strict=False):
        if one != other:
            return f"the first decision that differs: {other}; in the original: {one}"
    if len(before) != len(now):
        more, where = (now, "only here") if len(now) > len(before) else (before, "only in the original")
        return f"the first decision that differs: {more[min(len(before), len(now))]}, {where}"
    return ""
