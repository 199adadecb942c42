"""Reassignments as Kafka's tools ask for them (kafka.admin.ReassignPartitionsCommand): before Kafka 2.4 by writing
/admin/reassign_partitions, which the controller watches until 3.9; since then by a request, which it answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_kcontroller.cluster.tree import Tree
from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from pytest_kcontroller.zookeeper.session import (
    BadVersionError,
    Create,
    GetData,
    Node,
    NodeExistsError,
    NoNodeError,
    SetData,
    ZkSession,
)
from pytest_kcontroller.zookeeper.znodes import REASSIGN_PARTITIONS, decode_reassignments, encode_reassignments

Targets = Mapping[TopicPartition, tuple[int, ...]]


def partitions_of(tree: Tree, topic: str, partition: int | None) -> list[TopicPartition]:
    """That one, or all of the topic. Raises UsageError if there is none."""
    there = sorted(tp for tp in tree.partitions if tp.topic == topic)
    if not there:
        raise UsageError(f"there is no topic {topic!r}", hint="what exists: the znodes below /brokers/topics")
    if partition is None:
        return there
    if (wanted := TopicPartition(topic, partition)) not in there:
        raise UsageError(f"the topic {topic!r} has no partition {partition}", hint=f"it has {len(there)}, from 0 on")
    return [wanted]


def why_no_replicas(replicas: Sequence[int], nodes: Sequence[int]) -> str | None:
    """Why these can be no partition's replicas."""
    if not replicas:
        return "a partition has one replica at least"
    if len(dict.fromkeys(replicas)) < len(replicas):
        return f"{list(replicas)} names a node twice"
    strangers = [node for node in replicas if node not in nodes]
    return f"there is no node {strangers[0]}" if strangers else None


def origins(tree: Tree, tps: Sequence[TopicPartition]) -> dict[TopicPartition, tuple[int, ...]]:
    """Where those of `tps` began that are being reassigned: asked for that, the controller cancels.

    Raises UsageError if there is none.
    """
    found = {tp: tree.partitions[tp].assignment for tp in tps}
    under_way = {tp: assignment.origin for tp, assignment in found.items() if assignment.reassigning}
    if not under_way:
        names = ", ".join(map(str, tps))
        raise UsageError(f"no reassignment of {names} is in progress", hint="it may have ended already")
    return under_way


async def request_reassignment(session: ZkSession, targets: Targets) -> None:
    """Adds them to what is requested already; one of a partition that is there is replaced."""
    while True:
        try:
            node = await session.submit(GetData(REASSIGN_PARTITIONS))
        except NoNodeError:
            node = None
        try:
            if isinstance(node, Node):
                data = encode_reassignments({**decode_reassignments(node.data), **targets})
                await session.submit(SetData(REASSIGN_PARTITIONS, data, node.stat.version))
            else:
                await session.submit(Create(REASSIGN_PARTITIONS, encode_reassignments(targets)))
        except (NodeExistsError, NoNodeError, BadVersionError):
            continue  # somebody was faster
        return


def request_of(targets: Mapping[TopicPartition, tuple[int, ...] | None]) -> AlterPartitionReassignmentsRequest:
    """Other replicas for these partitions; None: as before."""
    topics: dict[str, list[ReassignablePartition]] = {}
    for tp, replicas in targets.items():
        topics.setdefault(tp.topic, []).append(ReassignablePartition(partition_index=tp.partition, replicas=replicas))
    return AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name=name, partitions=partitions) for name, partitions in topics.items()]
    )


def check_answer(answer: AlterPartitionReassignmentsResponse) -> None:
    """Raises UsageError if nothing of what was asked for has begun."""
    results = [(topic.name, partition) for topic in answer.responses for partition in topic.partitions]
    if any(partition.error_code == ErrorCode.NONE for _, partition in results):
        return
    why = f"error {answer.error_code}"
    if results:
        name, first = results[0]
        why = f"{name}-{first.partition_index}: {first.error_message or f'error {first.error_code}'}"
    raise UsageError(f"the controller has refused it: {why}", hint="what is asked for has to be possible now")
