"""CreateTopics: the controller makes topics, and answers when they are led.

Sources: kafka.server.KafkaApis.handleCreateTopicsRequest, kafka.server.ZkAdminManager.createTopics,
kafka.zk.AdminZkClient.validateTopicCreate, createTopicWithAssignment (3.9).
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_kcontroller.broker.clients.configs import check_topic_config, topic_entries
from pytest_kcontroller.broker.clients.refused import RefusedError
from pytest_kcontroller.broker.clients.side import ClientSide
from pytest_kcontroller.broker.clients.znodes import change, create
from pytest_kcontroller.model.assignment import AssignmentError, AssignmentRequest
from pytest_kcontroller.model.cluster import Assignment, TopicPartition, TopicState
from pytest_kcontroller.model.kafka_config import DEFAULT_REPLICATION_FACTOR, NUM_PARTITIONS
from pytest_kcontroller.model.new_partitions import (
    TopicExistsError,
    check_new_topic,
    check_replicas,
)
from pytest_kcontroller.model.text import shown
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from pytest_kcontroller.wire.topic_ids import topic_uuid
from pytest_kcontroller.zookeeper.config_znodes import TOPIC_CONFIGS, config_path, encode_config
from pytest_kcontroller.zookeeper.store import Store
from pytest_kcontroller.zookeeper.znodes import DELETE_TOPICS, TOPICS, encode_topic, topic_path

BY_DEFAULT = -1
"""Of the number of partitions or replicas: as the broker is configured, or as the assignment says."""
MOST_PARTITIONS = 100_000
"""More do not fit into a topic's znode."""


@dataclass(frozen=True, slots=True)
class _Plan:
    topic: TopicState
    config: dict[str, str]


async def handle(side: ClientSide, request: CreateTopicsRequest) -> CreateTopicsResponse:
    counts = Counter(topic.name for topic in request.topics)
    asked = {topic.name: topic for topic in request.topics}
    if not side.active():
        return _response([_refused(name, RefusedError(ErrorCode.NOT_CONTROLLER)) for name in asked])
    made: dict[str, _Plan] = {}
    results: dict[str, CreatableTopicResult] = {}
    for name, topic in asked.items():
        try:
            if counts[name] > 1:
                raise RefusedError(ErrorCode.INVALID_REQUEST, "Found multiple entries for this topic.")
            plan = await _planned(side, topic)
            if not request.validate_only:
                await _write(side.session_store(), plan)
                made[name] = plan
            results[name] = _done(side, plan, with_id=not request.validate_only)
        except AssignmentError as why:
            results[name] = _refused(name, RefusedError.of(why))
        except RefusedError as why:
            results[name] = _refused(name, why)
    for name in await _not_led(side, made, request.timeout_ms):
        del made[name]
        results[name] = _refused(name, RefusedError(ErrorCode.REQUEST_TIMED_OUT))
    for name, plan in made.items():
        holds = {"topic_id": plan.topic.topic_id, "partitions": len(plan.topic.partitions)}
        side.answered("CreateTopics", topic_path(name), **holds)
    return _response([results[name] for name in asked])


async def _planned(side: ClientSide, asked: CreatableTopic) -> _Plan:
    """Kafka's checks, in Kafka's order. Raises RefusedError and AssignmentError."""
    name = asked.name
    if name in side.state.metadata.topics:
        raise TopicExistsError(f"the topic {name!r} exists already")
    if nulls := [config.name for config in asked.configs if config.value is None]:
        raise RefusedError(
            ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {', '.join(map(shown, nulls))}"
        )
    assignment = _assigned(side, asked)
    store = side.session_store()
    there, marked = await store.children(TOPICS), await store.children(DELETE_TOPICS)
    check_new_topic(name, there.names if there else (), marked.names if marked else ())
    check_replicas(assignment)
    config = {each.name: str(each.value) for each in asked.configs}
    check_topic_config(config)
    partitions = {number: Assignment(tuple(replicas)) for number, replicas in sorted(assignment.items())}
    return _Plan(TopicState(name=name, topic_id=_new_id(side), partitions=partitions), config)


