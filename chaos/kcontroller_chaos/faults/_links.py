"""What the faults on links share: which links and directions, and a look at one that does not come from whoever broke it.

The look is a request of ours over the link, to the node that listens at its end, or to the relay before it where the node
is a program of the user's (cluster/system/peer_relay.py): ApiVersions, which changes nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kcontroller_chaos.faults import parameter
from kcontroller_chaos.injection import Evidence, Injection, Placement, Wrong
from pytest_kcontroller.cluster.capabilities import REPORTS
from pytest_kcontroller.cluster.contract import ZOOKEEPER
from pytest_kcontroller.cluster.observed import gather_all
from pytest_kcontroller.cluster.timing import withheld_s
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.toxics import STREAMS, TIMEOUT, Stream, Toxic, same, streams_of
from pytest_kcontroller.runtime.ports import Clock, ConnectionClosedError
from pytest_kcontroller.wire.client import RequestClient
from pytest_kcontroller.wire.messages import ApiVersionsRequest

CONTROL = "control"
PROBE_US = 300_000
ON_ITS_WAY = 4
"""So often others must run until an answer is here, who are kept from it as long as we are: a proxy and who answers."""
LONGEST_PROBE_US = 5 * PROBE_US
RETRY_US = 50_000
Pair = tuple[str, str]
"""(who connects, whom it connects to)."""

BOTH, FROM_NODE, TO_NODE = "both", "from-node", "to-node"
EVERYBODY: Final = -1
STREAMS_OF: Final[Mapping[str, tuple[Stream, ...]]] = {
    BOTH: STREAMS,
    FROM_NODE: streams_of("upstream"),
    TO_NODE: streams_of("downstream"),
}
"""Of a link that the node has opened."""


def direction_parameter(
    help: str = "what is hit: both directions, what the node says, or what it hears",
    choices: tuple[str, ...] = (BOTH, FROM_NODE, TO_NODE),
) -> Any:
    """The parameter of a fault whose links may be hit in one direction only, whoever of the two has connected."""
    return parameter(BOTH, help, choices=choices)


def peer_parameter() -> Any:
    """The parameter of a fault on links between nodes."""
    return parameter(EVERYBODY, "the id of the other node; -1: all others", least=EVERYBODY)


def wrong_peer(peer: int, at: Placement) -> Wrong | None:
    """What is wrong with the parameter of a fault that stands there; None: there is such a node, or it is all."""
    if peer >= at.nodes:
        return "peer", f"there is no node {peer}", f"0 to {at.nodes - 1}, or {EVERYBODY} for all others"
    if at.target == f"node:{peer}":
        return "peer", f"node {peer} has no link to itself", f"another node, or {EVERYBODY} for all others"
    return None


@dataclass(frozen=True, slots=True)
class Way:
    """One direction of a link."""

    source: str
    target: str
    plane: str
    stream: Stream

    @property
    def pair(self) -> Pair:
        return self.source, self.target

    def __str__(self) -> str:
        return f"{self.source} -> {self.target} ({self.plane})"


def outbound(on: Injection) -> list[Pair]:
    return [(str(on.node), str(other)) for other in on.others]


def inbound(on: Injection) -> list[Pair]:
    return [(other, node) for node, other in outbound(on)]


def with_peer(on: Injection, pairs: list[Pair], peer: int) -> list[Pair]:
    """Those of the node's links that `peer` is at the other end of; all of them for EVERYBODY. Raises EnvironmentFailure:
    there is none."""
    found = [
        pair for pair in must_have(pairs) if peer in (EVERYBODY, *(int(end) for end in pair if int(end) != on.node))
    ]
    if not found:
        raise EnvironmentFailure(f"there is no link between node {on.node} and node {peer}, its `peer`")
    return found


def ways_of(opened: Iterable[Pair], accepted: Iterable[Pair], direction: str) -> list[Way]:
    """Of links that the node, or its side, has opened, and of such that it has accepted."""
    theirs = {BOTH: BOTH, FROM_NODE: TO_NODE, TO_NODE: FROM_NODE}[direction]
    return [Way(*pair, CONTROL, stream) for pair in opened for stream in STREAMS_OF[direction]] + [
        Way(*pair, CONTROL, stream) for pair in accepted for stream in STREAMS_OF[theirs]
    ]


def ways_to_zookeeper(on: Injection, direction: str = BOTH) -> list[Way]:
    return [Way(str(on.node), ZOOKEEPER, "zk", stream) for stream in STREAMS_OF[direction]]


def cut(stream: Stream) -> Toxic:
    """Nothing passes, and connections stay open."""
    return Toxic(TIMEOUT, stream, {"timeout": 0})


async def impair(on: Injection, ways: Iterable[Way], toxic: Callable[[Stream], Toxic]) -> None:
    for way in ways:
        await on.cluster.impair(way.source, way.target, way.plane, toxic(way.stream))


async def restore(on: Injection, ways: Iterable[Way], toxic: Callable[[Stream], Toxic]) -> None:
    for way in ways:
        await on.cluster.restore(way.source, way.target, way.plane, toxic(way.stream))


async def must_still_have(on: Injection, ways: Iterable[Way], toxic: Callable[[Stream], Toxic]) -> None:
    """Raises EnvironmentFailure for the first that has it not."""
    for way in ways:
        state = await on.cluster.link_state(way.source, way.target, way.plane)
        if not same(state.toxics, wanted := toxic(way.stream)):
            raise EnvironmentFailure(f"the link {way}, which was {wanted}, {state}")


async def answering(on: Injection, pairs: list[Pair]) -> list[Pair]:
    """Those whose target runs, is not paused, and answers its harness where it can: silence on their links has no other
    reason."""
    targets = {target: await _answers(on, int(target)) for target in dict.fromkeys(target for _, target in pairs)}
    return [pair for pair in pairs if targets[pair[1]]]


async def _answers(on: Injection, node: int) -> bool:
    if on.cluster.process_state(node) in (None, "T"):
        return False
    return not on.cluster.has(REPORTS) or await on.cluster.capability(REPORTS).status(node) is not None


async def round_trips(on: Injection, pairs: list[Pair], timeout_us: int = PROBE_US) -> dict[Pair, int | None]:
    """How long a connection and a request took on each link, in microseconds; None: no answer in time."""

    async def ask(pair: Pair) -> int | None:
        client, began = RequestClient(*on.cluster.route(*pair)), on.clock.now_us()
        try:
            await client.request(ApiVersionsRequest(), timeout_us=timeout_us)
        except ConnectionClosedError:
            return None
        finally:
            client.close()
        return on.clock.now_us() - began

    return dict(zip(pairs, await gather_all([ask(pair) for pair in pairs]), strict=True))


async def silent(on: Injection, pairs: list[Pair]) -> int:
    """Waits until none of the links passes anything, by looking; how many were looked at."""
    looked_at: list[Pair] = []

    async def unanswered(limit_us: int) -> bool:
        looked_at[:] = await answering(on, pairs)
        trips = await round_trips(on, looked_at, limit_us)
        return bool(looked_at) and all(trip is None for trip in trips.values())

    await silence_us(on.clock, unanswered)
    return len(looked_at)


async def no_zookeeper(on: Injection) -> Evidence:
    """Waits until a question to ZooKeeper on the node's own link finds no answer."""

    async def unanswered(limit_us: int) -> bool:
        return await on.cluster.zookeeper_round_trip_us(on.node, limit_s=limit_us / 1e6) is None

    return {"unanswered_us": await silence_us(on.clock, unanswered), "t_us": on.clock.now_us()}


async def silence_us(clock: Clock, unanswered: Callable[[int], Awaitable[bool]]) -> int:
    """Waits until a look finds no answer in the time it is given; how long that was. Where we were kept from running
    meanwhile, so was whoever answers: then the next look has much more time, and is the last."""
    limit_us = PROBE_US
    while True:
        before_s = withheld_s()
        if not await unanswered(limit_us):
            limit_us = PROBE_US
            await clock.sleep_us(RETRY_US)
            continue
        late_us = ON_ITS_WAY * (withheld_s() - before_s) * 1e6
        if late_us <= PROBE_US / 2 or limit_us == LONGEST_PROBE_US:
            return limit_us
        limit_us = LONGEST_PROBE_US


def must_have(pairs: list[Pair]) -> list[Pair]:
    """Raises EnvironmentFailure: a cluster of one node has no links between nodes."""
    if not pairs:
        raise EnvironmentFailure("there is no other node, so there are no links to it")
    return pairs
