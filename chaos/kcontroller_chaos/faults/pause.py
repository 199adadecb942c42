"""pause: the node stands still, and cannot know that time has passed."""

from __future__ import annotations

from dataclasses import dataclass

from kcontroller_chaos.faults import Fault
from kcontroller_chaos.injection import PROCESS, SESSION, TASKS, Evidence, Injection
from pytest_kcontroller.errors import EnvironmentFailure

POLL_US = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause(Fault):
    """SIGSTOP to the node's process, SIGCONT to heal: what a long garbage collection or a suspended machine does."""

    kind = "pause"
    example = """\
[[faults]]
kind = "pause"
target = "controller"
at_s = 2
duration_s = 3
"""
    ends_session = True
    claims = (PROCESS, SESSION, TASKS)

    async def inject(self, on: Injection) -> None:
        await on.cluster.pause(on.node)

    async def observe(self, on: Injection) -> Evidence:
        """The kernel says that the process is stopped; past the session time-out ZooKeeper gives its session up."""
        while (state := on.cluster.process_state(on.node)) != "T":
            await on.clock.sleep_us(POLL_US)
        stopped = {"state": state, "stopped_us": on.clock.now_us()}
        if not on.outlives_session:
            return stopped
        return {**stopped, **await on.wait_closed(by_client=False)}

    async def look_again(self, on: Injection) -> None:
        if (state := on.cluster.process_state(on.node)) != "T":
            found = "has ended" if state is None else f"goes on (its state is {state})"
            raise EnvironmentFailure(f"the process of node {on.node}, which was stopped, {found}")

    async def heal(self, on: Injection) -> None:
        await on.cluster.resume(on.node)

    def within_s(self, on: Injection) -> float:
        return 2 * on.cluster.session_timeout_ms / 1000 + 2 if on.outlives_session else 1.0
