"""zookeeper_lose_quorum: so many servers end that those which are left serve nobody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kcontroller_chaos.faults._zookeeper import (
    ALL,
    FOLLOWER,
    OnZooKeeper,
    have_ended,
    modes,
    must_have_ended,
    told,
    who_is,
)
from kcontroller_chaos.injection import Evidence, Injection
from pytest_kcontroller.cluster.capabilities import ZooKeepers
from pytest_kcontroller.errors import EnvironmentFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class LoseQuorum(OnZooKeeper):
    """SIGKILL to a majority of ZooKeeper's ensemble, followers first; healing starts them again."""

    kind = "zookeeper_lose_quorum"
    example = """\
[cluster]
zookeeper = 3

[[faults]]
kind = "zookeeper_lose_quorum"
at_s = 2
duration_s = 2
"""
    least_zookeepers = 3

    async def chosen(self, on: Injection) -> Sequence[int]:
        everybody, followers = await who_is(on, ALL), await who_is(on, FOLLOWER)
        others = [server for server in everybody if server not in followers]
        return [*followers, *others][: len(everybody) // 2 + 1]

    async def strike(self, servers: ZooKeepers, server: int) -> None:
        await servers.kill_zookeeper(server)

    async def seen(self, on: Injection) -> Evidence | None:
        """Their processes have ended, and none of those that are left serves a client that asks."""
        return {"serving": 0} if have_ended(on) and not any((await modes(on)).values()) else None

    async def look_again(self, on: Injection) -> None:
        must_have_ended(on)
        if any((said := await modes(on)).values()):
            raise EnvironmentFailure(f"ZooKeeper, which had no majority, serves again ({told(said)})")
