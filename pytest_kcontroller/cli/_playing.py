"""Many runs, one after the other, and what a person sees meanwhile: a line per run, on a terminal also what goes on now."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from pytest_kcontroller.model.text import LONGEST, in_words, printable, printable_lines

if TYPE_CHECKING:
    from kcontroller_chaos.campaign.file import Campaign
    from kcontroller_chaos.campaign.schedule import Schedule
    from kcontroller_chaos.play.runner import Options, RunResult
    from pytest_kcontroller.runtime.ports import Clock

T = TypeVar("T")

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
SUMMARY_ROWS = 200
CLEAR = "\r\x1b[K"
AT_ONCE = 10
"""So many runs are given to a process: few enough that all have work, many enough that its start does not count."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A run to come. `schedule` None: the one that campaign and seed give."""

    campaign: Campaign
    seed: int
    schedule: Schedule | None = None

    @property
    def name(self) -> str:
        return f"{self.campaign.name} seed {self.seed}"


def play(
    planned: Sequence[Planned], options: Options, *, max_seconds: float | None = None, jobs: int = 1
) -> list[RunResult]:
    """Plays them and prints; no run starts after `max_seconds`. Raises KeyboardInterrupt on Ctrl-C and SIGTERM.

    With more than one job simulated runs are played side by side, and printed as they end.
    """
    playing = _play(planned, options, max_seconds) if jobs == 1 else _play_at_once(planned, options, max_seconds, jobs)
    try:
        return asyncio.run(_until_terminated(playing))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _until_terminated(work: Coroutine[Any, Any, T]) -> T:
    """SIGTERM, which CI systems send, ends a run as Ctrl-C does: faults are healed, everything is stopped."""
    task = asyncio.ensure_future(work)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        return await task
    finally:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGTERM)


async def _play(planned: Sequence[Planned], options: Options, max_seconds: float | None) -> list[RunResult]:
    from kcontroller_chaos.play.runner import run_once
    from pytest_kcontroller.runtime.real import RealClock, RunStart

    clock = RealClock(RunStart.now())
    results: list[RunResult] = []
    screen = Screen(sys.stdout, clock, len(planned))
    for run in planned:
        if max_seconds is not None and clock.now_us() > max_seconds * 1e6:
            screen.say(f"stopped after {len(results)} of {len(planned)} runs: --max-seconds {max_seconds:g}")
            break
        with screen.shows(run.name, len(results)):
            result = await run_once(run.campaign, run.seed, options, run.schedule)
        results.append(result)
        _say(screen, run, result)
    if len(results) > 1:
        screen.say(f"{_counts(results)}, in {duration(clock.now_us() / 1e6)}")
    _append_step_summary(planned, results)
    return results


def _say(screen: Screen, run: Planned, result: RunResult) -> None:
    screen.say(f"{run.name}: {_verdict(result)} in {result.seconds:.1f} s  {result.path}")
    for line in why(result):
        screen.say(f"    {line}")


async def _play_at_once(
    planned: Sequence[Planned], options: Options, max_seconds: float | None, jobs: int
) -> list[RunResult]:
    """In processes of their own. Raises KControllerError if one fails, or a run shows a bug of ours."""
    from kcontroller_chaos.play.runner import RunResult
    from pytest_kcontroller.cli._workers import Outcome, encoded, play_batches
    from pytest_kcontroller.errors import KControllerError
    from pytest_kcontroller.runtime.real import RealClock, RunStart

    clock = RealClock(RunStart.now())
    screen = Screen(sys.stdout, clock, len(planned))
    played: list[tuple[Planned, RunResult]] = []

    by_name = {(str(run.campaign.file), run.seed): run for run in planned}

    def work() -> Iterator[dict[str, Any]]:
        for file, runs in groupby(planned, key=lambda run: str(run.campaign.file)):
            seeds = [run.seed for run in runs]
            for first in range(0, len(seeds), AT_ONCE):
                if max_seconds is not None and clock.now_us() > max_seconds * 1e6:
                    return
                batch = seeds[first : first + AT_ONCE]
                yield {"file": file, "options": encoded(options), "seeds": batch, "keep": True}

    def show(one: Outcome) -> None:
        run = by_name[one["file"], one["seed"]]
        if "bug" in one:
            raise KControllerError(f"{run.name}: {one['bug']}")
        result = RunResult(Path(one["path"]), one["verdict"], one["seconds"], one["details"], one["error"])
        played.append((run, result))
        _say(screen, run, result)

    await play_batches(work(), jobs, show)
    if max_seconds is not None and len(played) < len(planned):
        screen.say(f"stopped after {len(played)} of {len(planned)} runs: --max-seconds {max_seconds:g}")
    results = [result for _, result in played]
    screen.say(f"{_counts(results)}, in {duration(clock.now_us() / 1e6)}")
    _append_step_summary([run for run, _ in played], results)
    return results


