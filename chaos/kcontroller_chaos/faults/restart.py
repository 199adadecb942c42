"""restart: a node's turn in a rolling restart."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass

from kcontroller_chaos.faults import Fault
from kcontroller_chaos.faults._processes import (
    SIGKILLED,
    START_S,
    end_s,
    ended_by_itself,
    next_session,
    session_over,
    wait_ready,
)
from kcontroller_chaos.injection import PROCESS, SESSION, TASKS, Evidence, Injection
from pytest_kcontroller.errors import EnvironmentFailure, KControllerError


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart(Fault):
    """SIGTERM to the node's process, which is started again as soon as it has ended: a node's turn in a rolling restart."""

    kind = "restart"
    example = """\
[[faults]]
kind = "restart"
target = "leader-of:orders-0"
at_s = 2
"""
    ends_session = ends_process = True
    keeps_session = True
    exit_statuses = (0, SIGKILLED)
    claims = (PROCESS, SESSION, TASKS)

    async def inject(self, on: Injection) -> None:
        """Only the signal, as for graceful_stop; whoever starts it again waits for its end."""
        await on.cluster.terminate(on.node)
        on.kept.append(asyncio.ensure_future(_start_again(on)))

    async def observe(self, on: Injection) -> Evidence:
        """The supervisor saw the process end by itself; in ZooKeeper's log its client closed its session, and the next
        process has one of its own."""
        ended = await ended_by_itself(on)
        closed, begun = await session_over(on), await next_session(on)
        return {"status": ended["status"], "exited_us": ended["t_us"], **closed, "new_session": begun["session"]}

    async def heal(self, on: Injection) -> None:
        """Waits until it is registered, or ready; one that has not stopped by now is killed first."""
        for starting in on.kept:
            starting.cancel()
            with contextlib.suppress(asyncio.CancelledError, KControllerError):
                await starting
        if on.kept and not on.has_ended() and on.node in on.cluster.running:
            await on.cluster.kill(on.node)
        if on.node not in on.cluster.running:
            await on.cluster.launch(on.node)
        await wait_ready(on)

    def within_s(self, on: Injection) -> float:
        return end_s(on) + START_S


async def _start_again(on: Injection) -> None:
    await ended_by_itself(on)
    if on.node in on.cluster.running:
        raise EnvironmentFailure(f"node {on.node} runs again, and nobody here has started it")
    await on.cluster.launch(on.node)
