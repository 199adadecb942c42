"""How long somebody waits for the start of a process. That a busy machine has no core for it says nothing about it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pytest_kcontroller.runtime.starvation import OURSELVES, STARVED, starved_s


class Patience:
    """With the process `pid`, from now on; None: with one that is not on this machine's own list.

    `limit_s` is of the time in which the process could run; where the kernel does not count that, of all time. What we
    could not see because we had no core ourselves does not count either.
    """

    def __init__(self, limit_s: float, pid: int | None) -> None:
        self._limit_s, self._pid = limit_s, pid
        self._loop = asyncio.get_running_loop()
        self._began_s, self._ours_s = self._loop.time(), starved_s(OURSELVES)

    @property
    def seconds(self) -> float:
        """Since its beginning, all in all."""
        return self._loop.time() - self._began_s

    @property
    def left_s(self) -> float:
        """0: it is over. As long as the limit is not reached, nobody asks the kernel."""
        if (left_s := self._limit_s - self.seconds) > 0:
            return left_s
        tasks = () if self._pid is None else Path(f"/proc/{self._pid}/task").glob("*")
        withheld_s = max([starved_s(OURSELVES) - self._ours_s, *map(starved_s, tasks)])
        return max(0.0, min(self._limit_s + withheld_s, STARVED * self._limit_s) - self.seconds)