class Screen:
    """Where lines go. On a terminal the last one says what goes on, and about how long the rest takes."""

    def __init__(self, stream: TextIO, clock: Clock, total: int) -> None:
        self._stream, self._clock, self._total = stream, clock, total
        self._live = stream.isatty() and os.environ.get("TERM") != "dumb"

    def say(self, line: str) -> None:
        try:
            print(f"{CLEAR if self._live else ''}{line}", file=self._stream, flush=True)
        except BrokenPipeError:  # who read it has left: the runs, and the exit status, go on
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())

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


def _verdict(result: RunResult) -> str:
    return f"{result.verdict}, as expected," if result.expected else result.verdict


def _counts(results: Sequence[RunResult]) -> str:
    verdicts = [result.verdict for result in results]
    counts = [f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(sorted(verdicts))]
    known = sum(1 for result in results if result.expected)
    return f"{len(results)} runs: {', '.join(counts)}{f' ({known} expected)' if known else ''}"


def why(result: RunResult) -> list[str]:
    """What a person must know of a run that did not hold. Texts of others in it are printable."""
    return [printable_lines(line) for line in _why(result)]


def _why(result: RunResult) -> list[str]:
    lines = [result.error] if result.error else []
    lines += [
        f"{place}: a killed writer left this line half; it was left out" for place in result.details.get("cut", ())
    ]
    lines += result.details.get("notes", ())
    lines += [f"known: {reason}" for reason in result.expected]
    lines += [f"was known, and its date has passed: {reason}" for reason in result.details.get("lapsed", ())]
    if result.verdict == "held" or not result.details:
        return lines
    # What must never happen first: what did not come about in the end is often its consequence.
    for invariant in sorted(result.details["invariants"], key=lambda invariant: invariant["kind"] != "safety"):
        if invariant["verdict"] == "violated":
            lines.append(
                f"{invariant['name']}: {invariant['seen']} ({invariant['where']}); expected {invariant['expected']}"
            )
            if invariant["witness"]:
                lines.append(f"witness: {in_words(invariant['witness'])}")
        elif invariant["verdict"] == "unknown":
            lines.append(f"{invariant['name']}: unknown: {invariant['seen']}")
    for name, part in result.details["parts"].items():
        if part["verdict"] == "environment":
            lines.append(f"not {name}: {part['detail']}")
    return [*lines, f"again: kcontroller replay {result.path}"]


def _append_step_summary(planned: Sequence[Planned], results: Sequence[RunResult]) -> None:
    """The verdict table for the page of a GitHub Actions job: what did not hold first."""
    if not (path := os.environ.get(STEP_SUMMARY)) or not results:
        return
    pairs = sorted(zip(planned, results, strict=False), key=lambda pair: pair[1].verdict == "held")
    lines = [f"### kcontroller campaign run: {_counts(results)}", "", "| run | verdict | why |", "|---|---|---|"]
    for run, result in pairs[:SUMMARY_ROWS]:
        lines.append(f"| {_cell(run.name)} | {_cell(_verdict(result).rstrip(','))} | {_cell('; '.join(why(result)))} |")
    if len(pairs) > SUMMARY_ROWS:
        lines.append(f"\nand {len(pairs) - SUMMARY_ROWS} more runs")
    if len(planned) > len(results):
        lines.append(f"\n{len(planned) - len(results)} more were planned and not played: the time was over")
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n\n")
    except OSError as bad:
        print(f"kcontroller: {STEP_SUMMARY}: {path}: cannot be written ({bad.strerror})", file=sys.stderr)


def _cell(text: str) -> str:
    """Names from files must not become markup."""
    shown = printable(text.replace("\n", " "), 10 * LONGEST)
    return "".join(f"\\{char}" if char in r"\`*_{}[]<>#|!~" else char for char in shown)
