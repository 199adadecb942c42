"""Topics as Kafka's tools make them and ask for their deletion: by writing znodes, which the controller watches
(kafka.zk.AdminZkClient).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.model.assignment import AssignableBroker, AssignmentRequest, rejection
from pytest_kcontroller.model.cluster import Assignment, TopicState
from pytest_kcontroller.model.text import shown
from pytest_kcontroller.model.topic_names import RULE, collide, why_no_topic_name
from pytest_kcontroller.zookeeper.config_znodes import TOPIC_CONFIGS, config_path, encode_config
from pytest_kcontroller.zookeeper.session import (
    BadVersionError,
    Create,
    Exists,
    GetChildren,
    GetData,
    Node,
    NodeExistsError,
    NoNodeError,
    SetData,
    ZkSession,
)
from pytest_kcontroller.zookeeper.znodes import TOPICS, decode_topic, delete_topic_path, encode_topic, topic_path

MOST_PARTITIONS = 10_000
"""Of one topic, as in campaign files."""


def check_topic(
    name: object,
    partitions: object,
    replication_factor: object,
    assignment: Mapping[int, Sequence[int]] | None,
    nodes: Sequence[int],
) -> None:
    """Kafka's rules for a topic that is to be made (AdminZkClient.validateTopicCreate), on a cluster of `nodes`. Raises
    UsageError."""
    if (why := why_no_topic_name(name)) is not None:
        raise UsageError(why, hint=RULE)
    for what, number, most in (
        ("partitions", partitions, MOST_PARTITIONS),
        ("replication_factor", replication_factor, len(nodes)),
    ):
        if type(number) is not int or not 1 <= number <= most:
            raise UsageError(f"{what}={shown(number)} of the topic {name!r}", hint=f"a whole number, 1 to {most}")
    if assignment is not None and (wrong := _wrong_assignment(assignment, nodes)) is not None:
        raise UsageError(
            f"the assignment of the topic {name!r}: {wrong}",
            hint="partition -> ids of nodes: {0: (0, 1), 1: (1, 2)}, numbered from 0, equally many for each",
        )


def _wrong_assignment(assignment: object, nodes: Sequence[int]) -> str | None:
    if not isinstance(assignment, Mapping) or not assignment:
        return f"{shown(assignment)} places no partition"
    first = next(iter(assignment.values()))
    if not isinstance(first, list | tuple) or not first:
        return f"partition {shown(next(iter(assignment)))} has no replicas: {shown(first)}"
    brokers = tuple(AssignableBroker(node) for node in nodes)
    return rejection(
        assignment, AssignmentRequest(brokers=brokers, partitions=len(assignment), replication_factor=len(first))
    )


async def write_topic(
    session: ZkSession,
    name: str,
    assignment: Mapping[int, Sequence[int]],
    draw: Callable[[int], int],
    *,
    topic_id: bool = True,
) -> TopicState:
    """The config first, then the topic, so that whoever sees the topic finds its config. Without `topic_id` it is one from
    a tool before Kafka 2.8 (KIP-516): the controller gives it an id.

    Raises UsageError if the topic exists, one that collides with it, or one of this name that is being deleted.
    """
    drawn = base64.urlsafe_b64encode(bytes(draw(256) for _ in range(16))).rstrip(b"=").decode()
    topic = TopicState(
        name=name,
        topic_id=drawn if topic_id else None,
        partitions={number: Assignment(tuple(replicas)) for number, replicas in sorted(assignment.items())},
    )
    try:
        await _check_collision(session, name)
        await _check_deletion(session, name)
        await _create(session, config_path(TOPIC_CONFIGS, name), encode_config({}), exists_ok=True)
        await _create(session, topic_path(name), encode_topic(topic), exists_ok=False)
    except NodeExistsError:
        raise UsageError(f"the topic {name!r} exists already", hint="choose another name") from None
    return topic


async def read_topic(session: ZkSession, name: str) -> tuple[TopicState, int]:
    """With the version of its znode. Raises UsageError if there is none, or if it is being deleted; CorruptZnodeError."""
    try:
        node = await session.submit(GetData(topic_path(name)))
    except NoNodeError:
        raise UsageError(f"there is no topic {name!r}", hint="what exists: the znodes below /brokers/topics") from None
    await _check_deletion(session, name)
    assert isinstance(node, Node)
    return decode_topic(name, node.data), node.stat.version


def added_to(topic: TopicState, brokers: tuple[AssignableBroker, ...], partitions: int) -> AssignmentRequest:
    """So many more partitions, placed as if they had been made with the first ones.

    Raises UsageError: the topic has no partition 0. Source: kafka.zk.AdminZkClient.createNewPartitionsAssignment."""
    if 0 not in topic.partitions:
        raise UsageError(f"the topic {topic.name!r} has no partition 0, by which new ones are placed")
    first = topic.partitions[0].replicas
    index = next((at for at, broker in enumerate(brokers) if first and broker.id >= first[0]), 0)
    return AssignmentRequest(
        brokers=brokers,
        partitions=partitions,
        replication_factor=len(first),
        start_index=index,
        first_partition=len(topic.partitions),
    )


def check_added(topic: TopicState, assignment: Mapping[int, Sequence[int]], nodes: Sequence[int]) -> None:
    """Kafka's rules for partitions that are to be added. Raises UsageError."""
    if any(assigned.adding or assigned.removing for assigned in topic.partitions.values()):
        raise UsageError(f"the topic {topic.name!r} is being reassigned", hint="wait until that is done, or cancel it")
    first = topic.partitions[0].replicas if 0 in topic.partitions else ()
    request = AssignmentRequest(
        brokers=tuple(AssignableBroker(node) for node in nodes),
        partitions=len(assignment) if isinstance(assignment, Mapping) else 0,
        replication_factor=len(first),
        first_partition=len(topic.partitions),
    )
    wrong = rejection(assignment, request) if assignment else "there are none"
    if wrong is not None:
        raise UsageError(
            f"partitions for the topic {topic.name!r}: {wrong}",
            hint=f"numbered from {len(topic.partitions)} on, each with {len(first)} replicas",
        )


