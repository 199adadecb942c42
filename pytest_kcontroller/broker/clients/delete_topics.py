"""DeleteTopics: the controller is asked to delete topics, and answers when their deletion has started.

It has then told this broker so: they are not in its metadata any more. They are in ZooKeeper until all replicas are deleted.

Sources: kafka.server.KafkaApis.handleDeleteTopicsRequest, kafka.server.ZkAdminManager.deleteTopics (3.9).
"""

from __future__ import annotations

from pytest_kcontroller.broker.clients.refused import RefusedError
from pytest_kcontroller.broker.clients.side import ClientSide
from pytest_kcontroller.broker.clients.znodes import create
from pytest_kcontroller.model.kafka_config import DELETE_TOPIC
from pytest_kcontroller.model.text import shown
from pytest_kcontroller.model.topic_names import is_topic_name
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from pytest_kcontroller.wire.topic_ids import ZERO_TOPIC_ID
from pytest_kcontroller.zookeeper.znodes import delete_topic_path, topic_path

BY_ID = 6
"""From this version on a request may name topics by their ids."""

KNOWS_DISABLED = 3
"""From this version on there is an error for a deletion that is switched off."""


async def handle(side: ClientSide, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    asked = (
        request.topics if request.version >= BY_ID else [DeleteTopicState(name=name) for name in request.topic_names]
    )
    results: list[DeletableTopicResult] = []
    marked: dict[str, DeletableTopicResult] = {}
    for topic in asked:
        result = DeletableTopicResult(name=topic.name, topic_id=topic.topic_id, error_code=int(ErrorCode.NONE))
        results.append(result)
        try:
            name = result.name = _name(side, topic, request.version)
            result.topic_id = side.state.metadata.topic_id(name)
            await _mark(side, name)
            marked[name] = result
        except RefusedError as why:
            _refuse(result, why)
    await side.wait_until(
        lambda: not any(name in side.state.metadata.topics for name in marked), timeout_ms=request.timeout_ms
    )
    for name, result in marked.items():
        if request.timeout_ms <= 0 or name in side.state.metadata.topics:
            _refuse(result, RefusedError(ErrorCode.REQUEST_TIMED_OUT))
    return DeleteTopicsResponse(responses=results)


def _name(side: ClientSide, asked: DeleteTopicState, version: int) -> str:
    """Raises RefusedError."""
    if not side.active():
        raise RefusedError(ErrorCode.NOT_CONTROLLER)
    if not DELETE_TOPIC.of(side.config):
        error = ErrorCode.TOPIC_DELETION_DISABLED if version >= KNOWS_DISABLED else ErrorCode.INVALID_REQUEST
        raise RefusedError(error, "Topic deletion is disabled.")
    if asked.name is None:
        name = side.state.metadata.topic_of_id(asked.topic_id)
        if name is None:
            raise RefusedError(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
        return name
    if asked.topic_id != ZERO_TOPIC_ID:
        raise RefusedError(ErrorCode.INVALID_REQUEST, "Topic name and topic ID can not both be specified.")
    if not is_topic_name(asked.name):
        raise RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{shown(asked.name)} is no name of a topic")
    return asked.name


async def _mark(side: ClientSide, name: str) -> None:
    """One that is marked already is waited for as well, however often it is asked for. Raises RefusedError."""
    store = side.session_store()
    if await store.exists(topic_path(name)) is None:
        raise RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
    await create(store, delete_topic_path(name))


def _refuse(result: DeletableTopicResult, why: RefusedError) -> None:
    result.error_code, result.error_message = int(why.error), why.message
