"""zookeeper_pause: a server of ZooKeeper stands still, its connections stay open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kcontroller_chaos.faults import parameter
from kcontroller_chaos.faults._zookeeper import ALL, FOLLOWER, LEADER, OnZooKeeper, modes, servers_of, who_is
from kcontroller_chaos.injection import Evidence, Injection
from pytest_kcontroller.cluster.capabilities import ZooKeepers
from pytest_kcontroller.errors import EnvironmentFailure

STOPPED = "T"


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseServer(OnZooKeeper):
    """SIGSTOP to a server of ZooKeeper, or to all, SIGCONT to heal: what a long garbage collection does."""

    kind = "zookeeper_pause"
    example = """\
[[faults]]
kind = "zookeeper_pause"
server = "leader"
at_s = 2
duration_s = 4
"""

    server: str = parameter(FOLLOWER, "which of an ensemble; one alone is all of it", choices=(FOLLOWER, LEADER, ALL))

    async def chosen(self, on: Injection) -> Sequence[int]:
        found = await who_is(on, self.server)
        return found if self.server == ALL else found[:1]

    async def strike(self, servers: ZooKeepers, server: int) -> None:
        await servers.pause_zookeeper(server)

    async def seen(self, on: Injection) -> Evidence | None:
        """The kernel says that it is stopped, and who asks it gets no answer."""
        states = [servers_of(on).zookeeper_state(server) for server in on.kept]
        if any(state != STOPPED for state in states):
            return None
        said = await modes(on)
        return {"state": STOPPED, "answers": False} if not any(said[server] for server in on.kept) else None

    async def look_again(self, on: Injection) -> None:
        for server in on.kept:
            if (state := servers_of(on).zookeeper_state(server)) != STOPPED:
                found = "has ended" if state is None else f"goes on (its state is {state})"
                raise EnvironmentFailure(f"ZooKeeper's server {server}, which was stopped, {found}")

    def within_s(self, on: Injection) -> float:
        return 5.0
