from __future__ import annotations

import asyncio

import pytest

from pytest_kcontroller.model.history import HoldReached, HoldReleased
from pytest_kcontroller.runtime.holds import BEFORE_STATE_WRITE, Holds, UnknownHoldPointError


def test_unarmed_nobody_waits_and_nothing_is_recorded() -> None:
    events: list[object] = []

    async def main() -> None:
        await Holds(events.append).reach(BEFORE_STATE_WRITE)

    asyncio.run(main())
    assert events == []


def test_armed_it_waits_until_released_and_both_are_recorded() -> None:
    events: list[object] = []
    holds = Holds(events.append)

    async def main() -> None:
        holds.arm(BEFORE_STATE_WRITE)
        task = asyncio.create_task(holds.reach(BEFORE_STATE_WRITE))
        await asyncio.sleep(0)
        assert holds.waiting == (BEFORE_STATE_WRITE,)
        assert not task.done()
        holds.release(BEFORE_STATE_WRITE)
        await task
        assert holds.waiting == ()
        await holds.reach(BEFORE_STATE_WRITE)  # released: disarmed

    asyncio.run(main())
    assert events == [HoldReached(point=BEFORE_STATE_WRITE), HoldReleased(point=BEFORE_STATE_WRITE)]


def test_release_lets_everybody_go_also_after_one_was_cancelled() -> None:
    holds = Holds([].append)

    async def main() -> None:
        holds.arm(BEFORE_STATE_WRITE)
        first = asyncio.create_task(holds.reach(BEFORE_STATE_WRITE))
        second = asyncio.create_task(holds.reach(BEFORE_STATE_WRITE))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        assert holds.waiting == (BEFORE_STATE_WRITE,)
        holds.release(BEFORE_STATE_WRITE)
        await second
        assert holds.waiting == ()

    asyncio.run(main())


def test_an_unknown_point_is_an_error_that_lists_the_points() -> None:
    with pytest.raises(UnknownHoldPointError, match=BEFORE_STATE_WRITE):
        Holds([].append).arm("controller.nowhere")
