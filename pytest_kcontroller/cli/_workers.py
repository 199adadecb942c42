"""Processes that play batches of simulated runs (_worker.py), so many at a time; none of them outlives its owner.

A batch: `file`, `options` (as `encoded` makes them), `seeds`, and `keep`: with run directories.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pytest_kcontroller.errors import EnvironmentFailure, KControllerError, UsageError
from pytest_kcontroller.plugin.manager import child_environment
from pytest_kcontroller.runtime.nursery import Nursery
from pytest_kcontroller.runtime.rng import MOST_SEED

if TYPE_CHECKING:
    from kcontroller_chaos.play.runner import Options

BATCH = 200
"""So many runs, then a new process: what a run's nodes held when they were killed stays in memory."""
LAST_LINES = 20
LONGEST_LINE = 1 << 24

Outcome = dict[str, Any]


def encoded(options: Options) -> dict[str, Any]:
    return {**asdict(options), "out": str(options.out)}


def endless(first: int, jobs: int) -> Iterator[list[int]]:
    """Seeds of one batch after the other: `jobs` processes side by side leave none out, and none runs far ahead. There are
    so many that no hunt comes to the end, but for one that begins near it."""
    while first <= MOST_SEED:
        end = min(first + BATCH * jobs, MOST_SEED + 1)
        yield from filter(None, (list(range(first + offset, end, jobs)) for offset in range(jobs)))
        first = end


def raise_failure(one: Mapping[str, Any], where: str) -> None:
    """If the run could not be played: what was raised in the process, named by the run. Raises KControllerError."""
    if (failure := one.get("failure")) is not None:
        kinds = {kind.exit_status: kind for kind in (UsageError, EnvironmentFailure)}
        raise kinds.get(failure["status"], KControllerError)(f"{where}: {failure['what']}")


async def play_batches(work: Iterator[Mapping[str, Any]], jobs: int, report: Callable[[Outcome], None]) -> None:
    """Until `work` ends, or cancelled; `tell` gets what each run said. Raises KControllerError: a process failed."""
    async with Nursery() as tasks:
        for task in [tasks.start(_one_after_the_other(work, report), name=f"worker {n}") for n in range(jobs)]:
            await task


async def _one_after_the_other(work: Iterator[Mapping[str, Any]], report: Callable[[Outcome], None]) -> None:
    for batch in work:
        await _play(batch, report)


async def _play(batch: Mapping[str, Any], report: Callable[[Outcome], None]) -> None:
    pipe = asyncio.subprocess.PIPE
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "pytest_kcontroller.cli._worker",
        stdin=pipe, stdout=pipe, stderr=pipe, limit=LONGEST_LINE, start_new_session=True,
        env={**os.environ, **child_environment()},
    )  # fmt: skip
    assert worker.stdin is not None and worker.stdout is not None and worker.stderr is not None
    last: deque[str] = deque(maxlen=LAST_LINES)
    played, seeds = 0, len(batch["seeds"])
    try:
        async with Nursery() as tasks:
            reading = tasks.start(_remember(worker.stderr, last), name="stderr")
            worker.stdin.write(json.dumps(batch).encode() + b"\n")
            async for line in worker.stdout:
                played += 1
                report(json.loads(line))
            await reading
        status = await worker.wait()
    finally:
        if worker.returncode is None:
            worker.kill()
            await worker.wait()
    if status or played < seeds:  # a plugin may have ended it, with any status
        output = "".join(f"\n    {line}" for line in last) or "\n    (it printed nothing)"
        raise KControllerError(
            f"a process that plays runs ended with status {status} after {played} of {seeds} runs; "
            f"last lines of its output:{output}"
        )


async def _remember(stream: asyncio.StreamReader, last: deque[str]) -> None:
    """A line longer than the limit of a stream must not end the reading."""
    while data := await stream.read(1 << 16):
        last.extend(data.decode(errors="replace").splitlines())
