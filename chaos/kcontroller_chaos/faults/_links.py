"""What the faults on links share: which links, and a look at one that does not come from whoever broke it.

The look is a request of ours over the link, to the node that listens at its end: ApiVersions, which changes nothing.
"""

from __future__ import annotations

from kcontroller_chaos.injection import Injection
from pytest_kcontroller.cluster.capabilities import REPORTS
from pytest_kcontroller.cluster.observed import gather_all
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.runtime.ports import ConnectionClosedError
from pytest_kcontroller.wire.client import RequestClient
from pytest_kcontroller.wire.messages import ApiVersionsRequest

CONTROL = "control"
PROBE_US = 300_000
RETRY_US = 50_000
Pair = tuple[str, str]
"""(who connects, whom it connects to)."""


def outbound(on: Injection) -> list[Pair]:
    return [(str(on.node), str(other)) for other in on.cluster.nodes if other != on.node]


def inbound(on: Injection) -> list[Pair]:
    return [(other, node) for node, other in outbound(on)]


async def must_be_cut(on: Injection, pairs: list[Pair], plane: str) -> None:
    """Raises EnvironmentFailure for the first link that passes something."""
    for source, target in pairs:
        state = await on.cluster.link_state(source, target, plane)
        if not state.cut:
            raise EnvironmentFailure(f"the link {source} -> {target} ({plane}), which was cut, {state}")


async def must_be_slow(on: Injection, pairs: list[Pair], plane: str, delay_ms: int) -> None:
    """Raises EnvironmentFailure for the first link that is not late by so much."""
    for source, target in pairs:
        state = await on.cluster.link_state(source, target, plane)
        if state.delay_ms < delay_ms:
            raise EnvironmentFailure(
                f"the link {source} -> {target} ({plane}), which was late by {delay_ms} ms, {state}"
            )


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
    while True:
        looked_at = await answering(on, pairs)
        if looked_at and not any(trip is not None for trip in (await round_trips(on, looked_at)).values()):
            return len(looked_at)
        await on.clock.sleep_us(RETRY_US)


def must_have(pairs: list[Pair]) -> list[Pair]:
    """Raises EnvironmentFailure: a cluster of one node has no links between nodes."""
    if not pairs:
        raise EnvironmentFailure("there is no other node, so there are no links to it")
    return pairs
