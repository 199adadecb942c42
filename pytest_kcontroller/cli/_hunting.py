"""The hunt itself: processes play seeds, and what does not hold is played again with a run directory, for a person."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

from kcontroller_chaos.catalogue.loading import MUTANTS
from kcontroller_chaos.judge.outcome import HELD, UNKNOWN, aggregate, exit_status
from kcontroller_chaos.judge.verdict import ENVIRONMENT, VIOLATED
from kcontroller_chaos.play.hunting import fingerprint
from kcontroller_chaos.play.runner import run_once
from pytest_kcontroller.cli._colour import paint
from pytest_kcontroller.cli._output import Document, document, of_run
from pytest_kcontroller.cli._playing import CLEAR, duration
from pytest_kcontroller.cli._results import Planned, Played, arguments, run_line, verdict_of, why
from pytest_kcontroller.cli._signals import run_until_terminated
from pytest_kcontroller.cli._workers import encoded, endless, play_batches, raise_failure
from pytest_kcontroller.errors import KControllerError
from pytest_kcontroller.model.text import printable_lines, without_numbers
from pytest_kcontroller.plugin.manager import load_plugins, typed
from pytest_kcontroller.runtime.nursery import Nursery
from pytest_kcontroller.runtime.real import RealClock, RunStart
from pytest_kcontroller.runtime.rng import MOST_SEED
from pytest_kcontroller.runtime.timeouts import within

if TYPE_CHECKING:
    from kcontroller_chaos.campaign.file import Campaign
    from kcontroller_chaos.play.runner import Options, RunResult

MOST_REASONS = 5
ENOUGH = 10
"""So many runs that could not be judged end a hunt: it would find more of the same, and keep them all."""
HELD_, KNOWN, NOTHING_TESTED = "held", "known", "nothing tested"
"""Runs that are only counted."""
LIVE_S, PLAIN_S = 1.0, 10.0
"""How often it says how far it is: on a terminal, and where lines stay."""


@dataclass(slots=True)
class Hunt:
    campaign: Campaign
    options: Options
    first: int
    jobs: int
    max_seconds: float
    max_runs: int | None = None
    played: Counter[str] = field(default_factory=Counter)
    """Verdict -> runs; a known failure is `known`, a run in which too little came about is `nothing tested`."""
    untested: dict[str, list[str]] = field(default_factory=dict)
    """Why too little came about, without numbers -> what each such run said."""
    seeds: set[int] = field(default_factory=set)
    end_us: int = 0
    callbacks: int = 0
    ran: Counter[str] = field(default_factory=Counter)
    """Seam -> how often the mutant's replacement of it ran."""
    reached: int = 0
    """Runs in which one of them did."""
    seconds: float = 0
    mutant: str = ""
    """What became of it: found, not it, survived, not reached; empty: there is none."""
    strange: list[Mapping[str, Any]] = field(default_factory=list)
    """What those runs said that did not hold."""
    untold: list[Mapping[str, Any]] = field(default_factory=list)
    """Of these what nobody has been told yet."""
    kept: list[Played] = field(default_factory=list)
    """The runs that did not hold, played again with a run directory."""

    @property
    def count(self) -> int:
        return sum(self.played.values())

    @property
    def next_seed(self) -> int:
        """The first that was not played; after the last one there is 0."""
        found = next(seed for seed in range(self.first, self.first + len(self.seeds) + 1) if seed not in self.seeds)
        return found if found <= MOST_SEED else 0

    @property
    def most_runs(self) -> int:
        """No more can be played."""
        left = MOST_SEED - self.first + 1
        return left if self.max_runs is None else min(self.max_runs, left)

    def add(self, record: Mapping[str, Any]) -> None:
        self.played[_kind(record)] += 1
        if record["untested"]:
            self.untested.setdefault(without_numbers(record["untested"]), []).append(record["untested"])
        self.seeds.add(record["seed"])
        self.end_us += record["end_us"]
        self.callbacks += record["callbacks"]
        self.ran.update(record["counts"])
        self.reached += any(record["counts"].values())
        if _kind(record) not in (HELD_, KNOWN, NOTHING_TESTED):
            self.strange.append(record)
            self.untold.append(record)

    def so_far(self, seconds: float) -> str:
        simulated = self.end_us / 1e6
        speed = f"{self.count / seconds:.1f} schedules/s, {simulated / seconds:.0f} times real time" if seconds else ""
        runs = f"{self.count} schedule{'' if self.count == 1 else 's'}"
        return f"{runs}, {simulated:,.0f} s of simulated time in {duration(seconds)}: {speed}"

    @property
    def work(self) -> Any:
        common = {"file": str(self.campaign.file), "options": encoded(self.options), "keep": False}
        for seeds in endless(self.first, self.jobs):
            yield {**common, "seeds": seeds}