async def extend_topic(
    session: ZkSession, *, topic: TopicState, version: int, assignment: Mapping[int, Sequence[int]]
) -> None:
    """Raises UsageError if the topic's znode is not of this version any more."""
    added = {number: Assignment(tuple(replicas)) for number, replicas in sorted(assignment.items())}
    try:
        whole = replace(topic, partitions=topic.partitions | added)
        await session.submit(SetData(topic_path(topic.name), encode_topic(whole), version))
    except (BadVersionError, NoNodeError):
        raise UsageError(f"the topic {topic.name!r} has been changed meanwhile", hint="ask again") from None


async def mark_deleted(session: ZkSession, name: str) -> None:
    """Asks the controller to delete a topic (kafka.zk.AdminZkClient.deleteTopic). Raises UsageError if there is none, or if
    it has been asked already."""
    if await session.submit(Exists(topic_path(name))) is None:
        raise UsageError(f"there is no topic {name!r}", hint="what exists: the znodes below /brokers/topics")
    try:
        await session.submit(Create(delete_topic_path(name)))
    except NodeExistsError:
        raise UsageError(f"the topic {name!r} is being deleted already", hint="wait until it is gone") from None


async def _check_deletion(session: ZkSession, name: str) -> None:
    """Kafka 3.1 and newer: what is still being deleted exists."""
    if await session.submit(Exists(delete_topic_path(name))) is not None:
        raise UsageError(f"the topic {name!r} is being deleted", hint="wait until it is gone, or choose another name")


async def _check_collision(session: ZkSession, name: str) -> None:
    if not {".", "_"} & set(name):
        return
    there = getattr(await session.submit(GetChildren(TOPICS)), "names", ())
    if other := next((topic for topic in there if collide(name, topic)), None):
        raise UsageError(
            f"the topic {name!r} collides with {other!r}: in Kafka's metrics `.` and `_` are one",
            hint="choose another name",
        )


async def _create(session: ZkSession, path: str, data: bytes, *, exists_ok: bool) -> None:
    try:
        await session.submit(Create(path, data))
    except NodeExistsError:
        if not exists_ok:
            raise
