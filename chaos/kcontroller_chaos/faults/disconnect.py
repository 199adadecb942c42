"""disconnect: a node's container is taken from its network."""

from __future__ import annotations

from dataclasses import dataclass

from kcontroller_chaos.faults import Fault
from kcontroller_chaos.faults._inside import is_gone
from kcontroller_chaos.injection import PROCESS, SESSION, Evidence, Injection
from pytest_kcontroller.cluster.capabilities import CONTAINERS
from pytest_kcontroller.errors import EnvironmentFailure

POLL_US = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Disconnect(Fault):
    """The node's container has no network, until it is connected again at its address: it goes on, and is told by errors of
    its own kernel, where a partition only loses what is sent."""

    kind = "disconnect"
    example = """\
[[faults]]
kind = "disconnect"
target = "controller"
at_s = 2
duration_s = 3
"""
    ends_session = True
    claims = (PROCESS, SESSION)
    needs = (CONTAINERS,)

    async def inject(self, on: Injection) -> None:
        await on.cluster.capability(CONTAINERS).disconnect(on.node)

    async def observe(self, on: Injection) -> Evidence:
        """The kernel knows no interface of the container but its loopback; past the session time-out ZooKeeper gives its
        session up."""
        while on.cluster.capability(CONTAINERS).interfaces(on.node) != ():
            await on.clock.sleep_us(POLL_US)
        alone = {"interfaces": 0, "alone_us": on.clock.now_us()}
        if not on.outlives_session:
            return alone
        return {**alone, **await on.wait_closed(by_client=False)}

    async def look_again(self, on: Injection) -> None:
        """Another container in its place, of a program that is started again, was never disconnected."""
        found = on.cluster.capability(CONTAINERS).interfaces(on.node)
        if found and not is_gone(on):
            raise EnvironmentFailure(f"node {on.node}, which was disconnected, is connected again ({', '.join(found)})")

    async def heal(self, on: Injection) -> None:
        await on.cluster.capability(CONTAINERS).connect(on.node)

    def within_s(self, on: Injection) -> float:
        return 2 * on.cluster.session_timeout_ms / 1000 + 3 if on.outlives_session else 3.0
