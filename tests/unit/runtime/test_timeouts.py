from __future__ import annotations

import asyncio

import pytest

from pytest_kcontroller.runtime.timeouts import within


def test_a_limit_holds_in_a_task_that_is_being_cancelled() -> None:
    """What cleans up after a Ctrl-C has limits too."""
    said: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            try:
                async with within(0):
                    await asyncio.Event().wait()
            except TimeoutError:
                said.append("late")

    async def main() -> None:
        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert said == ["late"]


def test_a_cancellation_in_the_block_is_no_timeout() -> None:
    async def main() -> None:
        task = asyncio.create_task(limited())
        await asyncio.sleep(0)
        task.cancel()
        await task

    async def limited() -> None:
        async with within(3600):
            await asyncio.Event().wait()

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
