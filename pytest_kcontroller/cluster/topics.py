"""Makes topics as Kafka's tools do: by writing znodes, which the controller watches (kafka.zk.AdminZkClient.createTopic)."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pytest_kcontroller.cluster.tree import Tree
from pytest_kcontroller.errors import EnvironmentFailure, UsageError
from pytest_kcontroller.hookspecs import AssignmentStrategy
from pytest_kcontroller.model.assignment import AssignableBroker, AssignmentError, AssignmentRequest, rejection
from pytest_kcontroller.model.cluster import Assignment, TopicState
from pytest_kcontroller.model.text import shown
from pytest_kcontroller.model.topic_names import RULE, collide, why_no_topic_name
from pytest_kcontroller.runtime.foreign import NoAnswerError, answer_within
from pytest_kcontroller.zookeeper.session import ConnectionLossError, Create, GetChildren, NodeExistsError, ZkSession
from pytest_kcontroller.zookeeper.znodes import TOPICS, encode_topic, topic_path

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


@dataclass(frozen=True, slots=True)
class Assigned:
    """Partition -> replicas. `bad_answer` says why that of the chosen strategy could not be used: the stock one decided;
    `late`: it gave none in time."""

    replicas: dict[int, tuple[int, ...]]
    by: str
    """The chosen strategy."""
    bad_answer: str | None = None
    late: bool = False


def assign(
    tree: Tree,
    strategy: AssignmentStrategy,
    stock: AssignmentStrategy,
    draw: Callable[[int], int],
    *,
    partitions: int,
    replication_factor: int,
    limit_s: float,
) -> Assigned:
    """Replicas on the registered brokers. A strategy may come from a plugin: an AssignmentError refuses the topic; after
    every other exception, an answer that cannot be used, and `limit_s` of real time without any, `stock` decides.

    Raises AssignmentError."""
    brokers = tuple(AssignableBroker(b.id, b.rack) for _, b in sorted(tree.brokers.items()))
    request = AssignmentRequest(brokers=brokers, partitions=partitions, replication_factor=replication_factor)
    replicas, why, late = dict[int, tuple[int, ...]](), None, False
    try:
        if type(strategy) is type(stock):
            replicas, why = _checked(stock, request, draw)
        else:
            replicas, why = answer_within(limit_s, lambda: _checked(strategy, request, draw))
    except AssignmentError:
        raise
    except NoAnswerError as passed:
        why, late = f"{passed}; it is not asked again", True
    except (Exception, SystemExit) as failed:  # noqa: BLE001 - see above
        why = f"it raised {type(failed).__name__}: {shown(failed, str)}"
    if why is not None:
        replicas, _ = _checked(stock, request, draw)
    return Assigned(replicas, strategy.name, why, late)


def _checked(
    strategy: AssignmentStrategy, request: AssignmentRequest, draw: Callable[[int], int]
) -> tuple[dict[int, tuple[int, ...]], str | None]:
    """The answer, or why it cannot be used."""
    answer = strategy.assign(request, draw)
    if (why := rejection(answer, request)) is not None:
        return {}, why
    return {partition: tuple(replicas) for partition, replicas in sorted(answer.items())}, None


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

    Raises UsageError if the topic exists, or one that collides with it; EnvironmentFailure if ZooKeeper did not answer for
    sure.
    """
    drawn = base64.urlsafe_b64encode(bytes(draw(256) for _ in range(16))).rstrip(b"=").decode()
    topic = TopicState(
        name=name,
        topic_id=drawn if topic_id else None,
        partitions={number: Assignment(tuple(replicas)) for number, replicas in sorted(assignment.items())},
    )
    config = json.dumps({"version": 1, "config": {}}, separators=(",", ":")).encode()
    try:
        await _check_collision(session, name)
        await _create(session, f"/config/topics/{name}", config, exists_ok=True)
        await _create(session, topic_path(name), encode_topic(topic), exists_ok=False)
    except NodeExistsError:
        raise UsageError(f"the topic {name!r} exists already", hint="choose another name") from None
    except ConnectionLossError:
        raise EnvironmentFailure(f"the connection broke while the topic {name!r} was created") from None
    return topic


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
