"""session_expiry: the end of a session, and of nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from kcontroller_chaos.faults import Fault
from kcontroller_chaos.faults._links import cut, impair, must_still_have, restore, ways_to_zookeeper
from kcontroller_chaos.injection import SESSION, Evidence, Injection
from pytest_kcontroller.cluster.capabilities import OWN_CLOSE


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
        await impair(on, ways_to_zookeeper(on), cut)

    async def observe(self, on: Injection) -> Evidence:
        return await on.wait_closed(by_client=False)

    async def look_again(self, on: Injection) -> None:
        await must_still_have(on, ways_to_zookeeper(on), cut)

    async def heal(self, on: Injection) -> None:
        await restore(on, ways_to_zookeeper(on), cut)

    def within_s(self, on: Injection) -> float:
        return 2 * on.cluster.session_timeout_ms / 1000 + 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Server(SessionExpiry):
    """a second client resumes the session and closes it (the ZooKeeper FAQ's way to test expiry)"""

    mode = "server"

    async def inject(self, on: Injection) -> None:
        await on.cluster.expire_session_server(on.node, on.session)

    async def observe(self, on: Injection) -> Evidence:
        return await on.wait_closed(by_client=True)

    async def heal(self, on: Injection) -> None:
        """Nothing was taken away that could be given back: the node makes its new session by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client(SessionExpiry):
    """the node's own client closes it, as a client that is stopped, and the node opens another one"""

    mode = "client"
    needs = (OWN_CLOSE,)

    async def inject(self, on: Injection) -> None:
        await on.cluster.capability(OWN_CLOSE).close_session(on.node)

    async def observe(self, on: Injection) -> Evidence:
        return await on.wait_closed(by_client=True)

    async def heal(self, on: Injection) -> None:
        """As `Server`."""
