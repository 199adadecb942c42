"""session_expiry: the end of a session, and of nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from kcontroller_chaos.faults import Fault
from kcontroller_chaos.faults._links import must_be_cut
from kcontroller_chaos.injection import SESSION, Evidence, Injection
from pytest_kcontroller.cluster.contract import ZOOKEEPER


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionExpiry(Fault):
    """A node loses its ZooKeeper session."""

    kind = "session_expiry"
    example = """\
[[faults]]
kind = "session_expiry"
mode = "natural"
target = "controller"
at_s = 2
duration_s = 3
"""
    ends_session = True
    claims = (SESSION,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Natural(SessionExpiry):
    """its link to ZooKeeper becomes a black hole in both directions until ZooKeeper has given the session up"""

    mode = "natural"

    async def inject(self, on: Injection) -> None:
        await on.cluster.cut(str(on.node), ZOOKEEPER, "zk")

    async def observe(self, on: Injection) -> Evidence:
        return await on.wait_closed(by_client=False)

    async def look_again(self, on: Injection) -> None:
        await must_be_cut(on, [(str(on.node), ZOOKEEPER)], "zk")

    async def heal(self, on: Injection) -> None:
        await on.cluster.heal(str(on.node), ZOOKEEPER, "zk")

    def within_s(self, on: Injection) -> float:
        return 2 * on.cluster.session_timeout_ms / 1000 + 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Server(SessionExpiry):
    """a second client resumes the session and closes it (the ZooKeeper FAQ's way to test expiry)"""

    mode = "server"

    async def inject(self, on: Injection) -> None:
        await on.cluster.expire_session_server(on.node)

    async def observe(self, on: Injection) -> Evidence:
        return await on.wait_closed(by_client=True)

    async def heal(self, on: Injection) -> None:
        """Nothing was taken away that could be given back: the node makes its new session by itself."""
