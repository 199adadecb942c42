"""kill: a node's process ends at once, and tells nobody."""

from __future__ import annotations

from dataclasses import dataclass

from kcontroller_chaos.faults._processes import SIGKILLED, Down, killed, start_again
from kcontroller_chaos.injection import PROCESS, SESSION, TASKS, Evidence, Injection


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill(Down):
    """SIGKILL to the node's process, and it is started again on its directory by the healing; nobody is told.

    ZooKeeper learns of it by the session time-out.
    """

    kind = "kill"
    example = """\
[[faults]]
kind = "kill"
target = "leader-of:orders-0"
at_s = 2
duration_s = 1.5
"""
    ends_session = ends_process = True
    exit_statuses = (SIGKILLED,)
    claims = (PROCESS, SESSION, TASKS)

    async def inject(self, on: Injection) -> None:
        await on.cluster.kill(on.node)

    async def observe(self, on: Injection) -> Evidence:
        """The supervisor saw the process end by the signal, and ZooKeeper gave up the session that nobody closed."""
        return await killed(on)

    async def heal(self, on: Injection) -> None:
        if on.node not in on.cluster.running:
            await start_again(on)

    def within_s(self, on: Injection) -> float:
        return 2 * on.cluster.session_timeout_ms / 1000 + 3
