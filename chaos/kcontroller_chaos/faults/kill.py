"""kill: a node's process ends, by a signal."""

from __future__ import annotations

from dataclasses import dataclass

from kcontroller_chaos.faults import Fault
from kcontroller_chaos.feed import Event
from kcontroller_chaos.injection import PROCESS, SESSION, TASKS, Evidence, Injection
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.history import ProcessExited

SIGKILLED = -9


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill(Fault):
    """SIGKILL or SIGTERM to the node's process; healing starts it again on its directory."""

    kind = "kill"
    example = """\
[[faults]]
kind = "kill"
target = "leader-of:orders-0"
at_s = 2
duration_s = 1.5
"""
    ends_session = ends_process = True
    claims = (PROCESS, SESSION, TASKS)

    async def look_again(self, on: Injection) -> None:
        on.feed.poll()
        ended = on.feed.find(lambda e: e["kind"] == ProcessExited.kind and e["node"] == on.node, since=on.since)
        if ended is not None and on.node in on.cluster.running:
            raise EnvironmentFailure(f"node {on.node}, whose process had ended, runs again")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sigkill(Kill):
    """it ends at once and tells nobody; ZooKeeper learns of it by the session time-out"""

    mode = "sigkill"

    async def inject(self, on: Injection) -> None:
        await on.cluster.kill(on.node)

    async def observe(self, on: Injection) -> Evidence:
        """The supervisor saw the process end by the signal, and ZooKeeper gave up the session that nobody closed."""
        ended = await _ended(on, SIGKILLED)
        return {"status": ended["status"], "exited_us": ended["t_us"], **await on.wait_closed(by_client=False)}

    async def heal(self, on: Injection) -> None:
        if on.node not in on.cluster.running:
            await on.cluster.restart(on.node)

    def within_s(self, on: Injection) -> float:
        return 2 * on.cluster.session_timeout_ms / 1000 + 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Sigterm(Kill):
    """an orderly stop: a controlled shutdown, then it closes its session and ends"""

    mode = "sigterm"

    async def inject(self, on: Injection) -> None:
        """Only the signal: one that stands at a crash point cannot end before it goes on."""
        await on.cluster.terminate(on.node)

    async def observe(self, on: Injection) -> Evidence:
        """The supervisor saw the process end by itself, and its session was closed by its client."""
        ended = await _ended(on, 0)
        return {"status": ended["status"], "exited_us": ended["t_us"], **await on.wait_closed(by_client=True)}

    async def heal(self, on: Injection) -> None:
        """One that has not stopped by now is killed, so that it does not stop later, when nobody starts it again."""
        if on.node in on.cluster.running:
            await on.cluster.kill(on.node)
        await on.cluster.restart(on.node)

    def within_s(self, on: Injection) -> float:
        return on.cluster.stop_s


async def _ended(on: Injection, status: int) -> Event:
    return await on.feed.wait(
        lambda e: e["kind"] == ProcessExited.kind and e["node"] == on.node and e["status"] == status, since=on.since
    )
