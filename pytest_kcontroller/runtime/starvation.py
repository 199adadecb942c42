"""How long a thread was ready and had no core: on a busy machine that says nothing about what it does. And how long it had
one."""

from __future__ import annotations

from pathlib import Path

STARVED = 10
"""So many times a limit is waited in all, however busy the machine is."""
OURSELVES = Path("/proc/thread-self")


def starved_s(thread: Path) -> float:
    """Since its beginning; `thread` is its directory in /proc. 0 where the kernel does not count it, or if the thread has
    ended."""
    return _counted_s(thread, 1)


def on_core_s(thread: Path) -> float:
    """The same of the time in which it had a core."""
    return _counted_s(thread, 0)


def _counted_s(thread: Path, number: int) -> float:
    """schedstat is in nanoseconds."""
    try:
        return int((thread / "schedstat").read_text().split()[number]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
