"""kill: SIGKILL to the node's process; healing starts it again on its directory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kcontroller_chaos.faults import Fault
from kcontroller_chaos.injection import PROCESS, SESSION, TASKS, Evidence, Injection

SIGKILLED = -9


class Kill:
    ends_session = True
    claims = (PROCESS, SESSION, TASKS)
    may_miss = False

    async def inject(self, on: Injection) -> None:
        await on.cluster.kill(on.node)

    async def observe(self, on: Injection) -> Evidence:
        """The supervisor saw the process end by the signal, and ZooKeeper gave up the session that nobody closed."""
        ended = await on.feed.wait(
            lambda e: e["kind"] == "process.exited" and e["node"] == on.node and e["status"] == SIGKILLED,
            since=on.since,
        )
        return {"status": ended["status"], "exited_us": ended["t_us"], **await on.wait_closed(by_client=False)}

    async def heal(self, on: Injection) -> None:
        if on.node not in on.cluster.running:
            await on.cluster.restart(on.node)

    def within_s(self, on: Injection) -> float:
        return 2 * on.cluster.session_timeout_ms / 1000 + 3


@dataclass(frozen=True, slots=True, kw_only=True)
class KillFault(Fault):
    kind: ClassVar[str] = "kill"
    example: ClassVar[str] = """\
[[faults]]
kind = "kill"
target = "leader-of:orders-0"
at_s = 2
duration_s = 1.5
"""
    work: ClassVar = {"": Kill}
