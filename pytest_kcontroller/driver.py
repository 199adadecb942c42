"""What runs the coroutines of a cluster for a plain test function."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Driver(Protocol):
    """A thread with a loop (loop_thread.py), or a simulated world that is moved on (sim_driver.py)."""

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs `work` to its end. An error of ours is a sentence: it leaves here without the frames that it went through."""
        ...
