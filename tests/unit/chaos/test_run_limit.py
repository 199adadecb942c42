"""A run as a whole has a limit: who still goes on is named."""

from __future__ import annotations

import asyncio

import pytest

from kcontroller_chaos.backends.process import _to_its_end
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.runtime.nursery import Nursery


async def work(ended: list[str]) -> None:
    async with Nursery() as tasks:
        await tasks.start(forever(ended), name="action pause-1")


async def forever(ended: list[str]) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        ended.append("it has cleaned up")


def test_what_is_still_played_is_named_and_ended() -> None:
    ended: list[str] = []
    with pytest.raises(EnvironmentFailure, match=r"did not end within 1 s: it still plays action pause-1\n"):
        asyncio.run(_to_its_end(1, work(ended)))
    assert ended == ["it has cleaned up"]


def test_a_failure_in_time_is_what_it_is() -> None:
    async def fail() -> None:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        asyncio.run(_to_its_end(60, fail()))
