"""Many runs, one after the other, and what a person sees meanwhile: a line per run, on a terminal also what goes on now."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from pytest_kcontroller.cli._colour import paint
from pytest_kcontroller.cli._results import Cause, Planned, Played, again, counts, in_common, line_of, verdict_of, why
from pytest_kcontroller.cli._signals import run_until_terminated
from pytest_kcontroller.cli._streams import leave
from pytest_kcontroller.errors import KControllerError
from pytest_kcontroller.model.text import printable, printable_lines

if TYPE_CHECKING:
    from kcontroller_chaos.play.runner import Options, RunResult
    from pytest_kcontroller.runtime.ports import Clock

T = TypeVar("T")

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
SUMMARY_ROWS = 200
CLEAR = "\r\x1b[K"
AT_ONCE = 10
"""No more runs are given to a process; many enough that its start does not count."""


@dataclass(slots=True, kw_only=True)
class Playing:
    """Runs to be played, when to stop, and what has been played so far."""

    planned: Sequence[Planned]
    options: Options
    max_seconds: float | None = None
    """No run starts after so long."""
    jobs: int = 1
    """So many simulated runs at a time; each is told when it ends."""
    fail_fast: bool = False
    """No run starts after one that did not hold."""
    verbose: bool = False
    failed: KControllerError | None = None
    """Why a run could not be played; what is going on beside it is finished."""
    played: list[Played] = field(default_factory=list)
    stopped: str = ""
    """Why the rest was not played; empty: everything was."""
    told: dict[tuple[str, str], str] = field(default_factory=dict)
    """Of each cause the run that was told in full."""

    @property
    def results(self) -> list[RunResult]:
        return [result for _, result in self.played]

    def may_start(self, seconds: float) -> bool:
        """Whether another run may, so long after the beginning."""
        if self.failed is not None:
            self.stopped = "a run could not be played"
        elif self.fail_fast and any(result.status for result in self.results):
            self.stopped = "--fail-fast"
        elif self.max_seconds is not None and seconds > self.max_seconds:
            self.stopped = f"--max-seconds {self.max_seconds:g}"
        return not self.stopped


def play(playing: Playing) -> list[RunResult]:
    """Plays them and prints. Raises KeyboardInterrupt on Ctrl-C and SIGTERM, and KControllerError if a run could not be
    played or shows a bug of ours; `played` has what ended before."""
    try:
        run_until_terminated(_play(playing))
    except KeyboardInterrupt:
        playing.stopped = "interrupted"
        raise
    except Exception as failed:
        playing.stopped = printable(str(failed).partition("\n")[0])
        raise
    return playing.results


async def _play(playing: Playing) -> None:
    from pytest_kcontroller.runtime.real import RealClock, RunStart

    clock = RealClock(RunStart.now())
    screen = Screen(sys.stdout, clock, len(playing.planned))
    await (_one_by_one if playing.jobs == 1 else _at_once)(playing, screen, clock)
    if playing.stopped:
        screen.say(f"stopped after {len(playing.played)} of {len(playing.planned)} runs: {playing.stopped}")
    if len(playing.planned) > 1 and playing.played:
        screen.say(f"{counts(playing.results)}, in {duration(clock.now_us() / 1e6)}")
        for line in in_common(playing.played):
            screen.say(line)
    _append_step_summary(playing.planned, playing.played)
    if playing.failed is not None:
        raise playing.failed


async def _one_by_one(playing: Playing, screen: Screen, clock: Clock) -> None:
    from kcontroller_chaos.play.runner import run_once

    for run in playing.planned:
        if not playing.may_start(clock.now_us() / 1e6):
            return
        with screen.shows(run.name, len(playing.played)):
            result = await run_once(run.campaign, run.seed, playing.options, run.schedule)
        _tell(playing, screen, run, result)


async def _at_once(playing: Playing, screen: Screen, clock: Clock) -> None:
    """In processes of their own. Raises KControllerError if one of these fails."""
    from kcontroller_chaos.play.runner import RunResult
    from pytest_kcontroller.cli._workers import Outcome, encoded, play_batches, raise_failure

    by_name = {(str(run.campaign.file), run.seed): run for run in playing.planned}
    places = {id(run): place for place, run in enumerate(playing.planned)}

    def work() -> Iterator[dict[str, Any]]:
        for file, seeds in batches(playing):
            if not playing.may_start(clock.now_us() / 1e6):
                return
            yield {"file": file, "options": encoded(playing.options), "seeds": seeds, "keep": True}

    def show(one: Outcome) -> None:
        run = by_name[one["file"], one["seed"]]
        try:
            raise_failure(one, run.name)
        except KControllerError as failed:
            screen.say(printable_lines(str(failed)))
            playing.failed = playing.failed or failed
            return
        result = RunResult(
            Path(one["path"]), one["verdict"], one["seconds"], one["details"], one["error"], playing.options.plugins
        )
        _tell(playing, screen, run, result)

    try:
        await play_batches(work(), playing.jobs, show)
    finally:  # as if they had been played one by one
        playing.played.sort(key=lambda each: places[id(each[0])])


def batches(playing: Playing) -> Iterator[tuple[str, list[int]]]:
    """Seeds of one file for a process each: all processes have work, and what may stop is asked before each run."""
    may_stop = playing.fail_fast or playing.max_seconds is not None
    at_once = 1 if may_stop else min(AT_ONCE, math.ceil(len(playing.planned) / playing.jobs))
    for file, runs in groupby(playing.planned, key=lambda run: str(run.campaign.file)):
        seeds = [run.seed for run in runs]
        for first in range(0, len(seeds), at_once):
            yield file, seeds[first : first + at_once]


def _tell(playing: Playing, screen: Screen, run: Planned, result: RunResult) -> None:
    """A run that failed as one before did is told in a line."""
    playing.played.append((run, result))
    screen.say(line_of(run.name, result, verdict=screen.painted(verdict_of(result), result.unexpected)))
    cause = Cause.of(result)
    if cause is not None and not playing.verbose and (first := playing.told.get(cause.key)):
        screen.say(f"    as {first}; {again(result)}")
        return
    if cause is not None:
        playing.told[cause.key] = run.name
    for line in why(result, verbose=playing.verbose, alone=len(playing.planned) == 1):
        screen.say(f"    {line}")


class Screen:
    """Where lines go. On a terminal the last one says what goes on, and about how long the rest takes."""

    def __init__(self, stream: TextIO, clock: Clock, total: int) -> None:
        self._stream, self._clock, self._total = stream, clock, total
        self._live = stream.isatty() and os.environ.get("TERM") != "dumb"

    def say(self, line: str) -> None:
        try:
            print(f"{CLEAR if self._live else ''}{line}", file=self._stream, flush=True)
        except BrokenPipeError:  # who read it has left: the runs, and the exit status, go on
            leave(self._stream)

    def painted(self, text: str, verdict: str) -> str:
        return paint(text, verdict, self._stream)

    @contextlib.contextmanager
    def shows(self, name: str, done: int) -> Any:
        """While a run goes on."""
        if not self._live:
            yield
            return
        showing = asyncio.ensure_future(self._show(name, done))
        try:
            yield
        finally:
            showing.cancel()
            print(CLEAR, end="", file=self._stream, flush=True)

    async def _show(self, name: str, done: int) -> None:
        began_us = self._clock.now_us()
        while True:
            text = f"[{done + 1}/{self._total}] {name}: {round((self._clock.now_us() - began_us) / 1e6)} s"
            if done:
                left_s = began_us / 1e6 / done * (self._total - done) - (self._clock.now_us() - began_us) / 1e6
                text += f", about {duration(max(0.0, left_s))} left"
            print(f"{CLEAR}{text}", end="", file=self._stream, flush=True)
            await self._clock.sleep_us(1_000_000)


def duration(seconds: float) -> str:
    """For people: `48 s`, `9 min`."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _append_step_summary(planned: Sequence[Planned], played: Sequence[Played]) -> None:
    """The verdict table for the page of a GitHub Actions job: what did not hold first."""
    if not (path := os.environ.get(STEP_SUMMARY)) or not played:
        return
    pairs = sorted(played, key=lambda pair: pair[1].status == 0)
    lines = [
        f"### kcontroller campaign run: {counts([result for _, result in played])}",
        "",
        "| run | verdict | why |",
        "|---|---|---|",
    ]
    for run, result in pairs[:SUMMARY_ROWS]:
        lines.append(f"| {_cell(run.name)} | {_cell(verdict_of(result))} | {_cell('; '.join(why(result)))} |")
    if len(pairs) > SUMMARY_ROWS:
        lines.append(f"\nand {len(pairs) - SUMMARY_ROWS} more runs")
    if len(planned) > len(played):
        lines.append(f"\n{len(planned) - len(played)} more were planned and not played")
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n\n")
    except OSError as bad:
        print(f"kcontroller: {STEP_SUMMARY}: {path}: cannot be written ({bad.strerror})", file=sys.stderr)


def _cell(text: str) -> str:
    """Names from files must not become markup. GitHub takes 1 MiB of a step: SUMMARY_ROWS of the longest fit in."""
    shown = printable(text.replace("\n", " "))
    return "".join(f"\\{char}" if char in r"\`*_{}[]<>#|!~" else char for char in shown)
