"""A limit of time for a block that may also be entered while its task is being cancelled.

`asyncio.timeout` of Python before 3.11.3, as Debian 12 has it, raises TimeoutError only where nobody else has cancelled the
task: what ends a process within a limit, and kills it then, would be ended itself after a Ctrl-C.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self


class Timeout:
    """As asyncio's."""

    def __init__(self, timeout: asyncio.Timeout) -> None:
        self._timeout, self._cancelled = timeout, 0

    def reschedule(self, when: float | None) -> None:
        """`when`: a time of the event loop."""
        self._timeout.reschedule(when)

    def expired(self) -> bool:
        return self._timeout.expired()

    async def __aenter__(self) -> Self:
        self._cancelled = _cancelling()
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._timeout.__aexit__(kind, raised, trace)
        if kind is asyncio.CancelledError and self.expired() and _cancelling() <= self._cancelled:
            raise TimeoutError from raised


def within(seconds: float | None) -> Timeout:
    """Raises TimeoutError after so long, from `async with within(seconds):`; None: never, unless it is rescheduled."""
    return Timeout(asyncio.timeout(seconds))


def _cancelling() -> int:
    """How often the task has been cancelled that runs."""
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()
