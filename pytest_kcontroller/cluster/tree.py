"""What ZooKeeper holds at one moment, read by somebody who is no node: controller, epoch, brokers, partitions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

from pytest_kcontroller.model.cluster import NO_LEADER, Assignment, Broker, LeaderAndIsr, TopicPartition
from pytest_kcontroller.model.history import ZkTree
from pytest_kcontroller.zookeeper.partition_lists import PREFERRED_ELECTION, decode_partitions
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
    DELETE_TOPICS,
    REASSIGN_PARTITIONS,
    TOPICS,
    CorruptZnodeError,
    broker_of,
    broker_path,
    decode_broker,
    decode_controller,
    decode_controller_epoch,
    decode_reassignments,
    decode_state,
    decode_topic,
    state_path,
    topic_path,
)

K = TypeVar("K")
V = TypeVar("V")


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
    deleting: tuple[str, ...] = ()
    """Topics that the controller has been asked to delete, and that are not gone yet. Ascending."""
    requested: Mapping[TopicPartition, tuple[int, ...]] = field(default_factory=dict)
    """What /admin/reassign_partitions asks for; one that cannot be understood asks for nothing."""

    electing: tuple[TopicPartition, ...] = ()
    """Partitions whose first replicas a tool wants to lead, while the controller has not done with its request."""

    corrupt: tuple[str, ...] = ()
    """What cannot be understood, in words: a broker, a topic, a state. It is left out of everything else."""

    def unelected(self) -> str | None:
        """Why a preferred election has not ended yet; None: there is none."""
        if not self.electing:
            return None
        return f"the preferred election of {self.electing[0]} waits for the controller, node {self.controller}"

    def leaderless(self, topic: str) -> str | None:
        """Why not every partition of a topic has a leader; None: all have."""
        states = {tp: now.state for tp, now in sorted(self.partitions.items()) if tp.topic == topic}
        if not states:
            return f"there is no topic {topic!r}"
        without = next((tp for tp, state in states.items() if state is None or state.leader == NO_LEADER), None)
        return None if without is None else f"{without} has no leader"

    def undeleted(self, topic: str) -> str | None:
        """Why a topic that is to be deleted is still there, and who is waited for; None: it is gone."""
        replicas = sorted(
            {r for tp, now in self.partitions.items() if tp.topic == topic for r in now.assignment.replicas}
        )
        if topic not in self.deleting:
            return f"the topic {topic!r} is there, and nobody is asked to delete it" if replicas else None
        if away := [replica for replica in replicas if replica not in self.brokers]:
            nodes = f"node{'s' if len(away) > 1 else ''} {', '.join(map(str, away))}"
            return f"the deletion of {topic!r} waits for {nodes}: replicas of it are there, and it is not registered"
        if not replicas:
            return f"the deletion of {topic!r} is almost done: its marker is still there"
        return f"the deletion of {topic!r} waits for {self._acting}"

    def being_reassigned(self, tp: TopicPartition) -> str | None:
        """Why the reassignment of a partition has not ended, and which replica is waited for; None: there is none."""
        now = self.partitions[tp]
        if not now.assignment.reassigning:
            return None if tp not in self.requested else f"the request to reassign {tp} waits for {self._acting}"
        target, isr = now.assignment.target, () if now.state is None else now.state.isr
        waits = f"the reassignment of {tp} to {list(target)} waits for"
        missing = next((replica for replica in target if replica not in isr), None)
        if missing is None:
            return f"{waits} {self._acting}"
        return f"{waits} replica {missing}, which is not in sync{self._away(missing)}"

    def not_reassigned(self, tp: TopicPartition, target: tuple[int, ...]) -> str | None:
        """Why `target` is not the replicas of a partition; None: it is."""
        if (why := self.being_reassigned(tp)) is not None:
            return why
        replicas = self.partitions[tp].assignment.replicas
        return None if replicas == target else f"the replicas of {tp} are {list(replicas)}"

    @property
    def _acting(self) -> str:
        return "a controller: there is none" if self.controller is None else f"the controller, node {self.controller}"

    def _away(self, node: int) -> str:
        return "" if node in self.brokers else f": node {node} is not registered"

    def event(self) -> ZkTree:
        """For the history."""
        return ZkTree(
            controller=self.controller,
            controller_owner=hex(self.controller_owner) if self.controller_owner else None,
            epoch=self.epoch,
            brokers=sorted(self.brokers),
            partitions=[_partition_fields(tp, now) for tp, now in sorted(self.partitions.items())],
            deleting=list(self.deleting),
            electing=[str(tp) for tp in self.electing],
            requested={str(tp): list(target) for tp, target in sorted(self.requested.items())},
        )


def _partition_fields(tp: TopicPartition, now: PartitionNow) -> dict[str, object]:
    state = now.state
    return {
        "topic": tp.topic,
        "partition": tp.partition,
        "replicas": list(now.assignment.replicas),
        "adding": list(now.assignment.adding),
        "removing": list(now.assignment.removing),
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
    controller, epoch, electing, request = await _nodes(
        session, [CONTROLLER, CONTROLLER_EPOCH, PREFERRED_ELECTION, REASSIGN_PARTITIONS]
    )
    ids = sorted(id_ for name in await _children(session, BROKER_IDS) if (id_ := broker_of(name)) is not None)
    topics, deleting = await _children(session, TOPICS), await _children(session, DELETE_TOPICS)
    understood = _Understood()
    found = await _nodes(session, [broker_path(b) for b in ids])
    brokers = understood.each(ids, found, lambda broker, node: _broker(broker, node.data, node.stat.czxid))
    found = await _nodes(session, [topic_path(t) for t in topics])
    assigned = {
        TopicPartition(name, number): assignment
        for name, topic in understood.each(topics, found, lambda name, node: _topic(name, node.data)).items()
        for number, assignment in topic.partitions.items()
    }
    tps = sorted(assigned)
    found = await _nodes(session, [state_path(tp) for tp in tps])
    states = understood.each(tps, found, lambda tp, node: _state(tp, node.data, node.stat.version))
    return Tree(
        controller=None if controller is None else decode_controller(controller.data),
        controller_owner=0 if controller is None else controller.stat.ephemeral_owner,
        epoch=0 if epoch is None else decode_controller_epoch(epoch.data),
        brokers=brokers,
        partitions={tp: PartitionNow(assigned[tp], states.get(tp)) for tp in tps},
        deleting=tuple(sorted(deleting)),
        electing=() if electing is None else _asked(electing.data),
        requested={} if request is None else _requested(request.data),
        corrupt=tuple(understood.not_understood),
    )


class _Understood:
    """Reads many znodes; one that is corrupt costs only itself."""

    def __init__(self) -> None:
        self.not_understood: list[str] = []

    def each(self, keys: Sequence[K], nodes: Sequence[Node | None], read: Callable[[K, Node], V]) -> dict[K, V]:
        """Those that are there and can be read, by their keys."""
        values: dict[K, V] = {}
        for key, node in zip(keys, nodes, strict=True):
            if node is not None:
                try:
                    values[key] = read(key, node)
                except CorruptZnodeError as bad:
                    self.not_understood.append(str(bad))
        return values


def _asked(data: bytes) -> tuple[TopicPartition, ...]:
    """What the controller cannot understand, it leaves where it is."""
    try:
        return decode_partitions(data, PREFERRED_ELECTION)
    except CorruptZnodeError:
        return ()


def _requested(data: bytes) -> Mapping[TopicPartition, tuple[int, ...]]:
    try:
        return decode_reassignments(data)
    except CorruptZnodeError:
        return {}


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


def unsettled(tree: Tree, sessions: Mapping[int, int], nodes: Collection[int]) -> str | None:
    """Why what ZooKeeper holds has not settled, or None if it has: the first reason, in words.

    `sessions` maps each running node to the session that ZooKeeper has granted it, `nodes` are all of the cluster. Other
    brokers may be registered too (stub brokers, Kafka's own), of which nothing is known but that they are.
    """
    if tree.corrupt:
        return tree.corrupt[0]
    guests = {broker: 0 for broker in tree.brokers if broker not in nodes}
    checks = (
        _controller_settled,
        _brokers_settled,
        _deletions_settled,
        _elections_settled,
        _reassignments_settled,
        _partitions_settled,
    )
    return next((why for check in checks if (why := check(tree, sessions, guests)) is not None), None)


def _controller_settled(tree: Tree, sessions: Mapping[int, int], guests: Collection[int]) -> str | None:
    if tree.controller in guests:
        return None
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
    if says != [node for node in active if node == tree.controller]:
        return f"nodes that say they are the active controller: {says or 'none'}; /controller names {tree.controller}"
    return _metadata_settled(tree, metadata)


def _brokers_settled(tree: Tree, running: Mapping[int, int], guests: Collection[int]) -> str | None:
    if sorted(tree.brokers) != sorted([*running, *guests]):
        return f"registered are {sorted(tree.brokers)}, running are {sorted(running)}"
    return None


def _deletions_settled(tree: Tree, running: Mapping[int, int], guests: Collection[int]) -> str | None:
    return next((why for topic in tree.deleting if (why := tree.undeleted(topic)) is not None), None)


def _elections_settled(tree: Tree, running: Mapping[int, int], guests: Collection[int]) -> str | None:
    return tree.unelected()


def _reassignments_settled(tree: Tree, running: Mapping[int, int], guests: Collection[int]) -> str | None:
    return next((why for tp in sorted(tree.partitions) if (why := tree.being_reassigned(tp)) is not None), None)


def _partitions_settled(tree: Tree, running: Mapping[int, int], guests: Collection[int]) -> str | None:
    """Where guests have replicas, who is in sync is their own matter."""
    live = [*running, *guests]
    for tp, now in sorted(tree.partitions.items()):
        if now.state is None:
            return f"{tp} has no state yet"
        alive = [replica for replica in now.assignment.replicas if replica in live]
        if not any(replica in live for replica in now.state.isr):
            continue
        if now.state.leader not in live:
            return f"{tp} is led by {now.state.leader}, which is not live"
        if sorted(now.state.isr) != sorted(alive) and not any(replica in guests for replica in alive):
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
    ZooKeeper's, the node's). A partition that no controller has made yet is none, nor one that is being deleted."""
    pairs: list[tuple[str, Any, Any]] = [
        ("controller", tree["controller"], metadata["controller"]),
        ("brokers", tree["brokers"], sorted(int(broker) for broker in metadata["brokers"])),
    ]
    held = {
        f"{now['topic']}-{now['partition']}": now
        for now in tree["partitions"]
        if now["leader"] is not None and now["topic"] not in tree["deleting"]
    }
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
