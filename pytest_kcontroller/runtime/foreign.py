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
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar

from pytest_kcontroller.runtime.starvation import STARVED, on_core_s, starved_s
from pytest_kcontroller.runtime.timeouts import within

T = TypeVar("T")

LIMIT_S = 1.0
"""What a batch of calls gets if nobody says otherwise: real time, in simulated time too."""
SLICES = 20
"""A limit is waited for in so many parts, so that a process that is stopped meanwhile (SIGSTOP) loses one of them."""
STEP_S, TRIES = 0.2, 3
"""So long something is waited for that is asked to end by itself, and so often it is given up."""
DEAF_S = 5.0
"""So long may foreign code that is cancelled take to end, unscaled."""
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
        self._called = self._told = False
        self._thread = threading.Thread(target=copy_context().run, args=(self._run,), name="foreign code", daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def wait(self, limit_s: float | None = None) -> bool:
        """Whether it has ended, within the limit."""
        return self._done.wait(limit_s)

    def answer(self) -> T:
        """What the call returned, or raised, once it has ended."""
        if self._answers:
            return self._answers[0]
        raise self._raised or GivenUp

    @property
    def place(self) -> str:
        """Where it is now: `file.py:12`, in the innermost code that is neither ours nor Python's own; empty once it has
        ended."""
        return place_of(self._thread.ident)

    def starved_s(self) -> float:
        """See starvation."""
        return starved_s(self._kernels)

    def on_core_s(self) -> float:
        """See starvation."""
        return on_core_s(self._kernels)

    @property
    def _kernels(self) -> Path:
        return Path(f"/proc/self/task/{self._thread.native_id}")

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
        """Whoever waits is told, also if it is given up when it has just ended."""
        while not self._told:
            with contextlib.suppress(GivenUp):
                self._call_once()
                self._done.set()
                if self._at_end is not None:
                    self._at_end()
                self._told = True

    def _call_once(self) -> None:
        if self._called:
            return
        self._called = True
        try:
            self._answers.append(self._call())
        except BaseException as raised:  # noqa: BLE001 - whoever waits gets it
            self._raised = raised


def setter(event: asyncio.Event) -> Callable[[], None]:
    """Sets it from another thread, for those who wait for it in the loop that goes on here."""
    loop = asyncio.get_running_loop()

    def set_it() -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(event.set)

    return set_it


async def done_apart(call: Callable[[], T], *, patience_s: float | None = None) -> T:
    """What `call`, which is done to its end in a thread of its own, returns or raises. Meanwhile the loop hears signals, and
    a cancellation comes at the next wait of the caller: what is done is not lost. Only what is not done `patience_s` after
    a cancellation is given up."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    cancelled, limit = False, within(None)
    running = OwnThread(call, at_end=setter(ended))
    running.begin()
    try:
        async with limit:
            while not ended.is_set():
                try:
                    await ended.wait()
                except asyncio.CancelledError:
                    if limit.expired():
                        raise
                    if patience_s is not None and not cancelled:
                        limit.reschedule(loop.time() + patience_s)
                    cancelled = True
    except asyncio.CancelledError:
        running.give_up()
        raise
    if cancelled and (task := asyncio.current_task()) is not None:
        task.cancel()
    return running.answer()


def done_whole(call: Callable[[], T]) -> T:
    """As `done_apart`, for whoever has no loop: what a handler of signals raises meanwhile (Ctrl-C, a time limit) is raised
    when it is done."""
    running, raised = OwnThread(call), list[BaseException]()
    running.begin()
    while True:
        try:
            running.wait()
            break
        except BaseException as meanwhile:  # noqa: BLE001 - see above
            raised.append(meanwhile)
    if raised:
        raise raised[0]
    return running.answer()


def raise_in(thread: int) -> None:
    """Ends what goes on in the thread with this ident, as soon as it is in Python's hands, by an exception that nobody
    catches who catches exceptions."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(GivenUp))


@contextlib.contextmanager
def freed_when_held_up(limit_s: float) -> Iterator[None]:
    """While the block goes on, the loop of this thread is watched: what lets nobody else take a turn for so long is given up
    (GivenUp)."""
    loop, thread, over = asyncio.get_running_loop(), threading.get_ident(), threading.Event()
    kernels = Path(f"/proc/self/task/{threading.get_native_id()}")

    def watch() -> None:
        while not over.wait(limit_s / SLICES):
            heard = threading.Event()
            with contextlib.suppress(RuntimeError):  # the loop is closed: it is over at this moment
                loop.call_soon_threadsafe(heard.set)
            waits = parts(limit_s, lambda: starved_s(kernels), lambda: on_core_s(kernels))
            if not any(heard.wait(part_s) or over.is_set() for part_s in waits):
                raise_in(thread)

    threading.Thread(target=watch, name="watch over the loop", daemon=True).start()
    try:
        yield
    finally:
        over.set()


def parts(limit_s: float, starved: Callable[[], float], on_core: Callable[[], float]) -> Iterator[float]:
    """The limit in parts, each to be waited: time in which a thread had no core (`starved`, in seconds since some moment)
    is waited for in addition, up to a limit too, and no longer than until it had one for the whole limit (`on_core`): on a
    busy machine each part takes longer than it should."""
    before_s, had_s, waited_s, granted_s = starved(), on_core(), 0.0, limit_s
    while waited_s < granted_s:
        yield limit_s / SLICES
        waited_s += limit_s / SLICES
        if waited_s >= limit_s and on_core() - had_s >= limit_s:
            return
        if waited_s >= granted_s:
            granted_s = min(limit_s + starved() - before_s, STARVED * limit_s)


def place_of(thread: int | None) -> str:
    """See OwnThread.place; of any thread, by its ident."""
    inner = frame = sys._current_frames().get(thread or 0)
    while frame is not None and _is_known(frame.f_code.co_filename):
        frame = frame.f_back
    found = frame or inner
    return "" if found is None else f"{Path(found.f_code.co_filename).name}:{found.f_lineno}"


def _is_known(file: str) -> bool:
    return file.startswith((OURS, "<")) or (file.startswith(PYTHONS) and "site-packages" not in file)


class RaisedError(RuntimeError):
    """Foreign code raised what would end the caller's task or process (asyncio.CancelledError, KeyboardInterrupt,
    GeneratorExit, pytest.fail), and that is an exception like any other there: Ctrl-C comes by a handler of ours. The
    cause is what it raised."""


def without_power(call: Callable[[], T]) -> T:
    """What `call` returns. Raises RaisedError, and what it raises besides."""
    try:
        return call()
    except (Exception, SystemExit, GivenUp):
        raise
    except BaseException as raised:
        raise RaisedError(type(raised).__name__) from raised


class DeafError(Exception):
    """Foreign code was cancelled, and went on. It does not any more: it stands where it waited, for ever."""


async def awaited_without_power(work: Callable[[], Awaitable[T]], *, deaf_s: float = DEAF_S) -> T:
    """As `without_power`. What is thrown into the caller's task from outside is no doing of the work, and passes. Work that
    is cancelled may take `deaf_s` for what it has to do then. Raises DeafError: it still goes on after that."""
    steps = _Steps(work, deaf_s)
    try:
        return await steps
    except (Exception, SystemExit, GivenUp):
        raise
    except BaseException as raised:
        task = asyncio.current_task()
        cancelled = isinstance(raised, asyncio.CancelledError) and task is not None and task.cancelling() > 0
        if cancelled or raised is not steps.raised:
            raise
        raise RaisedError(type(raised).__name__) from raised


class _Steps(Generic[T]):
    """An awaitable, step by step: `raised` is what it raised, and not that it was closed (GeneratorExit)."""

    def __init__(self, work: Callable[[], Awaitable[T]], deaf_s: float) -> None:
        self._work, self._deaf_s = work, deaf_s
        self._cancelled = 0
        """How often its task was before it began."""
        self._deaf: asyncio.TimerHandle | None = None
        """While it is cancelled, and goes on: its time runs."""
        self._given_up = False
        self.raised: BaseException | None = None

    def __await__(self) -> Generator[Any, None, T]:
        self._cancelled = _task().cancelling()
        try:
            return (yield from self._stepwise())
        finally:
            self._stop_counting()

    def _stepwise(self) -> Generator[Any, None, T]:
        steps, thrown = self._whole().__await__(), None
        while True:
            try:
                waits_for = next(steps) if thrown is None else steps.throw(thrown)
            except StopIteration as ended:
                answer: T = ended.value
                return answer
            except BaseException as raised:
                self.raised = raised
                raise
            if _task().cancelling() <= self._cancelled:
                self._stop_counting()  # it was a time limit of its own that cancelled it
            try:
                thrown = None
                yield waits_for
            except GeneratorExit:
                steps.close()
                raise
            except BaseException as given:  # noqa: BLE001 - it is the work's to answer
                thrown = given
            if self._given_up:
                self._leave(steps)
            if isinstance(thrown, asyncio.CancelledError) and self._deaf is None:
                self._begin_to_end()

    def _begin_to_end(self) -> None:
        self._deaf = asyncio.get_running_loop().call_later(self._deaf_s, self._give_up, _task())

    def _stop_counting(self) -> None:
        if self._deaf is not None:
            self._deaf.cancel()
            self._deaf = None

    def _give_up(self, task: asyncio.Task[Any]) -> None:
        """Wakes it, wherever it waits."""
        self._given_up = True
        task.cancel()

    def _leave(self, steps: Generator[Any, None, T]) -> NoReturn:
        """It is no further step's, whatever it says to that. Raises DeafError."""
        _task().uncancel()  # that was ours
        with contextlib.suppress(BaseException):  # RuntimeError: it swallows that too
            steps.close()
        raise DeafError(f"went on for {self._deaf_s:g} s after it was cancelled, and was left where it stood")

    async def _whole(self) -> T:
        return await self._work()


def _task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


def answer_within(limit_s: float, call: Callable[[], T]) -> T:
    """What `call` returns or raises. Raises NoAnswerError once it had a core for `limit_s`, and gives it up."""
    running = OwnThread(partial(without_power, call))
    try:
        running.begin()
        for part_s in parts(limit_s, running.starved_s, running.on_core_s):
            if running.wait(part_s):
                return running.answer()
    except BaseException:
        running.give_up()
        raise
    place = running.place
    running.give_up()
    ended = any(running.wait(part_s) for part_s in parts(ENDING_S, running.starved_s, running.on_core_s))
    raise NoAnswerError(
        f"{NO_ANSWER} {limit_s:g} s, and stood at {place or 'no line of Python'}"
        + ("" if ended else "; it cannot be ended, and goes on in a thread of its own")
    )
