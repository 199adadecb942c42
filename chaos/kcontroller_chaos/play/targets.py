"""Who a fault hits: a target's name becomes a node at the moment of injection.

controller             the node that /controller names
new-controller         the same: what came after an election that the fault waited for
owner-of:PATH          the node whose session owns that ephemeral, or in a recipe the child that comes first
leader-of:TOPIC-N      the leader in that partition's state znode
others                 all but the one that /controller names
any                    with a crash point: whichever running node comes to it first
random                 drawn from the schedule's seed
node:N                 that node
"""

from __future__ import annotations

from collections.abc import Callable

from pytest_kcontroller.cluster.contract import Cluster, NodeSession
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.model.text import whole_number

TARGET_S = 5.0
"""A target such as `controller` may be nobody for the time of an election."""


async def resolve(cluster: Cluster, target: str, draw: Callable[[int], int]) -> tuple[int, ...]:
    """The nodes that `target` means now; empty: there is none at this moment. Raises EnvironmentFailure for no target."""
    name, _, argument = target.partition(":")
    running = cluster.running
    if name == "any":
        return running
    if name == "others":
        controller = await cluster.controller()
        return () if controller is None else tuple(node for node in running if node != controller)
    if name == "node":
        found = number if (number := whole_number(argument)) in cluster.nodes else None
    elif name in ("controller", "new-controller"):
        found = await cluster.controller()
    elif name == "random":
        found = _draw(list(running), draw)
    elif name == "owner-of":
        found = await owner_of(cluster, argument)
    elif name == "leader-of":
        found = await _leader(cluster, argument)
    else:
        raise EnvironmentFailure(f"the target {target!r} means nothing to this backend")
    return () if found is None else (found,)


def _draw(nodes: list[int], draw: Callable[[int], int]) -> int | None:
    return nodes[draw(len(nodes))] if nodes else None


async def owner_of(cluster: Cluster, path: str) -> int | None:
    """The running node whose session owns `path` (Coordination.owner_of)."""
    owner = await cluster.owner_of(path)
    owners = [node for node in cluster.running if owner in [each.session_id for each in cluster.sessions(node)]]
    return owners[0] if owners else None


async def session_meant(cluster: Cluster, target: str, node: int) -> NodeSession | None:
    """The session of the node that a fault is on: with `owner-of` the one that owns (a program may have several), else the
    one that was granted last."""
    name, _, path = target.partition(":")
    newest = cluster.session(node)
    if name != "owner-of" or len(cluster.sessions(node)) < 2:
        return newest
    owner = await cluster.owner_of(path)
    return next((each for each in cluster.sessions(node) if each.session_id == owner), newest)


async def nobody_is(cluster: Cluster, target: str) -> str:
    """Why `target` is no node at this moment, where that can be seen; else empty. Begins with a colon."""
    name, _, path = target.partition(":")
    if name != "owner-of":
        return ""
    owner = await cluster.owner_of(path)
    seen = f"the session {owner:#x}, of no running node, owns it" if owner else "no session owns it"
    return f": {seen}; {await cluster.around(path)}"


async def _leader(cluster: Cluster, partition: str) -> int | None:
    topic, _, text = partition.rpartition("-")
    number = whole_number(text)
    return None if number is None else await cluster.leader(TopicPartition(topic, number))
