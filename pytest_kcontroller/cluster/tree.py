"""What ZooKeeper holds at one moment, read by somebody who is no node: controller, epoch, brokers, partitions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pytest_kcontroller.model.cluster import NO_LEADER, Assignment, Broker, LeaderAndIsr, TopicPartition
from pytest_kcontroller.model.history import ZkTree
from pytest_kcontroller.zookeeper.session import (
    Children,
    ConnectionLossError,
    GetChildren,
    GetData,
    MultiRead,
    Node,
    NoNodeError,
    ReadOp,
    ZkSession,
)
from pytest_kcontroller.zookeeper.store import CHUNK_OPS
from pytest_kcontroller.zookeeper.znodes import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    TOPICS,
    broker_of,
    broker_path,
    decode_broker,
    decode_controller,
    decode_controller_epoch,
    decode_state,
    decode_topic,
    state_path,
    topic_path,
)


@dataclass(frozen=True, slots=True)
class PartitionNow:
    """One partition; `state` is None as long as no controller has made it."""

    assignment: Assignment
    state: LeaderAndIsr | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """`controller` None: nobody; `controller_owner` is the session of the ephemeral /controller (0: none)."""

    controller: int | None
    controller_owner: int
    epoch: int
    brokers: Mapping[int, Broker] = field(default_factory=dict)
    partitions: Mapping[TopicPartition, PartitionNow] = field(default_factory=dict)

    def event(self) -> ZkTree:
        """For the history."""
        return ZkTree(
            controller=self.controller,
            controller_owner=hex(self.controller_owner) if self.controller_owner else None,
            epoch=self.epoch,
            brokers=sorted(self.brokers),
            partitions=[_partition_fields(tp, now) for tp, now in sorted(self.partitions.items())],
        )


def _partition_fields(tp: TopicPartition, now: PartitionNow) -> dict[str, object]:
    state = now.state
    return {
        "topic": tp.topic,
        "partition": tp.partition,
        "replicas": list(now.assignment.replicas),
        "leader": None if state is None else state.leader,
        "isr": None if state is None else list(state.isr),
        "leader_epoch": None if state is None else state.leader_epoch,
        "controller_epoch": None if state is None else state.controller_epoch,
        "version": None if state is None else state.partition_epoch,
    }


# Whoever waits reads the whole tree again and again, and most of it has not changed.
_broker = lru_cache(maxsize=1024)(decode_broker)
_topic = lru_cache(maxsize=1024)(decode_topic)
_state = lru_cache(maxsize=4096)(decode_state)


async def read_tree(session: ZkSession) -> Tree:
    """Raises SessionExpiredError; a lost connection is tried again. Not atomic: read it again if it must be."""
    controller, epoch = await _nodes(session, [CONTROLLER, CONTROLLER_EPOCH])
    ids = sorted(id_ for name in await _children(session, BROKER_IDS) if (id_ := broker_of(name)) is not None)
    topics = await _children(session, TOPICS)
    brokers = {
        broker: _broker(broker, node.data, node.stat.czxid)
        for broker, node in zip(ids, await _nodes(session, [broker_path(b) for b in ids]), strict=True)
        if node is not None
    }
    assigned: dict[TopicPartition, Assignment] = {}
    for name, node in zip(topics, await _nodes(session, [topic_path(t) for t in topics]), strict=True):
        if node is not None:
            topic = _topic(name, node.data)
            assigned |= {TopicPartition(name, number): a for number, a in topic.partitions.items()}
    tps = sorted(assigned)
    states = await _nodes(session, [state_path(tp) for tp in tps])
    return Tree(
        controller=None if controller is None else decode_controller(controller.data),
        controller_owner=0 if controller is None else controller.stat.ephemeral_owner,
        epoch=0 if epoch is None else decode_controller_epoch(epoch.data),
        brokers=brokers,
        partitions={
            tp: PartitionNow(assigned[tp], None if n is None else _state(tp, n.data, n.stat.version))
            for tp, n in zip(tps, states, strict=True)
        },
    )


async def read_leader(session: ZkSession, tp: TopicPartition) -> int | None:
    """As the partition's state znode names it; None: nobody. Raises SessionExpiredError."""
    path = state_path(tp)
    (node,) = await _nodes(session, [path])
    leader = NO_LEADER if node is None else _state(tp, node.data, node.stat.version).leader
    return None if leader == NO_LEADER else leader


async def _nodes(session: ZkSession, paths: list[str]) -> list[Node | None]:
    """In order; None: no such znode."""
    found = await _all(session, [GetData(path) for path in paths])
    return [node if isinstance(node, Node) else None for node in found]


