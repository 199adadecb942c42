"""How long a thread was ready and had no core: on a busy machine that says nothing about what it does."""

from __future__ import annotations

from pathlib import Path

STARVED = 10
"""So many times a limit is waited in all, however busy the machine is."""
OURSELVES = Path("/proc/thread-self")


def starved_s(thread: Path) -> float:
    """Since its beginning; `thread` is its directory in /proc. The kernel counts it (the second number of schedstat, in
    nanoseconds); 0 where it does not, or if the thread has ended."""
    try:
        return int((thread / "schedstat").read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
