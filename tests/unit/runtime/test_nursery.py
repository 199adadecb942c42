from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

import pytest

from pytest_kcontroller.runtime.nursery import Nursery
from pytest_kcontroller.runtime.scheduler import Scheduler
from pytest_kcontroller.runtime.timeouts import within


def run(main: Coroutine[Any, Any, Any]) -> Any:
    with Scheduler() as world:
        return world.run_until_complete(world.process("p").create_task(main, name="main"))


async def fail(after_s: float, message: str = "boom") -> None:
    await asyncio.sleep(after_s)
    raise ValueError(message)


def test_leaving_cancels_newest_first_and_awaits() -> None:
    ended: list[int] = []

    async def child(number: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(1)
            ended.append(number)

    async def main() -> float:
        async with Nursery() as tasks:
            for number in range(60):
                tasks.start(child(number), name=str(number))
            await asyncio.sleep(0)
        return asyncio.get_running_loop().time()

    assert run(main()) == 1.0
    assert ended == list(range(59, -1, -1))


def test_a_failing_task_cancels_the_block_and_the_others() -> None:
    async def main() -> None:
        with pytest.raises(ValueError, match="boom"):
            async with Nursery() as tasks:
                other = tasks.start(asyncio.sleep(1000), name="other")
                tasks.start(fail(1), name="fails")
                await asyncio.sleep(1000)
        assert other.cancelled()
        assert asyncio.get_running_loop().time() == 1.0
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await asyncio.sleep(1)  # no cancellation is left over

    run(main())


def test_a_block_that_swallows_the_cancellation_still_raises_the_failure() -> None:
    async def main() -> None:
        with pytest.raises(ValueError, match="boom"):
            async with Nursery() as tasks:
                tasks.start(fail(1), name="fails")
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(1000)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    run(main())


def test_a_failure_in_the_instant_in_which_the_block_ends_is_not_lost() -> None:
    async def main() -> None:
        with pytest.raises(ValueError, match="boom"):
            async with Nursery() as tasks:
                tasks.start(fail(0), name="fails")
                await asyncio.sleep(0)
                await asyncio.sleep(0)  # the task is done; its done-callback is not

    run(main())


def test_a_failure_while_cleaning_up_is_raised() -> None:
    async def bad_cleaner() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("in cleaning up")

    async def main() -> None:
        with pytest.raises(ValueError, match="cleaning up"):
            async with Nursery() as tasks:
                tasks.start(bad_cleaner(), name="bad")
                await asyncio.sleep(1)
        with pytest.raises(KeyError) as blame:
            async with Nursery() as tasks:
                tasks.start(bad_cleaner(), name="bad")
                await asyncio.sleep(1)
                raise KeyError("the block's own")
        assert "cleaning up" in blame.value.__notes__[0]

    run(main())


def test_a_cancellation_from_outside_while_leaving_is_not_lost() -> None:
    cleaned: list[str] = []

    async def slow_cleaner() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(10)
            cleaned.append("yes")

    async def main() -> None:
        async with Nursery() as tasks:
            tasks.start(slow_cleaner(), name="slow")
            await asyncio.sleep(1)
        cleaned.append("went on")

    async def outside() -> None:
        task = asyncio.get_running_loop().create_task(main())
        await asyncio.sleep(5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(outside())
    assert cleaned == ["yes"], "the child's cleaning up is waited for, then the cancellation goes on"


def test_a_cancellation_from_outside_survives_a_failure_that_is_handled() -> None:
    reached: list[str] = []

    async def main() -> None:
        try:
            async with Nursery() as tasks:
                tasks.start(fail(5), name="fails")
                await asyncio.sleep(1000)
        except ValueError:
            reached.append("handled")
        await asyncio.sleep(1000)
        reached.append("went on")

    async def outside() -> None:
        task = asyncio.get_running_loop().create_task(main())
        asyncio.get_running_loop().call_later(5, task.cancel)  # in the same instant, after the failure
        await asyncio.sleep(6)
        assert task.cancelled()

    run(outside())
    assert reached in (["handled"], [])


def test_nested_an_outer_failure_passes_through_the_inner_block() -> None:
    order: list[str] = []

    async def child(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            order.append(name)

    async def main() -> None:
        with pytest.raises(ValueError, match="outer"):
            async with Nursery() as outer:
                outer.start(child("outer child"), name="outer child")
                outer.start(fail(1, "outer"), name="fails")
                async with Nursery() as inner:
                    inner.start(child("inner child"), name="inner child")
                    await asyncio.sleep(1000)
                order.append("unreachable")

    run(main())
    assert order == ["inner child", "outer child"]


def test_nested_both_fail_at_once_and_the_inner_one_is_handled() -> None:
    seen: list[str] = []

    async def main() -> None:
        with pytest.raises(ValueError, match="outer"):
            async with Nursery() as outer:
                outer.start(fail(1, "outer"), name="outer")
                try:
                    async with Nursery() as inner:
                        inner.start(fail(1, "inner"), name="inner")
                        await asyncio.sleep(1000)
                except ValueError as handled:
                    seen.append(str(handled))
                await asyncio.sleep(1000)
                seen.append("went on")

    run(main())
    assert seen == ["inner"]


def test_a_timeout_around_a_nursery_is_a_timeout() -> None:
    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with within(1), Nursery() as tasks:
                tasks.start(asyncio.sleep(1000), name="child")
                await asyncio.sleep(1000)

    run(main())


def test_nothing_starts_after_the_end_and_what_starts_while_leaving_is_cancelled() -> None:
    late: list[asyncio.Task[Any]] = []

    async def main() -> None:
        async def starts_another() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                late.append(tasks.start(asyncio.sleep(1000), name="late"))

        async with Nursery() as tasks:
            tasks.start(starts_another(), name="starts another")
            await asyncio.sleep(1)
        assert late[0].cancelled()
        with pytest.raises(RuntimeError, match="too late"):
            tasks.start(asyncio.sleep(0), name="too late")
        assert asyncio.get_running_loop().time() == 1.0

    run(main())


def test_a_task_cancelled_by_somebody_else_is_no_failure() -> None:
    async def main() -> None:
        async with Nursery() as tasks:
            tasks.start(asyncio.sleep(1000), name="child").cancel()
            await asyncio.sleep(1)

    run(main())


def test_failures_of_two_nested_nurseries_at_once_are_no_cancellation() -> None:
    """What is awaited after the blocks is not cancelled, though both have cancelled their one owner."""

    async def main() -> str:
        try:
            async with Nursery() as outer:
                outer.start(fail(1, "outer"), name="outer")
                async with Nursery() as inner:
                    inner.start(fail(1, "inner"), name="inner")
                    await asyncio.sleep(1000)
        except ValueError as failed:
            await asyncio.sleep(1)
            return str(failed)
        return "nothing"

    assert run(main()) == "outer"
