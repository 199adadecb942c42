"""What goes on while a fault lasts: work of its own beside the engine's, begun by `inject`, ended by `heal`."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from kcontroller_chaos.injection import Injection
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.runtime.nursery import settled


def begin(on: Injection, work: Coroutine[Any, Any, None]) -> None:
    """`work` goes on until `end`; of one injection there is only one."""
    on.kept.append(asyncio.get_running_loop().create_task(work, name=f"{on.fault} goes on"))


async def end(on: Injection) -> None:
    """Once it returns, nothing more is done. What `work` raised is `must_go_on`'s."""
    for task in on.kept:
        task.cancel()
        await settled(task)
        _ = task.cancelled() or task.exception()


def must_go_on(on: Injection) -> None:
    """Raises EnvironmentFailure: it has ended by itself."""
    for task in on.kept:
        if task.done():
            why = "" if task.cancelled() or task.exception() is None else f": {task.exception()}"
            raise EnvironmentFailure(f"what was to go on until it is healed has ended{why}")
