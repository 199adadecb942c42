"""CreatePartitions: topics get more partitions, and the controller answers when those are led.

Sources: kafka.server.KafkaApis.handleCreatePartitionsRequest, kafka.server.ZkAdminManager.createPartitions,
kafka.zk.AdminZkClient.createNewPartitionsAssignment (3.9).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from pytest_kcontroller.broker.clients.create_topics import MOST_PARTITIONS
from pytest_kcontroller.broker.clients.refused import RefusedError
from pytest_kcontroller.broker.clients.side import ClientSide
from pytest_kcontroller.broker.clients.znodes import change
from pytest_kcontroller.model.assignment import AssignmentError
from pytest_kcontroller.model.cluster import Assignment, TopicPartition, TopicState
from pytest_kcontroller.model.new_partitions import check_added_replicas, request_of_added
from pytest_kcontroller.model.text import shown
from pytest_kcontroller.model.topic_names import is_topic_name
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from pytest_kcontroller.zookeeper.session import Node
from pytest_kcontroller.zookeeper.znodes import (
    CorruptZnodeError,
    decode_topic,
    delete_topic_path,
    encode_topic,
    topic_path,
)

Replicas = dict[int, tuple[int, ...]]


async def handle(side: ClientSide, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    counts = Counter(topic.name for topic in request.topics)
    results: dict[str, RefusedError | None] = {}
    added: list[TopicPartition] = []
    for topic in request.topics:
        if topic.name in results:
            continue
        try:
            if not side.active():
                raise RefusedError(ErrorCode.NOT_CONTROLLER)
            if counts[topic.name] > 1:
                raise RefusedError(ErrorCode.INVALID_REQUEST, "Duplicate topic in request.")
            numbers = await _add(side, topic, write=not request.validate_only)
            added += [TopicPartition(topic.name, number) for number in numbers]
            results[topic.name] = None
        except AssignmentError as why:
            results[topic.name] = RefusedError.of(why)
        except RefusedError as why:
            results[topic.name] = why
    if not request.validate_only:
        for name in await _not_led(side, added, request.timeout_ms):
            results[name] = RefusedError(ErrorCode.REQUEST_TIMED_OUT)
        for topic in request.topics:
            if results[topic.name] is None:
                side.answered("CreatePartitions", topic_path(topic.name), partitions=topic.count)
    return CreatePartitionsResponse(
        throttle_time_ms=0,
        results=[
            CreatePartitionsTopicResult(
                name=name,
                error_code=int(ErrorCode.NONE if why is None else why.error),
                error_message=None if why is None else why.message,
            )
            for name, why in results.items()
        ],
    )


async def _add(side: ClientSide, asked: CreatePartitionsTopic, *, write: bool) -> Replicas:
    """Raises RefusedError and AssignmentError."""
    if not is_topic_name(asked.name):
        raise RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{shown(asked.name)} is no name of a topic")
    store, path, added = side.session_store(), topic_path(asked.name), Replicas()
    if await store.exists(delete_topic_path(asked.name)) is not None:
        raise RefusedError(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic is queued for deletion.")

    def larger(there: Node | None) -> bytes:
        nonlocal added
        topic = _read(asked.name, there)
        if added and all(number in topic.partitions for number in added):
            return b"" if there is None else there.data  # the answer to our write was lost, not the write
        added = _placed(side, asked, topic)
        new = {number: Assignment(replicas) for number, replicas in added.items()}
        return encode_topic(replace(topic, partitions=topic.partitions | new))

    if write:
        await change(store, path, larger)
    else:
        larger(await store.get(path))
    return added


def _read(name: str, there: Node | None) -> TopicState:
    """Raises RefusedError."""
    if there is None:
        raise RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    try:
        topic = decode_topic(name, there.data)
    except CorruptZnodeError as bad:
        raise RefusedError(ErrorCode.UNKNOWN_SERVER_ERROR, str(bad)) from None
    if any(each.adding or each.removing for each in topic.partitions.values()):
        raise RefusedError(
            ErrorCode.REASSIGNMENT_IN_PROGRESS, f"A partition reassignment is in progress for the topic '{name}'."
        )
    return topic


def _placed(side: ClientSide, asked: CreatePartitionsTopic, topic: TopicState) -> Replicas:
    """The partitions that are added. Raises RefusedError and AssignmentError."""
    existing = {number: each.replicas for number, each in topic.partitions.items()}
    more = asked.count - len(existing)
    if more < 0:
        raise RefusedError(
            ErrorCode.INVALID_PARTITIONS,
            f"Topic currently has {len(existing)} partitions, which is higher than the requested {asked.count}.",
        )
    if more == 0:
        raise RefusedError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {len(existing)} partitions.")
    if asked.count > MOST_PARTITIONS:
        raise RefusedError(ErrorCode.INVALID_PARTITIONS, f"{asked.count} partitions do not fit into a znode")
    brokers = side.assignable()
    if asked.assignments is None:
        return dict(side.assign(asked.name, request_of_added(existing, asked.count, brokers)))
    ids = [broker.id for broker in brokers]
    chosen = [tuple(each.broker_ids) for each in asked.assignments]
    if unknown := sorted({broker for replicas in chosen for broker in replicas if broker not in ids}):
        raise RefusedError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Unknown broker(s) in replica assignment: {', '.join(map(str, unknown))}.",
        )
    if len(chosen) != more:
        raise RefusedError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Increasing the number of partitions by {more} but {len(chosen)} assignments provided.",
        )
    added = dict(enumerate(chosen, start=len(existing)))
    check_added_replicas(existing, added, asked.count, ids)
    return added


async def _not_led(side: ClientSide, added: list[TopicPartition], timeout_ms: int) -> list[str]:
    """Topics of which a new partition has no leader, as far as this broker has been told, after that time."""
    leader = side.state.metadata.leader
    if timeout_ms > 0:
        await side.wait_until(lambda: all(leader(tp) is not None for tp in added), timeout_ms=timeout_ms)
    return list(dict.fromkeys(tp.topic for tp in added if timeout_ms <= 0 or leader(tp) is None))
