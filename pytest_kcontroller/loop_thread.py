"""One event loop in a thread of its own: what lets plain test functions use asynchronous clusters."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

from pytest_kcontroller.errors import KControllerError, UsageError

T = TypeVar("T")


class LoopThread:
    """Made once per pytest process, when the first fixture needs it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="kcontroller-loop", daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs `work` to its end in the loop. A Ctrl-C cancels it, waits until it has cleaned up, and goes on.

        An error of ours is a sentence: it leaves here without the frames that it went through.
        """
        __tracebackhide__ = True
        result: Future[T] = Future()
        tasks: list[asyncio.Task[T]] = []

        async def guarded() -> T:
            try:
                return await work
            except (SystemExit, KeyboardInterrupt) as left:  # of a plugin's code: it must not end the loop
                raise UsageError(
                    f"a plugin ended the process ({left!r})", hint="mend or leave out the plugin"
                ) from None

        def begin() -> None:
            task = self._loop.create_task(guarded())
            tasks.append(task)
            task.add_done_callback(finish)

        def finish(task: asyncio.Task[T]) -> None:
            if task.cancelled():
                result.set_exception(CancelledError())
            elif (failure := task.exception()) is not None:
                result.set_exception(failure)
            else:
                result.set_result(task.result())

        self._loop.call_soon_threadsafe(begin)
        try:
            return result.result()
        except KControllerError as failed:
            raise failed.with_traceback(None) from None
        except KeyboardInterrupt:
            self._loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])
            result.exception()
            raise

    def stop(self) -> None:
        """Cancels what still runs, waits for it, and ends the thread."""
        self.call(_end_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _end_others() -> None:
    this = asyncio.current_task()
    others = [task for task in asyncio.all_tasks() if task is not this]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
