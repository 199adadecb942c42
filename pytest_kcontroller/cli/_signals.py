"""Ctrl-C, SIGTERM, which CI systems send, and SIGHUP, which a terminal that is closed sends, end a command: it heals, stops
what it started, and goes."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_kcontroller.runtime.starvation import on_core_s, starved_s

if TYPE_CHECKING:
    import asyncio  # `--help` does without

T = TypeVar("T")

DEAF_S = 0.7
"""A loop that has not taken notice of a signal by then, and could run, is held up by somebody's code."""
NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


async def until_terminated(work: Coroutine[Any, Any, T], heard: Callable[[], object] = lambda: None) -> T:
    """Runs `work` to its end, or cancels it at the first signal and calls `heard`; further ones change nothing.

    A loop that does not take its turn is freed: KeyboardInterrupt is raised in whatever holds it up.
    """
    import asyncio

    task = asyncio.ensure_future(work)
    stop = _Stop(task, heard)
    with _handled(stop):
        try:
            return await task
        except OSError as gone:
            if stop.called and gone.errno in (errno.EIO, errno.EPIPE):  # nobody hears any more how it is ended
                raise asyncio.CancelledError from gone
            raise


def run_until_terminated(work: Coroutine[Any, Any, T]) -> T:
    """The same on a loop of its own. Raises KeyboardInterrupt."""
    import asyncio

    try:
        return asyncio.run(until_terminated(work))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


@contextlib.contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM and SIGHUP raise KeyboardInterrupt, as Ctrl-C does: what a command has begun is taken back. Not one that
    somebody else handles, or that is ignored, as SIGHUP is under nohup."""
    free = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) == signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread() or not free:
        yield
        return
    for number in free:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in free:
            signal.signal(number, signal.SIG_DFL)


class _Stop:
    """The handler. It runs between two steps of Python in the main thread, also while the loop is held up."""

    def __init__(self, task: asyncio.Task[Any], heard: Callable[[], object]) -> None:
        self._task, self._heard = task, heard
        self._loop = task.get_loop()
        self.called = self._asked = self._taken = self._deaf = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.called = True
        if self._deaf:
            self._deaf = False
            raise KeyboardInterrupt
        self._taken = False
        self._loop.call_soon_threadsafe(self._take)
        threading.Thread(target=self._free, name="watch over a signal", daemon=True).start()

    def _take(self) -> None:
        self._taken = True
        if not self._asked:
            self._asked = True
            self._task.cancel()  # first: whatever `heard` raises, this is the only time
            self._heard()

    def _free(self) -> None:
        """In a thread of its own: a further signal lets the handler raise, out of a sleep too."""
        from pytest_kcontroller.runtime.foreign import parts

        kernels = Path(f"/proc/self/task/{os.getpid()}")  # of the main thread: a fork knows it by no other number
        waits = parts(DEAF_S, lambda: starved_s(kernels), lambda: on_core_s(kernels))
        if all(self._not_taken_after(part_s) for part_s in waits):
            self._deaf = True
            os.kill(os.getpid(), signal.SIGINT)

    def _not_taken_after(self, seconds: float) -> bool:
        """`_taken` is no event: a second signal may come while the first sets it, and would wait for itself."""
        threading.Event().wait(seconds)
        return not self._taken


@contextlib.contextmanager
def _handled(stop: _Stop) -> Iterator[None]:
    heard = [number for number in NUMBERS if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in heard}  # under nohup nobody wants to hear SIGHUP
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
