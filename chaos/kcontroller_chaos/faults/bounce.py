"""bounce: a node is back before anybody has noticed that it was gone."""

from __future__ import annotations

from dataclasses import dataclass

from kcontroller_chaos.faults import Fault
from kcontroller_chaos.faults._processes import SIGKILLED, START_S, ended_with, next_session, start_again, wait_ready
from kcontroller_chaos.injection import PROCESS, SESSION, TASKS, Evidence, Injection
from pytest_kcontroller.cluster.contract import Cluster
from pytest_kcontroller.errors import EnvironmentFailure, StartError


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounce(Fault):
    """SIGKILL to a node's process, which is started again at once: its old session lives on, and owns the registration."""

    kind = "bounce"
    example = """\
[[faults]]
kind = "bounce"
target = "leader-of:orders-0"
at_s = 2
"""
    ends_session = ends_process = True
    exit_statuses = (SIGKILLED,)
    claims = (PROCESS, SESSION, TASKS)

    def statuses(self, cluster: Cluster) -> tuple[int, ...]:
        return (*self.exit_statuses, *cluster.refused_statuses)

    async def inject(self, on: Injection) -> None:
        await on.cluster.kill(on.node)
        await on.cluster.launch(on.node)

    async def observe(self, on: Injection) -> Evidence:
        """By ZooKeeper's log the new process had a session before the old one's was given up, which nobody had closed."""
        ended = await ended_with(on, SIGKILLED)
        begun = await next_session(on)
        closed = await on.feed.wait(
            lambda e: on.is_close(e, by_client=True) or on.is_close(e, by_client=False), since=on.since
        )
        if closed["cxid"]:
            raise EnvironmentFailure(
                f"the old session {on.session:#x} was closed by a client: ZooKeeper did not give it up"
            )
        if closed["zxid"] < begun["zxid"]:
            raise EnvironmentFailure(
                f"node {on.node} was back only after its old session {on.session:#x} had ended",
                hint="a greater `session_timeout_ms` leaves it the time to start",
            )
        return {
            "status": ended["status"],
            "exited_us": ended["t_us"],
            "new_session": begun["session"],
            "new_zxid": begun["zxid"],
            "zxid": closed["zxid"],
            "session": closed["session"],
            "t_us": begun["t_us"],
        }

    async def heal(self, on: Injection) -> None:
        """A node that could not register beside its old session, which is gone now, is started once more."""
        try:
            if on.node in on.cluster.running:
                await wait_ready(on)
        except StartError:
            if on.node in on.cluster.running:
                raise
        if on.node not in on.cluster.running:
            await start_again(on)

    def within_s(self, on: Injection) -> float:
        return 2 * on.cluster.session_timeout_ms / 1000 + START_S
