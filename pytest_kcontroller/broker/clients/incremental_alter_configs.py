"""IncrementalAlterConfigs: settings of topics and brokers are changed one by one (KIP-339).

Written are the configuration and a notification, by which the controller learns of it.

Sources: kafka.server.ZkAdminManager.incrementalAlterConfigs, kafka.zk.AdminZkClient.changeConfigs (3.9).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import IntEnum

from pytest_kcontroller.broker.clients.configs import Resource, check_broker_config, check_topic_config
from pytest_kcontroller.broker.clients.describe_configs import check_own
from pytest_kcontroller.broker.clients.refused import RefusedError
from pytest_kcontroller.broker.clients.side import ClientSide
from pytest_kcontroller.broker.clients.znodes import change, notify
from pytest_kcontroller.model.text import shown
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from pytest_kcontroller.zookeeper.config_znodes import (
    BROKER_CONFIGS,
    CONFIG_CHANGE_PREFIX,
    DEFAULT,
    TOPIC_CONFIGS,
    config_path,
    decode_config,
    encode_config,
    encode_config_change,
)
from pytest_kcontroller.zookeeper.session import Node
from pytest_kcontroller.zookeeper.znodes import CorruptZnodeError, topic_path


class Operation(IntEnum):
    """org.apache.kafka.clients.admin.AlterConfigOp.OpType; those of lists there is nothing for."""

    SET = 0
    DELETE = 1


async def handle(side: ClientSide, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
    counts = Counter((each.resource_type, each.resource_name) for each in request.resources)
    responses: list[AlterConfigsResourceResponse] = []
    for asked in request.resources:
        response = AlterConfigsResourceResponse(
            error_code=int(ErrorCode.NONE),
            error_message=None,
            resource_type=asked.resource_type,
            resource_name=asked.resource_name,
        )
        try:
            if counts[asked.resource_type, asked.resource_name] > 1:
                raise RefusedError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once")
            await _alter(side, asked, write=not request.validate_only)
        except RefusedError as why:
            response.error_code, response.error_message = int(why.error), why.message
        responses.append(response)
    return IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=responses)


async def _alter(side: ClientSide, asked: AlterConfigsResource, *, write: bool) -> None:
    """Raises RefusedError."""
    _check_operations(asked.configs)
    kind, name = await _entity(side, asked)
    check = check_topic_config if kind == TOPIC_CONFIGS else check_broker_config
    path = config_path(kind, name)

    def changed(there: Node | None) -> bytes:
        try:
            values = {} if there is None else decode_config(there.data, path)
        except CorruptZnodeError as bad:
            raise RefusedError(ErrorCode.UNKNOWN_SERVER_ERROR, str(bad)) from None
        check({each.name: str(each.value) for each in asked.configs if each.config_operation == Operation.SET})
        for each in asked.configs:
            if each.config_operation == Operation.SET:
                values[each.name] = str(each.value)
            else:
                values.pop(each.name, None)
        return encode_config(values)

    store = side.session_store()
    if not write:
        changed(await store.get(path))
        return
    await change(store, path, changed)
    await notify(store, CONFIG_CHANGE_PREFIX, encode_config_change(kind, name))
    wanted = {each.name: each.value if each.config_operation == Operation.SET else None for each in asked.configs}
    side.answered("IncrementalAlterConfigs", path, **wanted)


def _check_operations(configs: Sequence[AlterableConfig]) -> None:
    names = [each.name for each in configs]
    if len(dict.fromkeys(names)) != len(names):
        raise RefusedError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    for each in configs:
        if each.config_operation not in list(Operation):
            raise RefusedError(
                ErrorCode.INVALID_REQUEST,
                f"the operation {each.config_operation} on {shown(each.name, str)}: 0 sets, 1 deletes; there are no lists",
            )
        if each.config_operation == Operation.SET and each.value is None:
            raise RefusedError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {shown(each.name, str)}")


async def _entity(side: ClientSide, asked: AlterConfigsResource) -> tuple[str, str]:
    """The kind and name of its configuration in ZooKeeper. Raises RefusedError."""
    name = asked.resource_name
    if asked.resource_type == Resource.TOPIC:
        known = name in side.state.metadata.topics
        if not known or await side.session_store().exists(topic_path(name)) is None:
            raise RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{shown(name, str)}' does not exist.")
        return TOPIC_CONFIGS, name
    if asked.resource_type != Resource.BROKER:
        raise RefusedError(ErrorCode.INVALID_REQUEST, f"Unsupported resource type: {asked.resource_type}")
    if not name:
        return BROKER_CONFIGS, DEFAULT
    check_own(side, name)
    return BROKER_CONFIGS, name