def _kind(record: Mapping[str, Any]) -> str:
    """How a run is counted."""
    if record["untested"]:
        return NOTHING_TESTED
    return KNOWN if record["verdict"] != record["unexpected"] == "held" else str(record["unexpected"])


class Progress:
    """How far it is: on a terminal the last line, else a line now and then."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.live = stream.isatty() and os.environ.get("TERM") != "dumb"

    def say(self, line: str) -> None:
        print(f"{CLEAR if self.live else ''}{line}", file=self._stream, flush=True)

    def painted(self, result: RunResult) -> str:
        return paint(verdict_of(result), result.unexpected, self._stream)

    def show(self, line: str) -> None:
        print(f"{CLEAR if self.live else ''}{line}", end="" if self.live else "\n", file=self._stream, flush=True)


def hunt(plan: Hunt) -> int:
    """Its exit status. Raises KeyboardInterrupt on Ctrl-C and SIGTERM."""
    return run_until_terminated(_hunt(plan, Progress(sys.stdout)))


async def _hunt(plan: Hunt, screen: Progress) -> int:
    clock = RealClock(RunStart.now())
    try:
        try:
            await _play_seeds(plan, screen, clock)
        finally:
            plan.seconds = clock.now_us() / 1e6
            screen.say(plan.so_far(plan.seconds))
        failed = await _keep_all(plan, screen)
    except BaseException:  # Ctrl-C too: what was found is said all the same
        for record in plan.untold:
            _say_not_kept(plan, screen, record)
        raise
    if len(plan.strange) == ENOUGH:
        screen.say(f"stopped: {ENOUGH} runs did not hold")
        if plan.played[ENVIRONMENT]:
            screen.say("  -> a fault of the file that a drawn one may prevent needs: if_possible = true")
    found = next((record for record in plan.strange if record["unexpected"] == VIOLATED), None)
    for reasons in sorted(plan.untested.values(), key=len, reverse=True)[:MOST_REASONS]:
        screen.say(f"nothing tested in {len(reasons)} of {plan.count} runs: {printable_lines(reasons[0])}")
    _say_of_mutant(plan, screen, found)
    if found is None:
        others = ", ".join(f"{plan.played[verdict]} {verdict}" for verdict in sorted(plan.played) if verdict != HELD_)
        ended = "" if plan.count else f": no run ended in {plan.max_seconds:g} s"
        screen.say(f"no violation was found{f' ({others})' if others else ''}{ended}")
    screen.say(f"more seeds: {_hunt_on(plan)}")
    if failed:
        raise failed[0]
    return aggregate([*_statuses_of_counted(plan), *(exit_status(record["unexpected"]) for record in plan.strange)])


def _statuses_of_counted(plan: Hunt) -> list[int]:
    """Of the runs that were only counted: unknown, if none of them tested anything; none, if there were none."""
    if plan.played[HELD_] + plan.played[KNOWN]:
        return [HELD]
    return [UNKNOWN] if plan.played[NOTHING_TESTED] else []


async def _play_seeds(plan: Hunt, screen: Progress, clock: RealClock) -> None:
    """Until one violates an invariant, or the time is over."""
    record: asyncio.Queue[Mapping[str, Any]] = asyncio.Queue()
    with contextlib.suppress(TimeoutError):
        async with within(plan.max_seconds), Nursery() as tasks:
            tasks.start(_show_progress(plan, screen, clock), name="progress")
            tasks.start(play_batches(plan.work, plan.jobs, record.put_nowait), name="workers")
            while len(plan.strange) < ENOUGH and plan.count != plan.most_runs:
                one = await record.get()
                if "failure" in one:
                    same = run_line(str(plan.campaign.file), [one["seed"]], plan.options, backend="")
                    one["failure"]["what"] += f"\n  -> the same again: {same}"
                    raise_failure(one, f"{plan.campaign.name} seed {one['seed']}")
                plan.add(one)
                if one["unexpected"] == VIOLATED:
                    break


async def _show_progress(plan: Hunt, screen: Progress, clock: RealClock) -> None:
    while True:
        await clock.sleep_us(round((LIVE_S if screen.live else PLAIN_S) * 1e6))
        screen.show(f"{plan.campaign.name}: {plan.so_far(clock.now_us() / 1e6)}")


async def _keep_all(plan: Hunt, screen: Progress) -> list[KControllerError]:
    """What was found first: all others may come out otherwise, or be interrupted, and must not hide it. What went wrong."""
    failed: list[KControllerError] = []
    plan.untold.sort(key=lambda record: record["unexpected"] != VIOLATED)
    while plan.untold:
        try:
            await _keep(plan, screen, plan.untold[0])
        except KControllerError as wrong:
            failed.append(wrong)
        del plan.untold[0]
    return failed


async def _keep(plan: Hunt, screen: Progress, record: Mapping[str, Any]) -> None:
    """Plays it again with a run directory. Raises KControllerError if it does not come out the same."""
    try:
        result = await run_once(plan.campaign, record["seed"], plan.options)
    except KControllerError:  # no place for it
        _say_not_kept(plan, screen, record)
        raise
    plan.kept.append((Planned(plan.campaign, record["seed"]), result))
    screen.say(f"{plan.campaign.name} seed {record['seed']}: {screen.painted(result)}  {result.path}")
    for line in why(result):
        screen.say(f"    {line}")
    if result.unexpected == VIOLATED:
        screen.say(f"    its fewest faults: {typed(['kcontroller', 'shrink', str(result.path)], result.plugins)}")
    if result.verdict != record["verdict"] or (result.details and fingerprint(result.details) != record["fingerprint"]):
        screen.say(f"    it was {record['verdict']} before, and did not come out the same again")
        raise KControllerError(
            f"seed {record['seed']} came out as {record['verdict']}, and played again as {result.verdict} with other details"
            "\n  -> one seed must be one history: please report it, with the campaign file"
        )


def _say_not_kept(plan: Hunt, screen: Progress, record: Mapping[str, Any]) -> None:
    same = run_line(str(plan.campaign.file), [record["seed"]], plan.options, backend="")
    screen.say(f"{plan.campaign.name} seed {record['seed']}: {record['verdict']}, and it could not be kept")
    screen.say(f"    the same again: {same}")


def _say_of_mutant(plan: Hunt, screen: Progress, found: Mapping[str, Any] | None) -> None:
    """Found, survived, or not reached: a mutant whose line never ran says nothing of the invariants."""
    if (mutant := load_plugins((*plan.options.plugins, MUTANTS)).mutant(plan.options.mutant)) is None:
        return
    counts = ", ".join(f"{seam} {plan.ran[seam]}" for seam, _ in mutant.replacements)
    if found is not None and any(found["counts"].values()):
        plan.mutant, said = "found", f"found; what it changes ran: {counts}"
    elif found is not None:
        plan.mutant, said = "not it", f"not it: in this run nothing of what it changes ran ({counts} in all runs)"
    elif plan.reached:
        plan.mutant, said = "survived", f"survived; it was reached in {plan.reached} of {plan.count} runs: {counts}"
    else:
        plan.mutant, said = "not reached", f"not reached: in no run anything of what it changes ran ({counts})"
    screen.say(f"mutant {mutant.name}: {said}")


def document_of(plan: Hunt, status: int) -> Document:
    """What `--json` prints (docs/cli.schema.json)."""
    mutant = {"name": plan.options.mutant, "fate": plan.mutant or None, "reached": plan.reached, "ran": dict(plan.ran)}
    return document(
        "hunt",
        status,
        campaign=plan.campaign.name,
        file=str(plan.campaign.file),
        schedules=plan.count,
        seconds=round(plan.seconds, 3),
        simulated_s=round(plan.end_us / 1e6, 3),
        counted=dict(sorted(plan.played.items())),
        untested=[{"text": reasons[0], "runs": len(reasons)} for reasons in plan.untested.values()],
        runs=[of_run(run, result) for run, result in plan.kept],
        mutant=mutant if plan.options.mutant else None,
        next_seed=plan.next_seed,
        more=_hunt_on(plan),
    )


def _hunt_on(plan: Hunt) -> str:
    """The line that goes on where this hunt has ended."""
    command = ["kcontroller", "hunt", str(plan.campaign.file), "--from-seed", str(plan.next_seed)]
    return typed([*command, *arguments(plan.options, backend=plan.options.backend)], plan.options.plugins)