def _assigned(side: ClientSide, asked: CreatableTopic) -> dict[int, tuple[int, ...]]:
    partitions, replicas = asked.num_partitions, asked.replication_factor
    if asked.assignments:
        if (partitions, replicas) != (BY_DEFAULT, BY_DEFAULT):
            raise RefusedError(
                ErrorCode.INVALID_REQUEST,
                "Both numPartitions or replicationFactor and replicasAssignments were set. Both cannot be used at the "
                "same time.",
            )
        return _chosen(asked)
    partitions = NUM_PARTITIONS.of(side.config) if partitions == BY_DEFAULT else partitions
    replicas = DEFAULT_REPLICATION_FACTOR.of(side.config) if replicas == BY_DEFAULT else replicas
    if partitions > MOST_PARTITIONS:
        raise RefusedError(ErrorCode.INVALID_PARTITIONS, f"{partitions} partitions do not fit into a znode")
    request = AssignmentRequest(brokers=side.assignable(), partitions=partitions, replication_factor=replicas)
    return dict(side.assign(asked.name, request))


def _chosen(asked: CreatableTopic) -> dict[int, tuple[int, ...]]:
    """As in Kafka, brokers need not be registered; partitions wait for them."""
    numbers = [each.partition_index for each in asked.assignments]
    if len(dict.fromkeys(numbers)) != len(numbers):
        raise RefusedError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "a partition is assigned twice")
    if wrong := [each.partition_index for each in asked.assignments if any(broker < 0 for broker in each.broker_ids)]:
        raise RefusedError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"partition {wrong[0]} is on a broker below 0")
    return {each.partition_index: tuple(each.broker_ids) for each in asked.assignments}


def _new_id(side: ClientSide) -> str:
    return base64.urlsafe_b64encode(bytes(side.draw(256) for _ in range(16))).rstrip(b"=").decode()


async def _write(store: Store, plan: _Plan) -> None:
    """The config first, so that whoever sees the topic finds it; not both at once, as in Kafka."""
    name = plan.topic.name
    await change(store, config_path(TOPIC_CONFIGS, name), lambda _: encode_config(plan.config))
    if not await create(store, topic_path(name), encode_topic(plan.topic)):
        raise RefusedError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")


async def _not_led(side: ClientSide, made: dict[str, _Plan], timeout_ms: int) -> list[str]:
    """The topics of which some partition has no leader, as far as this broker has been told, after that time."""
    cache = side.state.metadata

    def without() -> list[str]:
        return [
            name
            for name, plan in made.items()
            if any(cache.leader(TopicPartition(name, number)) is None for number in plan.topic.partitions)
        ]

    if timeout_ms <= 0:
        return list(made)
    await side.wait_until(lambda: not without(), timeout_ms=timeout_ms)
    return without()


def _done(side: ClientSide, plan: _Plan, *, with_id: bool) -> CreatableTopicResult:
    partitions = plan.topic.partitions
    return CreatableTopicResult(
        name=plan.topic.name,
        topic_id=topic_uuid(plan.topic.topic_id if with_id else None),
        error_code=int(ErrorCode.NONE),
        num_partitions=len(partitions),
        replication_factor=len(partitions[0].replicas),
        configs=[
            CreatableTopicConfigs(
                name=entry.name,
                value=entry.value,
                read_only=False,
                config_source=entry.source,
                is_sensitive=False,
            )
            for entry in topic_entries(side.config, plan.config)
        ],
    )


def _refused(name: str, why: RefusedError) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=int(why.error), error_message=why.message)


def _response(results: Sequence[CreatableTopicResult]) -> CreateTopicsResponse:
    return CreateTopicsResponse(topics=list(results))
