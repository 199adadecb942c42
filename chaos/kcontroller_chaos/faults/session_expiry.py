"""session_expiry: a node loses its ZooKeeper session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kcontroller_chaos.faults import Fault
from kcontroller_chaos.injection import SESSION, Evidence, Injection
from pytest_kcontroller.cluster.contract import ZOOKEEPER


class Natural:
    ends_session = True
    claims = (SESSION,)
    may_miss = False

    async def inject(self, on: Injection) -> None:
        await on.cluster.cut(str(on.node), ZOOKEEPER, "zk")

    async def observe(self, on: Injection) -> Evidence:
        return await on.wait_closed(by_client=False)

    async def heal(self, on: Injection) -> None:
        await on.cluster.heal(str(on.node), ZOOKEEPER, "zk")

    def within_s(self, on: Injection) -> float:
        return 2 * on.cluster.session_timeout_ms / 1000 + 2


class Server:
    ends_session = True
    claims = (SESSION,)
    may_miss = False

    async def inject(self, on: Injection) -> None:
        await on.cluster.expire_session_server(on.node)

    async def observe(self, on: Injection) -> Evidence:
        return await on.wait_closed(by_client=True)

    async def heal(self, on: Injection) -> None:
        """Nothing was taken away that could be given back: the node makes its new session by itself."""

    def within_s(self, on: Injection) -> float:
        return 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionExpiryFault(Fault):
    kind: ClassVar[str] = "session_expiry"
    modes: ClassVar[tuple[str, ...]] = ("natural", "server")
    mode_help: ClassVar = {
        "natural": "its link to ZooKeeper becomes a black hole in both directions until ZooKeeper has given the session up",
        "server": "a second client resumes the session and closes it (the ZooKeeper FAQ's way to test expiry)",
    }
    example: ClassVar[str] = """\
[[faults]]
kind = "session_expiry"
mode = "natural"
target = "controller"
at_s = 2
duration_s = 3
"""
    work: ClassVar = {"natural": Natural, "server": Server}
