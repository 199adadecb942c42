"""Calls of somebody else's code, which may never return: in a thread of their own, which is waited for with a limit.

Nobody but the thread and whoever waits for it is at work meanwhile, so that a call that returns in time is as repeatable as
any. One that does not is given up: an exception is raised in it, which ends a loop of Python. A call of C that does not come
back (a sleep, a lock) cannot be ended: its thread goes on, and dies with the process. What holds Python's own lock all the
time (one endless `sum`) lets nobody else run: only SIGTERM and SIGKILL help then.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")

LIMIT_S = 1.0
"""What a batch of calls gets if nobody says otherwise: real time, in simulated time too."""
SLICES = 20
"""The limit is waited for in so many parts, so that a process that is stopped meanwhile (SIGSTOP) loses one of them."""
STEP_S, TRIES = 0.2, 3
"""So long something is waited for that is asked to end by itself, and so often it is given up."""
ENDING_S = 0.2
"""How long a call that was given up is waited for, to tell whether it has ended."""

OURS = f"{Path(__file__).parents[1]}{os.sep}"
PYTHONS = f"{Path(os.__file__).parent}{os.sep}"


NO_ANSWER = "it gave no answer within"
"""What is said of a call that was too late: such a run need not come out the same again."""


class NoAnswerError(Exception):
    """A call did not return in time: `str` says so, and where it stood."""


class GivenUp(BaseException):
    """Ends the call."""


class OwnThread(Generic[T]):
    """One call in a daemon thread, once it is begun. `at_end` is called there when it has ended."""

    def __init__(self, call: Callable[[], T], at_end: Callable[[], object] | None = None) -> None:
        self._call, self._at_end = call, at_end
        self._done = threading.Event()
        self._answers: list[T] = []
        self._raised: BaseException | None = None
        self._thread = threading.Thread(target=copy_context().run, args=(self._run,), name="foreign code", daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def wait(self, limit_s: float | None = None) -> bool:
        """Whether it has ended, within the limit."""
        return self._done.wait(limit_s)

    def answer(self) -> T:
        """What the call returned, or raised, once it has ended."""
        if self._raised is not None:
            raise self._raised
        return self._answers[0]

    @property
    def place(self) -> str:
        """Where it is now: `file.py:12`, in the innermost code that is neither ours nor Python's own; empty once it has
        ended."""
        return place_of(self._thread.ident)

    def give_up(self) -> None:
        """Ends what the thread does as soon as it is in Python's hands."""
        if not self._done.is_set() and self._thread.ident is not None:
            raise_in(self._thread.ident)

    def end(self, ask: Callable[[], None]) -> bool:
        """Ends it: it is asked to end by itself, and if it is in the midst of something that does not end, that is given up.

        False: it cannot be ended.
        """
        for _ in range(TRIES):
            for _ in range(SLICES):
                ask()
                if self.wait(STEP_S / SLICES):
                    return True
            self.give_up()
        return self.wait(STEP_S)

    def _run(self) -> None:
        try:
            try:
                self._answers.append(self._call())
            except BaseException as raised:  # noqa: BLE001 - whoever waits gets it
                self._raised = raised
            self._done.set()
            if self._at_end is not None:
                self._at_end()
        except GivenUp:
            return


def raise_in(thread: int) -> None:
    """Ends what goes on in the thread with this ident, as soon as it is in Python's hands, by an exception that nobody
    catches who catches exceptions."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(GivenUp))


@contextlib.contextmanager
def freed_when_held_up(limit_s: float) -> Iterator[None]:
    """While the block goes on, the loop of this thread is watched: what lets nobody else take a turn for so long is given up
    (GivenUp)."""
    loop, thread, over = asyncio.get_running_loop(), threading.get_ident(), threading.Event()

    def watch() -> None:
        while not over.wait(limit_s / SLICES):
            heard = threading.Event()
            with contextlib.suppress(RuntimeError):  # the loop is closed: it is over at this moment
                loop.call_soon_threadsafe(heard.set)
            if not any(heard.wait(limit_s / SLICES) or over.is_set() for _ in range(SLICES)):
                raise_in(thread)

    threading.Thread(target=watch, name="watch over the loop", daemon=True).start()
    try:
        yield
    finally:
        over.set()


def place_of(thread: int | None) -> str:
    """See OwnThread.place; of any thread, by its ident."""
    inner = frame = sys._current_frames().get(thread or 0)
    while frame is not None and _is_known(frame.f_code.co_filename):
        frame = frame.f_back
    found = frame or inner
    return "" if found is None else f"{Path(found.f_code.co_filename).name}:{found.f_lineno}"


def _is_known(file: str) -> bool:
    return file.startswith((OURS, "<")) or (file.startswith(PYTHONS) and "site-packages" not in file)


def _without_power(call: Callable[[], T]) -> T:
    """What would end the caller's task or process (asyncio.CancelledError, KeyboardInterrupt, pytest.fail) is an exception
    like any other where foreign code raises it."""
    try:
        return call()
    except (Exception, SystemExit, GivenUp):
        raise
    except BaseException as raised:
        raise RuntimeError(type(raised).__name__) from raised


def answer_within(limit_s: float, call: Callable[[], T]) -> T:
    """What `call` returns or raises. Raises NoAnswerError after `limit_s`; the call is given up then."""
    running = OwnThread(partial(_without_power, call))
    try:
        running.begin()
        for _ in range(SLICES):
            if running.wait(limit_s / SLICES):
                return running.answer()
    except BaseException:
        running.give_up()
        raise
    place = running.place
    running.give_up()
    ended = running.wait(ENDING_S)
    raise NoAnswerError(
        f"{NO_ANSWER} {limit_s:g} s, and stood at {place or 'no line of Python'}"
        + ("" if ended else "; it cannot be ended, and goes on in a thread of its own")
    )
