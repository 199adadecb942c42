"""Moves a simulated world on for as long as a call takes, and no further: between two calls of a test it stands still."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

from pytest_kcontroller.cluster.timing import unscaled
from pytest_kcontroller.errors import KControllerError
from pytest_kcontroller.runtime.scheduler import SimLoop
from pytest_kcontroller.runtime.seams import Mutant, installed

T = TypeVar("T")

WAY_OUT = 'use --kc-backend=process, and @pytest.mark.kcontroller(backends=["process"]) for this test'
"""For what does not exist in simulated time."""

_log = logging.getLogger(__name__)


class Callbacks:
    """Calls that are made one after the other, outside of the world; what kazoo has a queue and a thread for."""

    def __init__(self, stir: Callable[[], None]) -> None:
        self._calls: deque[Callable[[], object]] = deque()
        self._stir, self._busy = stir, False

    def put(self, call: Callable[[], object]) -> None:
        self._calls.append(call)
        self._stir()

    def run(self) -> None:
        if self._busy:  # by a call that moves the world itself: those behind it wait until it is done
            return
        self._busy = True
        try:
            while self._calls:
                call = self._calls.popleft()
                try:
                    call()
                except Exception:  # noqa: BLE001 - as in kazoo's threads: whoever waits meanwhile is not to blame
                    _log.exception("a callback failed")
        finally:
            self._busy = False


class SimDriver:
    """See Driver. `loop` is the process of the world that the test's own work runs in.

    What tells the test of something (a watch) must not run inside of the world, as it may want to move it: it waits in a
    queue, and is called as soon as the call that is going on is at its end.
    """

    def __init__(self, loop: SimLoop, mutant: Mutant | None = None) -> None:
        self._loop, self._mutant = loop, mutant
        self._queues: list[Callbacks] = []
        self._stirred = asyncio.Event()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """See Driver."""
        __tracebackhide__ = True
        try:
            return self._move(work)
        except KControllerError as failed:
            raise failed.with_traceback(None) from None
        finally:
            self._call_back()

    def _move(self, work: Coroutine[Any, Any, T]) -> T:
        task = self._loop.create_task(work, name="test")
        with _outside_of_event_loops(), unscaled(), installed(self._mutant), _interruptible(task):
            try:
                return self._loop.scheduler.run_until_complete(task)
            except asyncio.CancelledError:
                raise KeyboardInterrupt from None

    # --- for what waits by itself, and for what is told

    def queue(self) -> Callbacks:
        """A new one; all are run in the order in which they were made."""
        self._queues.append(Callbacks(self.stir))
        return self._queues[-1]

    def stir(self) -> None:
        """Something that `wait` may be waiting for has happened."""
        self._stirred.set()

    def wait(self, enough: Callable[[], bool], limit_s: float) -> bool:
        """Moves the world until `enough`, or for `limit_s` of its time; gives what `enough` says then."""
        deadline_s = self._loop.time() + limit_s
        self._call_back()
        while not enough() and self._loop.time() < deadline_s:
            self._stirred.clear()
            self.call(self._until_stirred(deadline_s))
        return enough()

    async def _until_stirred(self, deadline_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(deadline_s):
                await self._stirred.wait()

    def _call_back(self) -> None:
        for queue in self._queues:
            queue.run()


@contextlib.contextmanager
def _outside_of_event_loops() -> Iterator[None]:
    """Where a scheduler may run: the loop and the task of an asynchronous test stand still meanwhile.

    In this thread, not in another one that the test would wait for: Ctrl-C can end such a wait, and two would run the
    world. (asyncio documents _enter_task and _leave_task for those who write loops of their own.)
    """
    loop = asyncio._get_running_loop()
    task = None if loop is None else asyncio.current_task(loop)
    if loop is None:
        yield
        return
    if task is not None:
        asyncio.tasks._leave_task(loop, task)
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(loop)
        if task is not None:
            asyncio.tasks._enter_task(loop, task)


@contextlib.contextmanager
def _interruptible(task: asyncio.Task[Any]) -> Iterator[None]:
    """A Ctrl-C ends what the test waits for, not whichever process of the world happens to run; a second one does."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not _pythons_own(before):
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        task.cancel()

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _pythons_own(handler: object) -> bool:
    """The default one or that of asyncio.run, which only notes the first Ctrl-C for a loop that stands still here."""
    function = getattr(handler, "func", handler)
    return function is signal.default_int_handler or isinstance(getattr(function, "__self__", None), asyncio.Runner)
