"""Calls of somebody else's code: what comes of one that returns, raises, or never ends."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable

import pytest

from pytest_kcontroller.runtime.foreign import (
    DeafError,
    GivenUp,
    NoAnswerError,
    OwnThread,
    RaisedError,
    answer_within,
    awaited_without_power,
    done_apart,
    freed_when_held_up,
    parts,
)
from pytest_kcontroller.runtime.starvation import OURSELVES, STARVED
from pytest_kcontroller.runtime.timeouts import within

LONG_S = 60.0
"""Nothing here takes so long."""
SHORT_S = 0.05


def test_what_it_returns_and_raises_is_what_the_caller_gets() -> None:
    assert answer_within(LONG_S, lambda: 7) == 7

    def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        answer_within(LONG_S, leave)


@pytest.mark.parametrize("kind", [asyncio.CancelledError, KeyboardInterrupt, GeneratorExit, pytest.fail.Exception])
def test_what_would_end_the_caller_is_an_exception_like_any_other(kind: type[BaseException]) -> None:
    def end() -> None:
        raise kind

    with pytest.raises(RuntimeError, match=kind.__name__):
        answer_within(LONG_S, end)


@pytest.mark.parametrize("kind", [asyncio.CancelledError, KeyboardInterrupt, GeneratorExit, pytest.fail.Exception])
def test_so_it_is_for_a_coroutine(kind: type[BaseException]) -> None:
    async def end() -> None:
        await asyncio.sleep(0)
        raise kind

    with pytest.raises(RaisedError, match=kind.__name__):
        asyncio.run(awaited_without_power(end))


def test_a_coroutine_is_cancelled_and_closed_as_ever() -> None:
    ended: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.sleep(LONG_S)
        except BaseException as raised:
            ended.append(type(raised).__name__)
            raise

    async def cancel() -> None:
        task = asyncio.ensure_future(awaited_without_power(wait))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(TimeoutError):
            async with within(SHORT_S):
                await awaited_without_power(wait)
        closed = awaited_without_power(wait)
        closed.send(None)
        closed.close()

    asyncio.run(cancel())
    assert ended == ["CancelledError", "CancelledError", "GeneratorExit"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("swallowed", [asyncio.CancelledError, BaseException])
def test_a_coroutine_that_swallows_its_cancellation_is_left_where_it_stands(swallowed: type[BaseException]) -> None:
    steps: list[int] = []

    async def go_on() -> None:
        while True:
            steps.append(len(steps))
            with contextlib.suppress(swallowed):
                await asyncio.sleep(LONG_S)

    async def limited() -> None:
        async with within(SHORT_S) as limit:
            with pytest.raises(DeafError, match=rf"went on for {SHORT_S:g} s after it was cancelled"):
                await awaited_without_power(go_on, deaf_s=SHORT_S)
        assert limit.expired()
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    asyncio.run(limited())  # which has nothing to wait for at its end
    assert len(steps) >= 2


def test_what_a_cancelled_coroutine_has_to_do_it_may_do() -> None:
    done: list[str] = []

    async def clean_up() -> None:
        try:
            await asyncio.sleep(LONG_S)
        finally:
            await asyncio.sleep(SHORT_S)
            done.append("it has")

    async def limited() -> None:
        with pytest.raises(TimeoutError):
            async with within(SHORT_S):
                await awaited_without_power(clean_up, deaf_s=LONG_S)

    asyncio.run(limited())
    assert done == ["it has"]


def test_a_time_limit_of_its_own_is_no_cancellation() -> None:
    async def look_until_it_ends() -> str:
        with contextlib.suppress(TimeoutError):
            async with within(SHORT_S):
                await asyncio.sleep(LONG_S)
        await asyncio.sleep(4 * SHORT_S)
        return "it has gone on"

    assert asyncio.run(_awaited(look_until_it_ends)) == "it has gone on"


async def _awaited(work: Callable[[], Awaitable[str]]) -> str:
    return await awaited_without_power(work, deaf_s=SHORT_S)


def spin() -> None:
    while True:
        pass


def test_time_without_a_core_is_granted_in_addition_and_not_for_ever() -> None:
    starved = iter([3.0, 3.5, 3.5])  # half a second by the end of the limit, nothing more by the end of that
    assert sum(parts(1.0, lambda: next(starved), nothing)) == pytest.approx(1.5, abs=0.1)
    assert sum(parts(1.0, itertools.count().__next__, nothing)) == pytest.approx(STARVED, abs=0.1)
    assert sum(parts(1.0, nothing, nothing)) == pytest.approx(1.0, abs=0.1)  # the kernel does not count it


def test_who_had_a_core_for_the_limit_is_granted_nothing_more() -> None:
    """However long it had none besides: a loop without end would hold up its caller ten times as long."""
    had = iter([5.0, 5.9, 5.95, 6.0])
    assert sum(parts(1.0, itertools.count().__next__, lambda: next(had))) == pytest.approx(1.1, abs=0.01)


def nothing() -> float:
    return 0.0


@pytest.mark.skipif(not (OURSELVES / "schedstat").exists(), reason="this kernel does not count what threads wait for")
def test_a_call_that_had_no_core_is_not_late() -> None:
    """It needs most of its limit, on a core that it shares with two that never rest."""
    (core, *_) = os.sched_getaffinity(0)

    def work() -> bool:
        os.sched_setaffinity(0, [core])
        while time.thread_time() < 0.6 * limit_s:
            pass
        return True

    limit_s, busy = 0.5, [sys.executable, "-c", f"import os; os.sched_setaffinity(0, [{core}])\nwhile True: pass"]
    with subprocess.Popen(busy) as first, subprocess.Popen(busy) as second:
        try:
            assert answer_within(limit_s, work)
        finally:
            first.kill()
            second.kill()


@pytest.mark.parametrize("call", [spin, lambda: threading.Event().wait(LONG_S)], ids=["Python", "a lock"])
def test_one_that_never_returns_is_given_up_with_the_place_where_it_stood(call: Callable[[], object]) -> None:
    with pytest.raises(NoAnswerError, match=r"it gave no answer within 0\.05 s, and stood at \w+\.py:\d+"):
        answer_within(SHORT_S, call)


def test_it_says_whether_it_could_be_ended() -> None:
    with pytest.raises(NoAnswerError, match=r"stood at test_foreign\.py:\d+$"):
        answer_within(SHORT_S, spin)
    over = threading.Event()

    def spin_whatever_is_raised() -> None:
        while not over.is_set():
            with contextlib.suppress(BaseException):  # as somebody's code does
                while not over.is_set():
                    pass

    try:
        with pytest.raises(NoAnswerError, match="it cannot be ended, and goes on in a thread of its own"):
            answer_within(SHORT_S, spin_whatever_is_raised)
    finally:
        over.set()  # else all other tests would share their core with it


def test_who_waits_is_told_of_a_call_that_was_given_up_when_it_had_just_ended() -> None:
    class GivenUpOnce(threading.Event):
        hit = False

        def set(self) -> None:
            if not self.hit:
                self.hit = True
                raise GivenUp
            super().set()

    told = threading.Event()
    running = OwnThread(lambda: 7, at_end=told.set)
    running._done = GivenUpOnce()
    running.begin()
    assert running.wait(LONG_S)
    assert told.wait(LONG_S)
    assert running.answer() == 7


def test_what_is_done_apart_is_done_to_its_end_and_then_the_caller_is_cancelled() -> None:
    begun, may_end, done = threading.Event(), threading.Event(), list[str]()

    def work() -> int:
        begun.set()
        assert may_end.wait(LONG_S)
        done.append("work")
        return 7

    async def live() -> None:
        done.append(f"the answer is {await done_apart(work)}")
        await asyncio.sleep(LONG_S)
        done.append("never")

    async def main() -> None:
        task = asyncio.ensure_future(live())
        while not begun.is_set():  # noqa: ASYNC110 - another thread sets it
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert done == ["work", "the answer is 7"]


def test_what_is_not_done_long_after_a_cancellation_is_given_up() -> None:
    ended = threading.Event()

    def work() -> None:
        try:
            spin()
        finally:
            ended.set()

    async def main() -> None:
        task = asyncio.ensure_future(done_apart(work, patience_s=SHORT_S))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert ended.wait(LONG_S)


def test_a_loop_that_is_held_up_is_freed() -> None:
    turns: list[str] = []

    async def hold_up() -> None:
        spin()

    async def live() -> None:
        with freed_when_held_up(SHORT_S):
            task = asyncio.ensure_future(hold_up())
            with pytest.raises(GivenUp):
                await task
        turns.append("the others go on")

    asyncio.run(live())
    assert turns == ["the others go on"]
