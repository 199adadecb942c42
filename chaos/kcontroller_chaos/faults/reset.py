"""reset: who asked does not know whether it was done."""

from __future__ import annotations

from dataclasses import dataclass

from kcontroller_chaos.faults import Fault
from kcontroller_chaos.faults._links import (
    CONTROL,
    RETRY_US,
    answering,
    inbound,
    outbound,
    peer_parameter,
    with_peer,
    wrong_peer,
)
from kcontroller_chaos.feed import Event, writer_is
from kcontroller_chaos.injection import NETWORK, PROCESS, SESSION, Evidence, Injection, Placement, Wrong
from pytest_kcontroller.cluster.capabilities import PEERS, REPORTS
from pytest_kcontroller.cluster.contract import ZOOKEEPER
from pytest_kcontroller.cluster.observed import gather_all
from pytest_kcontroller.cluster.timing import withheld_s
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.model.history import ZkState
from pytest_kcontroller.runtime.ports import ConnectionClosedError, Stream, Transport
from pytest_kcontroller.runtime.timeouts import within

CONNECT_S = 0.1
LATE_S = 2.0
"""So long it may take where we have had no core ourselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset(Fault):
    """A node's open connections break for both ends at once; new ones are possible at once."""

    kind = "reset"
    example = """\
[[faults]]
kind = "reset"
mode = "control"
target = "controller"
at_s = 2
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetZooKeeper(Reset):
    """its connection to ZooKeeper; its session lives on, unless it cannot connect again in time"""

    mode = "zookeeper"
    keeps_session = True
    claims = (PROCESS, SESSION)

    async def inject(self, on: Injection) -> None:
        on.kept.append(_connection(on))
        await on.cluster.reset(str(on.node), ZOOKEEPER, "zk")

    async def observe(self, on: Injection) -> Evidence:
        """The node's own word that it has lost the connection, and then that it is in the same session again; of one that
        does not say it, that ZooKeeper has resumed its session on another connection."""
        if not on.cluster.has(REPORTS):
            return await self._resumed(on)
        lost = await on.feed.wait(lambda e: _says(e, on.node, "suspended"), since=on.since)
        after = on.feed.events.index(lost)
        again = await on.feed.wait(lambda e: _says(e, on.node, "connected"), since=after)
        if again["session"] != hex(on.session):
            raise EnvironmentFailure(f"the session {on.session:#x} did not outlive its connection")
        return {"writer": lost["writer"], "seq": lost["seq"], "t_us": lost["t_us"], "again_us": again["t_us"]}

    async def _resumed(self, on: Injection) -> Evidence:
        (before,) = on.kept or [_connection(on)]  # of `--noop-fault` nothing is kept
        while (found := on.cluster.session(on.node)) is None or found.connection <= before:
            await on.clock.sleep_us(RETRY_US)
        if found.session_id != on.session:
            raise EnvironmentFailure(f"the session {on.session:#x} did not outlive its connection")
        return {"connection": found.connection, "before": before, "t_us": on.clock.now_us()}

    async def heal(self, on: Injection) -> None:
        """Nothing to do: the node connects again by itself."""

    def within_s(self, on: Injection) -> float:
        return on.cluster.session_timeout_ms / 1000 + 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetControl(Reset):
    """its connections to the other nodes, or one of them, and theirs to it; requests and answers on their way are lost

    Its witness is a connection of ours on each link, made before.
    """

    mode = "control"
    least_nodes = 2
    claims = (NETWORK, PROCESS)
    needs = (PEERS,)

    peer: int = peer_parameter()

    def wrong_at(self, at: Placement) -> Wrong | None:
        return Reset.wrong_at(self, at) or wrong_peer(self.peer, at)

    async def inject(self, on: Injection) -> None:
        pairs = with_peer(on, outbound(on) + inbound(on), self.peer)
        routes = [on.cluster.route(*pair) for pair in await answering(on, pairs)]
        made = await gather_all([_connect(transport, address) for transport, address in routes])
        on.kept += [stream for stream in made if stream is not None]
        for source, target in pairs:
            await on.cluster.reset(source, target, CONTROL)

    async def observe(self, on: Injection) -> Evidence:
        """Each witness has ended for our end of it."""
        if not on.kept:
            raise EnvironmentFailure("no connection of ours was there to be broken")
        await gather_all([_end_of(stream) for stream in on.kept])
        return {"broken_links": len(on.kept), "t_us": on.clock.now_us()}

    async def heal(self, on: Injection) -> None:
        for stream in on.kept:
            stream.close()


def _says(event: Event, node: int, state: str) -> bool:
    return event["kind"] == ZkState.kind and event["state"] == state and writer_is(event["writer"], node)


def _connection(on: Injection) -> int:
    """Which one its session is on, by a number that grows; -1: none."""
    found = on.cluster.session(on.node)
    return -1 if found is None else found.connection


async def _connect(transport: Transport, address: Address) -> Stream | None:
    """None: this link does not pass anything now, as the one of a request that stands at a crash point."""
    before_s = withheld_s()
    for limit_s in (CONNECT_S, LATE_S):
        try:
            async with within(limit_s):
                return await transport.connect(address)
        except TimeoutError:
            if withheld_s() == before_s:
                return None
        except ConnectionClosedError:
            return None
    return None


async def _end_of(stream: Stream) -> None:
    try:
        await stream.read_exactly(1)
    except ConnectionClosedError:
        return
    raise EnvironmentFailure("a node spoke unasked on a connection of ours")
