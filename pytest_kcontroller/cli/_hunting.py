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

from kcontroller_chaos.backends.run import MUTANTS
from kcontroller_chaos.judge.outcome import HELD, aggregate, exit_status
from kcontroller_chaos.judge.verdict import ENVIRONMENT, VIOLATED
from kcontroller_chaos.play.hunting import fingerprint
from kcontroller_chaos.play.runner import run_once
from pytest_kcontroller.cli._playing import CLEAR, _until_terminated, _verdict, duration, why
from pytest_kcontroller.cli._workers import encoded, endless, play_batches
from pytest_kcontroller.errors import KControllerError
from pytest_kcontroller.plugin.manager import load_plugins
from pytest_kcontroller.runtime.nursery import Nursery
from pytest_kcontroller.runtime.real import RealClock, RunStart

if TYPE_CHECKING:
    from kcontroller_chaos.campaign.file import Campaign
    from kcontroller_chaos.play.runner import Options

ENOUGH = 10
"""So many runs that could not be judged end a hunt: it would find more of the same, and keep them all."""
LIVE_S, PLAIN_S = 1.0, 10.0
"""How often it says how far it is: on a terminal, and where lines stay."""


@dataclass(slots=True)
class Hunt:
    campaign: Campaign
    options: Options
    first: int
    jobs: int
    max_seconds: float
    played: Counter[str] = field(default_factory=Counter)
    """Verdict -> runs; a known failure is `known`."""
    seeds: set[int] = field(default_factory=set)
    end_us: int = 0
    callbacks: int = 0
    ran: Counter[str] = field(default_factory=Counter)
    """Seam -> how often the mutant's replacement of it ran."""
    reached: int = 0
    """Runs in which one of them did."""

    @property
    def count(self) -> int:
        return sum(self.played.values())

    @property
    def next_seed(self) -> int:
        """The first that was not played."""
        return next(seed for seed in range(self.first, self.first + len(self.seeds) + 1) if seed not in self.seeds)

    def add(self, record: Mapping[str, Any]) -> None:
        self.played["known" if record["known"] else record["verdict"]] += 1
        self.seeds.add(record["seed"])
        self.end_us += record["end_us"]
        self.callbacks += record["callbacks"]
        self.ran.update(record["counts"])
        self.reached += any(record["counts"].values())

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


class Progress:
    """How far it is: on a terminal the last line, else a line now and then."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.live = stream.isatty() and os.environ.get("TERM") != "dumb"

    def say(self, line: str) -> None:
        print(f"{CLEAR if self.live else ''}{line}", file=self._stream, flush=True)

    def show(self, line: str) -> None:
        print(f"{CLEAR if self.live else ''}{line}", end="" if self.live else "\n", file=self._stream, flush=True)


def hunt(plan: Hunt) -> int:
    """Its exit status. Raises KeyboardInterrupt on Ctrl-C and SIGTERM."""
    try:
        return asyncio.run(_until_terminated(_hunt(plan, Progress(sys.stdout))))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _hunt(plan: Hunt, screen: Progress) -> int:
    clock = RealClock(RunStart.now())
    try:
        strange = await _play_seeds(plan, screen, clock)
    finally:
        screen.say(plan.so_far(clock.now_us() / 1e6))
    for record in strange:
        await _keep(plan, screen, record)
    if len(strange) == ENOUGH:
        screen.say(f"stopped: {ENOUGH} runs did not hold")
        if plan.played[ENVIRONMENT]:
            screen.say("  -> a fault of the file that a drawn one may prevent needs: if_possible = true")
    found = next((record for record in strange if record["verdict"] == VIOLATED), None)
    _say_of_mutant(plan, screen, found)
    if found is None:
        others = ", ".join(f"{plan.played[verdict]} {verdict}" for verdict in sorted(plan.played) if verdict != "held")
        but = f" ({others})" if others else ""
        screen.say(f"no violation was found{but}; there is more from --from-seed {plan.next_seed}")
    return aggregate([HELD, *(exit_status(record["verdict"]) for record in strange)])


async def _play_seeds(plan: Hunt, screen: Progress, clock: RealClock) -> list[Mapping[str, Any]]:
    """What those runs said that did not hold, until one violates an invariant, or the time is over."""
    record: asyncio.Queue[Mapping[str, Any]] = asyncio.Queue()
    strange: list[Mapping[str, Any]] = []
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(plan.max_seconds), Nursery() as tasks:
            tasks.start(_show_progress(plan, screen, clock), name="progress")
            tasks.start(play_batches(plan.work, plan.jobs, record.put_nowait), name="workers")
            while len(strange) < ENOUGH:
                one = await record.get()
                if "bug" in one:
                    raise KControllerError(
                        f"{plan.campaign.name} seed {one['seed']}: {one['bug']}\n  -> the same again: kcontroller "
                        f"campaign run {plan.campaign.file} --seeds {one['seed']}{_given(plan.options)}"
                    )
                plan.add(one)
                if one["verdict"] != "held" and not one["known"]:
                    strange.append(one)
                    if one["verdict"] == VIOLATED:
                        break
    return strange


async def _show_progress(plan: Hunt, screen: Progress, clock: RealClock) -> None:
    while True:
        await clock.sleep_us(round((LIVE_S if screen.live else PLAIN_S) * 1e6))
        screen.show(f"{plan.campaign.name}: {plan.so_far(clock.now_us() / 1e6)}")


async def _keep(plan: Hunt, screen: Progress, record: Mapping[str, Any]) -> None:
    """Plays it again with a run directory. Raises KControllerError if it does not come out the same."""
    result = await run_once(plan.campaign, record["seed"], plan.options)
    screen.say(f"{plan.campaign.name} seed {record['seed']}: {_verdict(result)}  {result.path}")
    for line in why(result):
        screen.say(f"    {line}")
    if result.verdict != record["verdict"] or (result.details and fingerprint(result.details) != record["fingerprint"]):
        raise KControllerError(
            f"seed {record['seed']} came out as {record['verdict']}, and played again as {result.verdict} with other details"
            "\n  -> one seed must be one history: please report it, with the campaign file"
        )


def _say_of_mutant(plan: Hunt, screen: Progress, found: Mapping[str, Any] | None) -> None:
    """Found, survived, or not reached: a mutant whose line never ran says nothing of the invariants."""
    if (mutant := load_plugins((*plan.options.plugins, MUTANTS)).mutant(plan.options.mutant)) is None:
        return
    counts = ", ".join(f"{seam} {plan.ran[seam]}" for seam, _ in mutant.replacements)
    if found is not None and any(found["counts"].values()):
        screen.say(f"mutant {mutant.name}: found; what it changes ran: {counts}")
    elif found is not None:
        screen.say(f"mutant {mutant.name}: not it: in this run nothing of what it changes ran ({counts} in all runs)")
    elif plan.reached:
        screen.say(f"mutant {mutant.name}: survived; it was reached in {plan.reached} of {plan.count} runs: {counts}")
    else:
        screen.say(f"mutant {mutant.name}: not reached: in no run anything of what it changes ran ({counts})")


def _given(options: Options) -> str:
    """The options as they were typed."""
    typed = [("backend", options.backend)]
    typed += [("mutant", options.mutant)] if options.mutant else []
    typed += [("assignment", options.assignment)] if options.assignment else []
    typed += [("selector", f"{reason}={name}") for reason, name in options.selectors.items()]
    typed += [("plugin", module) for module in options.plugins]
    return "".join(f" --{name} {value}" for name, value in typed)
