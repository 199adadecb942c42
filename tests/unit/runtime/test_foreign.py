"""Calls of somebody else's code: what comes of one that returns, raises, or never ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from pytest_kcontroller.runtime.foreign import GivenUp, NoAnswerError, answer_within, freed_when_held_up

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


def spin() -> None:
    while True:
        pass


def spin_whatever_is_raised() -> None:
    """Until it has been interrupted twice."""
    for _ in range(2):
        try:
            spin()
        except BaseException:  # noqa: BLE001 - as somebody's code does
            continue


@pytest.mark.parametrize("call", [spin, lambda: threading.Event().wait(LONG_S)], ids=["Python", "a lock"])
def test_one_that_never_returns_is_given_up_with_the_place_where_it_stood(call: Callable[[], object]) -> None:
    with pytest.raises(NoAnswerError, match=r"it gave no answer within 0\.05 s, and stood at \w+\.py:\d+"):
        answer_within(SHORT_S, call)


def test_it_says_whether_it_could_be_ended() -> None:
    with pytest.raises(NoAnswerError, match=r"stood at test_foreign\.py:\d+$"):
        answer_within(SHORT_S, spin)
    with pytest.raises(NoAnswerError, match="it cannot be ended, and goes on in a thread of its own"):
        answer_within(SHORT_S, spin_whatever_is_raised)


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
