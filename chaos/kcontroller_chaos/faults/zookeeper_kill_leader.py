"""zookeeper_kill_leader: the leader of the ensemble ends, and the others elect another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kcontroller_chaos.faults._zookeeper import (
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
class KillLeader(OnZooKeeper):
    """SIGKILL to the leader of ZooKeeper's ensemble; healing starts it again, as a follower."""

    kind = "zookeeper_kill_leader"
    example = """\
[cluster]
zookeeper = 3

[[faults]]
kind = "zookeeper_kill_leader"
at_s = 2
duration_s = 3
"""
    least_zookeepers = 3

    async def chosen(self, on: Injection) -> Sequence[int]:
        return (await who_is(on, LEADER))[:1]

    async def strike(self, servers: ZooKeepers, server: int) -> None:
        await servers.kill_zookeeper(server)

    async def seen(self, on: Injection) -> Evidence | None:
        """Its process has ended, and another server says that it leads now."""
        others = [server for server, mode in (await modes(on)).items() if mode == LEADER and server not in on.kept]
        return {"leader": others[0]} if others and have_ended(on) else None

    async def look_again(self, on: Injection) -> None:
        must_have_ended(on)
