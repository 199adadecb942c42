"""A link is silent if a question finds no answer, for so long that it is not the machine that answers late."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kcontroller_chaos.faults._links import LONGEST_PROBE_US, PROBE_US, silence_us
from pytest_kcontroller.cluster.timing import unscaled
from pytest_kcontroller.runtime.real import RealClock, RunStart

BUSY_S = 0.1
"""Of a core, in each look."""


@contextmanager
def on_a_core_that_another_wants() -> Iterator[None]:
    mine = os.sched_getaffinity(0)
    core = {min(mine)}
    spin = [sys.executable, "-c", f"import os; os.sched_setaffinity(0, {core})\nprint(flush=True)\nwhile True: pass"]
    with subprocess.Popen(spin, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        os.sched_setaffinity(0, core)
        try:
            yield
        finally:
            os.sched_setaffinity(0, mine)
            other.kill()


def looks_until_silent(*answers: bool) -> list[int]:
    """The time limits of the looks that it took; of the first some are answered, of the others none."""
    limits: list[int] = []

    async def unanswered(limit_us: int) -> bool:
        limits.append(limit_us)
        until = time.thread_time() + BUSY_S
        while time.thread_time() < until:
            pass
        return not dict(enumerate(answers)).get(len(limits) - 1, False)

    assert asyncio.run(silence_us(RealClock(RunStart.now()), unanswered)) == limits[-1]
    return limits


@pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="this kernel does not count what threads wait for"
)
def test_a_look_lasts_longer_where_we_have_no_core_ourselves() -> None:
    with on_a_core_that_another_wants():
        assert looks_until_silent() == [PROBE_US, LONGEST_PROBE_US]


def test_simulated_time_knows_no_busy_machine() -> None:
    with on_a_core_that_another_wants(), unscaled():
        assert looks_until_silent(True, True) == [PROBE_US] * 3
