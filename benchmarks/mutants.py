"""How long a hunt takes until it finds each known bug: schedules and CPU seconds, the median of disjoint ranges of seeds.

    python benchmarks/mutants.py [KAFKA-1096 ...] [--ranges 3] [--from-seed 1] [--limit-s 20] [--jobs 1] [--against REV]
        [--json]

Each range is one hunt of explore.toml in one process on one core, from its own seed, a thousand seeds away from the next. It
ends when it has found a violation, or after the limit: then the mutant `survived`, or was `not reached`, if what it changes
never ran. What is found where, and by which invariants, is the same each time (schedules); CPU seconds depend on the
machine.
`--jobs` hunts for so many mutants side by side.

`--against REV` hunts for the same mutants with an older revision too, mutant by mutant, in a worktree that is made for it
and removed, and prints both with the ratio of the medians. What survived counts with the time that it was hunted for.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from revisions import measured_in, worktree

import kcontroller_chaos
from kcontroller_chaos.mutants import kcontroller_mutants

CAMPAIGN = Path(kcontroller_chaos.__file__).parents[1] / "campaigns" / "explore.toml"
APART = 1000
"""Seeds between the beginnings of two ranges: more than any hunt plays in its time."""

Hunts = list[dict[str, Any]]
"""Of each range: `found`, `fate`, `by` (the invariants that were violated), `schedules`, `cpu_s`."""


def main() -> None:
    parser = argparse.ArgumentParser(description="how long known bugs live")
    parser.add_argument("mutants", nargs="*", metavar="MUTANT", help="default: all")
    parser.add_argument(
        "--ranges", type=int, default=3, metavar="N", help="how many hunts of each (default: %(default)s)"
    )
    parser.add_argument("--from-seed", type=int, default=1, metavar="SEED", help="where the first begins")
    parser.add_argument(
        "--limit-s", type=float, default=20, metavar="S", help="CPU seconds of one (default: %(default)s)"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (default: %(default)s)")
    parser.add_argument("--against", metavar="REV", help="also measure this revision of the repository")
    parser.add_argument("--json", action="store_true", help="one object instead of lines")
    args = parser.parse_args()
    names = args.mutants or sorted(mutant.name for mutant in kcontroller_mutants())
    ranges = [args.from_seed + number * APART for number in range(args.ranges)]
    with ExitStack() as stack:
        workers = stack.enter_context(ProcessPoolExecutor(args.jobs))
        hunts = zip(names, workers.map(partial(hunts_of, ranges, args.limit_s), names), strict=True)
        if args.json:
            print(json.dumps(dict(hunts)))
            return
        tree = stack.enter_context(worktree(args.against)) if args.against else None
        options = ("--ranges", str(args.ranges), "--from-seed", str(args.from_seed), "--limit-s", str(args.limit_s))
        for name, now in hunts:
            before: Hunts | None = measured_in(tree, __file__, *options, name)[name] if tree else None
            for line in lines(name, now, args.against, before):
                print(line, flush=True)


def hunts_of(ranges: Sequence[int], limit_s: float, mutant: str) -> Hunts:
    return [hunt(mutant, seed, limit_s) for seed in ranges]


def hunt(mutant: str, seed: int, limit_s: float) -> dict[str, Any]:
    hunter, gone, reached, schedules, began = new_hunter(mutant), False, False, 0, time.process_time()
    by: Sequence[str] = ()
    while not gone and time.process_time() - began < limit_s:
        seen = hunter.play(seed + schedules)
        gone, by = seen.verdict == "violated", getattr(seen, "violated", ())
        reached = reached or any(seen.counts.values())
        schedules += 1
    cpu_s = time.process_time() - began
    gc.collect()
    fate = "found" if gone else "survived" if reached else "not reached"
    return {"found": gone, "fate": fate, "by": list(by), "schedules": schedules, "cpu_s": cpu_s}


def new_hunter(mutant: str) -> Any:
    """By today's names, or by those of revisions that had no package `play` yet."""
    try:
        hunting = importlib.import_module("kcontroller_chaos.play.hunting")
        runner = importlib.import_module("kcontroller_chaos.play.runner")
    except ModuleNotFoundError:
        hunting = importlib.import_module("kcontroller_chaos.hunting")
        runner = importlib.import_module("kcontroller_chaos.runner")
    campaign = importlib.import_module("kcontroller_chaos.campaign").load_campaign(CAMPAIGN)
    return hunting.Hunter(campaign, runner.Options(backend="sim", mutant=mutant))


def lines(name: str, now: Hunts, revision: str | None, before: Hunts | None) -> Iterator[str]:
    yield f"{name:<22}{summary(now)}"
    if before:
        ratio = median(now, "cpu_s") / median(before, "cpu_s")
        yield f"{f'  at {revision}':<22}{summary(before)}; now {ratio:.2f} times as long"


def summary(hunts: Hunts) -> str:
    fates = Counter(one["fate"] for one in hunts)
    by = ", ".join(sorted({name for one in hunts for name in one["by"]}))
    said = ", ".join(f"{fates[fate]} {fate}" for fate in ("found", "survived", "not reached") if fates[fate])
    return (
        f"{said:<12} median {median(hunts, 'schedules'):5.0f} schedules, {median(hunts, 'cpu_s'):6.2f} CPU s"
        f"{f'  by {by}' if by else ''}"
    )


def median(hunts: Sequence[dict[str, Any]], column: str) -> float:
    return float(statistics.median(one[column] for one in hunts))


if __name__ == "__main__":
    main()
