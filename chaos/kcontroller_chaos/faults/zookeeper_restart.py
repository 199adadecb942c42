"""zookeeper_restart: a server of ZooKeeper ends, and comes back with what it had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kcontroller_chaos.faults import parameter
from kcontroller_chaos.faults._zookeeper import (
    ALL,
    FOLLOWER,
    LEADER,
    OnZooKeeper,
    have_ended,
    modes,
    must_have_ended,
    who_is,
)
from kcontroller_chaos.injection import Evidence, Injection
from pytest_kcontroller.cluster.capabilities import ZooKeepers


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartServer(OnZooKeeper):
    """SIGKILL to a server of ZooKeeper, or to all; healing starts it again on its data."""

    kind = "zookeeper_restart"
    example = """\
[[faults]]
kind = "zookeeper_restart"
server = "all"
at_s = 2
duration_s = 1
"""

    server: str = parameter(FOLLOWER, "which of an ensemble; one alone is all of it", choices=(FOLLOWER, LEADER, ALL))

    async def chosen(self, on: Injection) -> Sequence[int]:
        found = await who_is(on, self.server)
        return found if self.server == ALL else found[:1]

    async def strike(self, servers: ZooKeepers, server: int) -> None:
        await servers.kill_zookeeper(server)

    async def seen(self, on: Injection) -> Evidence | None:
        """Its process has ended, and nobody answers at its port."""
        said = await modes(on)
        return {"answers": False} if have_ended(on) and not any(said[server] for server in on.kept) else None

    async def look_again(self, on: Injection) -> None:
        must_have_ended(on)

    def within_s(self, on: Injection) -> float:
        return 5.0
