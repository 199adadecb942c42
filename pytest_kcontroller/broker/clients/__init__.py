"""What Kafka's clients and tools ask of a broker. One module for each request: `handle` answers it.

A new request is a line in HANDLERS besides its module; its messages come from two files in wire/schemas. What only the
controller can answer is an event of it (controller/events).

side     what a broker has for them: the session, the controller's state, the addresses that clients are told
configs  which settings there are, and where their values come from
znodes   how what they ask for is written
refused  why it is not
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from pytest_kcontroller.broker.clients import (
    create_partitions,
    create_topics,
    delete_topics,
    describe_cluster,
    describe_configs,
    incremental_alter_configs,
    metadata,
)
from pytest_kcontroller.broker.clients.refused import NoSessionError
from pytest_kcontroller.broker.clients.side import ClientSide
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.message import Response
from pytest_kcontroller.wire.messages import APIS, ApiKey
from pytest_kcontroller.wire.refusals import refusal
from pytest_kcontroller.wire.server import Handler
from pytest_kcontroller.zookeeper.session import SessionExpiredError

HANDLERS: Mapping[ApiKey, Callable[[ClientSide, Any], Awaitable[Response]]] = {
    ApiKey.METADATA: metadata.handle,
    ApiKey.CREATE_TOPICS: create_topics.handle,
    ApiKey.DELETE_TOPICS: delete_topics.handle,
    ApiKey.DESCRIBE_CONFIGS: describe_configs.handle,
    ApiKey.CREATE_PARTITIONS: create_partitions.handle,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: incremental_alter_configs.handle,
    ApiKey.DESCRIBE_CLUSTER: describe_cluster.handle,
}

OF_CONTROLLER: tuple[ApiKey, ...] = (
    ApiKey.CONTROLLED_SHUTDOWN,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.ELECT_LEADERS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.ALTER_PARTITION,
    ApiKey.ALLOCATE_PRODUCER_IDS,
)
"""What any other node answers with NOT_CONTROLLER."""


def handlers_of(side: ClientSide) -> Mapping[int, Handler]:
    """For wire.server.serve."""
    return {key: partial(_answer, handle, side) for key, handle in HANDLERS.items()}


async def _answer(handle: Callable[[ClientSide, Any], Awaitable[Response]], side: ClientSide, request: Any) -> Response:
    """NOT_CONTROLLER if there is no ZooKeeper session, or it ends meanwhile: then this node is not the controller either."""
    try:
        return await handle(side, request)
    except (NoSessionError, SessionExpiredError):
        return refusal(APIS[request.API_KEY].response, ErrorCode.NOT_CONTROLLER)
