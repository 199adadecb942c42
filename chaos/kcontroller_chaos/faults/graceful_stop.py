"""graceful_stop: a node hands over what it leads, and ends."""

from __future__ import annotations

from dataclasses import dataclass

from kcontroller_chaos.faults._processes import SIGKILLED, Down, end_s, ended_by_itself, session_over, start_again
from kcontroller_chaos.injection import PROCESS, SESSION, TASKS, Evidence, Injection


@dataclass(frozen=True, slots=True, kw_only=True)
class GracefulStop(Down):
    """SIGTERM to the node's process, so an orderly stop: a controlled shutdown, then it closes its session and ends. Healing
    starts it again on its directory."""

    kind = "graceful_stop"
    example = """\
[[faults]]
kind = "graceful_stop"
target = "leader-of:orders-0"
at_s = 2
duration_s = 1.5
"""
    ends_session = ends_process = True
    keeps_session = True
    exit_statuses = (0, SIGKILLED)  # one that does not end is killed when the fault is healed
    claims = (PROCESS, SESSION, TASKS)

    async def inject(self, on: Injection) -> None:
        """Only the signal: one that stands at a crash point cannot end before it goes on."""
        await on.cluster.terminate(on.node)

    async def observe(self, on: Injection) -> Evidence:
        """The supervisor saw the process end by itself, and its session was closed by its client."""
        ended = await ended_by_itself(on)
        return {"status": ended["status"], "exited_us": ended["t_us"], **await session_over(on)}

    async def heal(self, on: Injection) -> None:
        """One that has not stopped by now is killed, so that it does not stop later, when nobody starts it again."""
        if on.node in on.cluster.running:
            await on.cluster.kill(on.node)
        await start_again(on)

    def within_s(self, on: Injection) -> float:
        return end_s(on)
