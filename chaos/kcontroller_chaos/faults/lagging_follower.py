"""lagging_follower: a node reads what has been, and cannot know."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import Self

from kcontroller_chaos.faults import Fault, parameter
from kcontroller_chaos.faults._inside import WORKLOAD
from kcontroller_chaos.injection import PROCESS, SESSION, Evidence, Injection
from pytest_kcontroller.cluster.capabilities import POWERS
from pytest_kcontroller.errors import EnvironmentFailure

POLL_US = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LaggingFollower(Fault):
    """The node is connected with a server of ZooKeeper that has every transaction late: it reads and hears what has been."""

    kind = "lagging_follower"
    example = f"""\
[[faults]]
kind = "lagging_follower"
lag_ms = 300
at_s = 1
duration_s = 2
{WORKLOAD}"""
    ends_session = True
    claims = (PROCESS, SESSION)
    may_miss = True
    needs = (POWERS,)

    lag_ms: int = parameter(300, "how late it has a transaction", unit="ms", least=1, most=60_000)

    async def inject(self, on: Injection) -> None:
        on.cluster.capability(POWERS).lag(on.node, self.lag_ms)

    async def observe(self, on: Injection) -> Evidence:
        """The node's server is asked whether it lacks a transaction that ZooKeeper's log has."""
        while True:
            lag_ms, behind = on.cluster.capability(POWERS).lag_of(on.node)
            if lag_ms and behind:
                return {"behind": behind, "zxid": on.feed.zxid, "t_us": on.clock.now_us()}
            await on.clock.sleep_us(POLL_US)

    async def look_again(self, on: Injection) -> None:
        lag_ms, _ = on.cluster.capability(POWERS).lag_of(on.node)
        if lag_ms < self.lag_ms:
            raise EnvironmentFailure(
                f"the server of node {on.node}, which lagged by {self.lag_ms} ms, lags by {lag_ms} ms"
            )

    async def heal(self, on: Injection) -> None:
        on.cluster.capability(POWERS).lag(on.node, 0)

    def within_s(self, on: Injection) -> float:
        return self.lag_ms / 1000 + 5

    @classmethod
    def drawn(cls, draw: Random) -> Self:
        return cls(lag_ms=draw.randint(20, 300))
