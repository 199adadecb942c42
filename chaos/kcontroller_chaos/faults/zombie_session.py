"""zombie_session: to everybody else the node lives, and it can do nothing."""

from __future__ import annotations

from dataclasses import dataclass

from kcontroller_chaos.faults import Fault
from kcontroller_chaos.faults._links import TO_NODE, impair, must_still_have, no_zookeeper, restore, ways_to_zookeeper
from kcontroller_chaos.injection import PROCESS, SESSION, Evidence, Injection
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.toxics import RESET_PEER, Stream, Toxic

LIVES_ON = 2
"""ZooKeeper gives up a session that nobody renews in less than so many of its time-outs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZombieSession(Fault):
    """ZooKeeper hears the node and renews its session, and the node hears nothing: each of its connections breaks with the
    first word of ZooKeeper's.

    Its ephemeral znodes stay, for ever: a controller that is in office and cannot write, and nobody takes over.
    """

    kind = "zombie_session"
    example = """\
[[faults]]
kind = "zombie_session"
target = "controller"
at_s = 2
duration_s = 8
"""
    ends_session = True  # where a client waits for long between two tries
    claims = (PROCESS, SESSION)

    async def inject(self, on: Injection) -> None:
        await impair(on, ways_to_zookeeper(on, TO_NODE), _deaf)

    async def observe(self, on: Injection) -> Evidence:
        """Questions of ours on the node's link find no answer, before and after a time in which ZooKeeper would have given
        up a session that nobody renews; its log has no end of this one."""
        began_us = (await no_zookeeper(on))["t_us"]
        await on.clock.sleep_us(LIVES_ON * on.cluster.session_timeout_ms * 1000)
        ended_us = (await no_zookeeper(on))["t_us"]
        _must_live(on)
        return {"session": hex(on.session), "unanswered_us": ended_us - began_us, "t_us": ended_us}

    async def look_again(self, on: Injection) -> None:
        await must_still_have(on, ways_to_zookeeper(on, TO_NODE), _deaf)
        _must_live(on)

    async def heal(self, on: Injection) -> None:
        await restore(on, ways_to_zookeeper(on, TO_NODE), _deaf)

    def within_s(self, on: Injection) -> float:
        return (LIVES_ON + 1) * on.cluster.session_timeout_ms / 1000 + 4


def _deaf(stream: Stream) -> Toxic:
    return Toxic(RESET_PEER, stream, {"timeout": 0})


def _must_live(on: Injection) -> None:
    """Raises EnvironmentFailure."""
    on.feed.poll()
    if on.closed(by_client=True) or on.closed(by_client=False):
        raise EnvironmentFailure(f"the session {on.session:#x}, which was to be renewed, has ended")
