"""late_ephemerals: a session has ended, and what it owned is still there."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import Self

from kcontroller_chaos.faults import Fault, parameter
from kcontroller_chaos.faults._processes import next_session
from kcontroller_chaos.injection import NETWORK, PROCESS, SESSION, Evidence, Injection
from pytest_kcontroller.cluster.capabilities import POWERS
from pytest_kcontroller.errors import EnvironmentFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class LateEphemerals(Fault):
    """The node's session is ended by a second client, and ZooKeeper removes what it owned only some time later."""

    kind = "late_ephemerals"
    ends_session = True
    may_miss = True
    claims = (PROCESS, SESSION, NETWORK)
    needs = (POWERS,)

    delay_ms: int = parameter(1000, "so long after the end of the session", unit="ms", least=1, most=60_000)

    async def inject(self, on: Injection) -> None:
        on.cluster.capability(POWERS).delay_removal(self.delay_ms)
        await on.cluster.expire_session_server(on.node)

    async def observe(self, on: Injection) -> Evidence:
        """In ZooKeeper's log the node's next session comes before the end of the old one, and of what that owned."""
        begun, closed = await next_session(on), await on.wait_closed(by_client=True)
        if begun["zxid"] > closed["zxid"]:
            raise EnvironmentFailure(
                f"what session {on.session:#x} owned was removed before node {on.node} had another session",
                hint="a greater `delay_ms` leaves it the time",
            )
        return {**closed, "new_session": begun["session"], "new_zxid": begun["zxid"]}

    async def heal(self, on: Injection) -> None:
        on.cluster.capability(POWERS).delay_removal(0)

    def within_s(self, on: Injection) -> float:
        return self.delay_ms / 1000 + 3

    @classmethod
    def drawn(cls, draw: Random) -> Self:
        return cls(delay_ms=draw.randint(100, 2000))
