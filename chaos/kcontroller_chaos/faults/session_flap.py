"""session_flap: a connection that is lost for nearly as long as its session can live without it."""

from __future__ import annotations

from dataclasses import dataclass

from kcontroller_chaos.faults import Fault, _repeated, parameter
from kcontroller_chaos.faults._links import RETRY_US, cut, impair, restore, ways_to_zookeeper
from kcontroller_chaos.injection import PROCESS, SESSION, Evidence, Injection
from pytest_kcontroller.cluster.contract import ZOOKEEPER

TIMES = 2
"""So often the node must have come back, until it is observed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFlap(Fault):
    """A node loses ZooKeeper for a part of its session's time-out, comes back, and loses it again, until it is healed.

    After two thirds of the time-out a client gives up its connection, and after all of it ZooKeeper the session: between
    these two the node does not know which it will be.
    """

    kind = "session_flap"
    example = """\
[[faults]]
kind = "session_flap"
target = "controller"
down_share = 0.67
at_s = 2
duration_s = 6
"""
    ends_session = True
    claims = (PROCESS, SESSION)

    down_share: float = parameter(0.67, "of the session's time-out: so long nothing passes", least=0.1, most=0.95)
    up_share: float = parameter(1.0, "of it: so long everything does, in between", least=0.2, most=10)

    async def inject(self, on: Injection) -> None:
        _repeated.begin(on, self._turns(on))

    async def _turns(self, on: Injection) -> None:
        """Its connections end with the silence, as they do when a machine has lost its address."""
        ways, timeout_us = ways_to_zookeeper(on), on.cluster.session_timeout_ms * 1000
        while True:
            await impair(on, ways, cut)
            await on.clock.sleep_us(round(self.down_share * timeout_us))
            await on.cluster.reset(str(on.node), ZOOKEEPER, "zk")
            await restore(on, ways, cut)
            await on.clock.sleep_us(round(self.up_share * timeout_us))

    async def observe(self, on: Injection) -> Evidence:
        """ZooKeeper's answers on the node's link: twice it has resumed the session, or granted another, on another
        connection."""
        connection, seen = -1 if (found := on.cluster.session(on.node)) is None else found.connection, list[str]()
        while len(seen) < TIMES:
            await on.clock.sleep_us(RETRY_US)
            found = on.cluster.session(on.node)
            if found is not None and found.connected and found.connection > connection:
                connection = found.connection
                seen.append(hex(found.session_id))
        return {"sessions": seen, "outlived": seen[-1] == hex(on.session), "t_us": on.clock.now_us()}

    async def look_again(self, on: Injection) -> None:
        _repeated.must_go_on(on)

    async def heal(self, on: Injection) -> None:
        await _repeated.end(on)
        if on.kept:
            await restore(on, ways_to_zookeeper(on), cut)

    def within_s(self, on: Injection) -> float:
        return (TIMES + 1) * (self.down_share + self.up_share + 1) * on.cluster.session_timeout_ms / 1000 + 3
