"""Nursery: tasks that end with their block, in a fixed order.

asyncio.TaskGroup keeps its tasks in a set ordered by address, so the order in which they are cancelled differs from run
to run. A nursery keeps a list: tasks are cancelled newest first and awaited one by one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self


class Nursery:
    """`async with Nursery() as tasks: tasks.start(work(), name="work")`.

    Leaving the block cancels what still runs. The first task that fails cancels the block (and so the others), and its
    exception is raised from the block.
    """

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[Any]] = []
        self._owner: asyncio.Task[Any] | None = None
        self._failure: BaseException | None = None
        self._closing = False

    def start(self, coroutine: Coroutine[Any, Any, Any], *, name: str) -> asyncio.Task[Any]:
        """Runs `coroutine` until it ends or the nursery does."""
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._tasks.append(task)
        task.add_done_callback(self._done)
        return task

    async def __aenter__(self) -> Self:
        self._owner = asyncio.current_task()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._closing = True
        for task in reversed(self._tasks):
            task.cancel()
        while self._tasks:
            task = self._tasks[-1]
            try:
                await asyncio.shield(_settled(task))
            except asyncio.CancelledError as again:
                raised = raised or again
                continue
            if task in self._tasks:
                self._tasks.remove(task)
        if self._failure is not None:
            if self._owner is not None and isinstance(raised, asyncio.CancelledError):
                self._owner.uncancel()
            raise self._failure
        return False

    def _done(self, task: asyncio.Task[Any]) -> None:
        if task in self._tasks and not self._closing:
            self._tasks.remove(task)
        if task.cancelled() or (failure := task.exception()) is None:
            return
        if self._failure is None:
            self._failure = failure
            if not self._closing and self._owner is not None:
                self._owner.cancel()


async def _settled(task: asyncio.Task[Any]) -> None:
    """Waits for the end of `task` without raising what it raised."""
    if task.done():
        return
    ended = asyncio.get_running_loop().create_future()

    def wake(_: asyncio.Task[Any]) -> None:
        if not ended.done():
            ended.set_result(None)

    task.add_done_callback(wake)
    await ended