async def _children(session: ZkSession, path: str) -> list[str]:
    (found,) = await _all(session, [GetChildren(path)])
    return list(found.names) if isinstance(found, Children) else []


async def _all(session: ZkSession, reads: list[ReadOp]) -> list[object]:
    """In few requests: the harness reads while it waits, again and again."""
    parts = [tuple(reads[at : at + CHUNK_OPS]) for at in range(0, len(reads), CHUNK_OPS)]
    while True:
        answers = await asyncio.gather(*(session.submit(MultiRead(part)) for part in parts), return_exceptions=True)
        if any(isinstance(answer, ConnectionLossError) for answer in answers):
            continue
        results: list[object] = []
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
            assert isinstance(answer, tuple)
            results += answer
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, NoNodeError):
                raise result
        return results


def unsettled(tree: Tree, sessions: Mapping[int, int]) -> str | None:
    """Why what ZooKeeper holds has not settled, or None if it has: the first reason, in words.

    `sessions` maps each running node to the session that ZooKeeper has granted it.
    """
    checks = (_controller_settled, _brokers_settled, _partitions_settled)
    return next((why for check in checks if (why := check(tree, sessions)) is not None), None)


def _controller_settled(tree: Tree, sessions: Mapping[int, int]) -> str | None:
    if tree.controller is None or tree.controller not in sessions:
        return f"/controller names {tree.controller}, running are {sorted(sessions)}"
    own = sessions[tree.controller]
    if own != tree.controller_owner:
        return f"/controller belongs to session {tree.controller_owner:#x}, node {tree.controller} has {own:#x}"
    return None


def reported_otherwise(tree: Tree, active: Mapping[int, bool], metadata: Mapping[int, object]) -> str | None:
    """What nodes say of themselves that is not as ZooKeeper has it, or None.

    `active` says which of them takes itself for the controller, `metadata` what each has been told by UpdateMetadata
    (broker.metadata.MetadataCache.to_json).
    """
    says = sorted(node for node, yes in active.items() if yes)
    if says != [tree.controller]:
        return f"nodes that say they are the active controller: {says or 'none'}; /controller names {tree.controller}"
    return _metadata_settled(tree, metadata)


def _brokers_settled(tree: Tree, running: Mapping[int, int]) -> str | None:
    if sorted(tree.brokers) != sorted(running):
        return f"registered are {sorted(tree.brokers)}, running are {sorted(running)}"
    return None


def _partitions_settled(tree: Tree, running: Mapping[int, int]) -> str | None:
    for tp, now in sorted(tree.partitions.items()):
        if now.state is None:
            return f"{tp} has no state yet"
        alive = [replica for replica in now.assignment.replicas if replica in running]
        if not any(replica in running for replica in now.state.isr):
            continue
        if now.state.leader not in running:
            return f"{tp} is led by {now.state.leader}, which is not live"
        if sorted(now.state.isr) != sorted(alive):
            return f"{tp} has the ISR {list(now.state.isr)}, its live replicas are {alive}"
    return None


def _metadata_settled(tree: Tree, metadata: Mapping[int, object]) -> str | None:
    known = sorted(metadata)
    for node in known:
        if metadata[node] is None:
            return f"node {node} does not say what it has been told"
        if metadata[node] != metadata[known[0]]:
            return f"nodes {known[0]} and {node} have been told different metadata"
        for what, holds, has in metadata_pairs(tree.event().fields(), metadata[node]):
            if has != holds:
                return f"node {node} has been told of {what}: {has}; ZooKeeper holds {holds}"
    return None


_STATE = {"leader": "leader", "leader_epoch": "leader_epoch", "isr": "isr", "partition_epoch": "version"}
"""The names of one thing in MetadataCache.to_json and in Tree.event."""


def metadata_pairs(tree: Mapping[str, Any], metadata: Any) -> list[tuple[str, Any, Any]]:
    """What a node's metadata (MetadataCache.to_json) are compared in with ZooKeeper (the fields of Tree.event): (what,
    ZooKeeper's, the node's). A partition that no controller has made yet is none."""
    pairs: list[tuple[str, Any, Any]] = [
        ("controller", tree["controller"], metadata["controller"]),
        ("brokers", tree["brokers"], sorted(int(broker) for broker in metadata["brokers"])),
    ]
    held = {f"{now['topic']}-{now['partition']}": now for now in tree["partitions"] if now["leader"] is not None}
    for name in sorted(held | metadata["partitions"]):
        now, known = held.get(name), metadata["partitions"].get(name)
        pairs.append(
            (
                name,
                now and {ours: now[its] for ours, its in _STATE.items()},
                known and {ours: known[ours] for ours in _STATE},
            )
        )
    return pairs
