"""Nursery: tasks that end with their block, in a fixed order.

asyncio.TaskGroup keeps its tasks in a set ordered by address, so the order in which they are cancelled differs from run
to run. A nursery keeps a list: tasks are cancelled newest first and awaited one by one.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")


class Nursery:
    """`async with Nursery() as tasks: tasks.start(work(), name="work")`.

    Leaving the block cancels what still runs and waits for it. The first task that fails cancels the block (and so the
    others), and its exception is raised from the block. A cancellation from outside is never lost: if it comes while a
    failure is being raised, it strikes at the next await.
    """

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[Any]] = []
        self._owner: asyncio.Task[Any] | None = None
        self._failure: BaseException | None = None
        self._cancelled_owner = False
        self._closing = self._closed = False

    def start(self, coroutine: Coroutine[Any, Any, Any], *, name: str) -> asyncio.Task[Any]:
        """Runs `coroutine` until it ends or the nursery does; while the block is being left, it is cancelled at once.

        Raises RuntimeError after the block: nothing may outlive it.
        """
        if self._closed:
            coroutine.close()
            raise RuntimeError(f"the nursery that should run {name!r} has ended")
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._tasks.append(task)
        task.add_done_callback(self._done)
        if self._closing:
            task.cancel()
        return task

    async def __aenter__(self) -> Self:
        self._owner = asyncio.current_task()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._closing = True
        blame_block = raised is not None and self._failure is None and not isinstance(raised, asyncio.CancelledError)
        cancelled = await self._end_tasks()
        self._closed = True
        self._give_back_cancellation()
        await self._take_what_is_pending()
        if self._failure is None:
            if cancelled is not None:
                raise cancelled
            return False
        if blame_block and raised is not None:
            raised.add_note(f"while the block was being left, a task failed too: {self._failure!r}")
            return False
        raise self._failure

    async def _end_tasks(self) -> asyncio.CancelledError | None:
        """Cancels all tasks and waits for each. Returns a cancellation of the owner that came meanwhile."""
        cancelled: asyncio.CancelledError | None = None
        for task in reversed(self._tasks):
            task.cancel()
        while self._tasks:
            task = self._tasks[-1]
            try:
                await settled(task)
            except asyncio.CancelledError as again:
                cancelled = again
                continue
            self._tasks.remove(task)
            self._note(task)  # its done-callback may still be waiting for its turn
        return cancelled

    def _give_back_cancellation(self) -> None:
        """Takes back the cancellation that a failing task caused; one of somebody else is delivered again."""
        owner = self._owner
        if owner is None or not self._cancelled_owner:
            return
        if owner.uncancel() > 0:
            owner.uncancel()
            owner.cancel()

    async def _take_what_is_pending(self) -> None:
        """A nursery inside, whose task failed at the same time, has delivered our own cancellation again. Nobody is
        cancelled any more then, but before Python 3.13 the owner's next step would raise it, in place of the failure."""
        owner = self._owner
        if owner is None or not self._cancelled_owner or owner.cancelling() > 0:
            return
        if owner._must_cancel:  # type: ignore[attr-defined]
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0)

    def _done(self, task: asyncio.Task[Any]) -> None:
        if self._closing:  # __aexit__ notes it, in its order
            return
        self._tasks.remove(task)
        self._note(task)
        if self._failure is not None and not self._cancelled_owner and self._owner is not None:
            self._cancelled_owner = True
            self._owner.cancel()

    def _note(self, task: asyncio.Task[Any]) -> None:
        if task.cancelled() or (failure := task.exception()) is None:
            return
        if self._failure is None:
            self._failure = failure


async def undisturbed(work: Coroutine[Any, Any, T]) -> T:
    """Runs `work` to its end even if this task is cancelled meanwhile; the cancellation is raised afterwards."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as again:
            if task.cancelled():
                raise
            cancelled = again
    answer = task.result()
    if cancelled is not None:
        raise cancelled
    return answer


async def settled(task: asyncio.Task[Any]) -> None:
    """Waits for the end of `task` without raising what it raised. Cancelling the waiting leaves the task alone."""
    if task.done():
        return
    ended = asyncio.get_running_loop().create_future()

    def wake(_: asyncio.Task[Any]) -> None:
        if not ended.done():
            ended.set_result(None)

    task.add_done_callback(wake)
    try:
        await ended
    finally:
        task.remove_done_callback(wake)
