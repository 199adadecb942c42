"""How long somebody waits for the start of a process. That a busy machine has no core for it says nothing about it."""

from __future__ import annotations

import asyncio
from pathlib import Path

STARVED = 10
"""So many times the limit is waited in all, however busy the machine is."""
OURSELVES = Path("/proc/thread-self/schedstat")


class Patience:
    """With the process `pid`, from now on; None: with one that is not on this machine's own list.

    `limit_s` is of the time in which the process could run: the kernel counts how long a thread was ready and had no core
    (the second number of schedstat, in nanoseconds). Where it does not, all time counts. What we could not see because we
    had no core ourselves does not count either.
    """

    def __init__(self, limit_s: float, pid: int | None) -> None:
        self._limit_s, self._pid = limit_s, pid
        self._loop = asyncio.get_running_loop()
        self._began_s, self._ours_s = self._loop.time(), _waited_s(OURSELVES)

    @property
    def seconds(self) -> float:
        """Since its beginning, all in all."""
        return self._loop.time() - self._began_s

    @property
    def left_s(self) -> float:
        """0: it is over. As long as the limit is not reached, nobody asks the kernel."""
        if (left_s := self._limit_s - self.seconds) > 0:
            return left_s
        tasks = () if self._pid is None else Path(f"/proc/{self._pid}/task").glob("*/schedstat")
        withheld_s = max([_waited_s(OURSELVES) - self._ours_s, *map(_waited_s, tasks)])
        return max(0.0, min(self._limit_s + withheld_s, STARVED * self._limit_s) - self.seconds)


def _waited_s(schedstat: Path) -> float:
    try:
        return int(schedstat.read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):  # it has ended, or this kernel does not count
        return 0.0
