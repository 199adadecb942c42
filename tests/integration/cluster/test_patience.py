"""A start has its limit, and what the machine had no core for does not count."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_kcontroller.cluster.children.patience import STARVED, Patience

LIMIT_S = 0.1


async def waited(pid: int | None, limit_s: float = LIMIT_S) -> Patience:
    """Until it is over."""
    patience = Patience(limit_s, pid)
    while left_s := patience.left_s:  # noqa: ASYNC110 - it is time that is waited for
        await asyncio.sleep(left_s)
    return patience


def test_a_process_that_does_nothing_has_the_limit_and_no_more_than_its_own_waiting() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as idle:
        try:
            patience = asyncio.run(waited(idle.pid))
        finally:
            idle.kill()
    assert patience.seconds >= LIMIT_S


@pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="this kernel does not count what threads wait for"
)
def test_a_process_that_had_no_core_has_as_much_longer() -> None:
    """Two that never rest, on one core: each waits for it about half of the time."""
    (core, *_) = os.sched_getaffinity(0)
    busy = [sys.executable, "-c", f"import os; os.sched_setaffinity(0, [{core}])\nwhile True: pass"]
    with subprocess.Popen(busy) as first, subprocess.Popen(busy) as second:
        try:
            asyncio.run(waited(None, 1.0))  # both have begun, and waited for each other
            patience = asyncio.run(waited(first.pid))
        finally:
            first.kill()
            second.kill()
    assert patience.seconds > 1.5 * LIMIT_S
    assert patience.left_s == 0


def test_nobody_waits_for_ever() -> None:
    async def main() -> None:
        patience = Patience(LIMIT_S, os.getpid())
        patience._began_s -= STARVED * LIMIT_S
        assert patience.left_s == 0

    asyncio.run(main())


def test_a_process_that_has_ended_has_waited_for_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    assert asyncio.run(waited(ended.pid)).seconds >= LIMIT_S
