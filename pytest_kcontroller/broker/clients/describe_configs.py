"""DescribeConfigs: the settings of topics and of this broker, and of all brokers (the broker without a name).

Sources: kafka.server.ConfigHelper.describeConfigs (3.9), KIP-133, KIP-226.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_kcontroller.broker.clients.configs import (
    Entry,
    Resource,
    Source,
    broker_entries,
    common_entries,
    topic_entries,
)
from pytest_kcontroller.broker.clients.refused import RefusedError
from pytest_kcontroller.broker.clients.side import ClientSide
from pytest_kcontroller.model.text import shown
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from pytest_kcontroller.zookeeper.config_znodes import (
    BROKER_CONFIGS,
    DEFAULT,
    TOPIC_CONFIGS,
    config_path,
    decode_config,
)
from pytest_kcontroller.zookeeper.znodes import CorruptZnodeError


async def handle(side: ClientSide, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    results: list[DescribeConfigsResult] = []
    for asked in request.resources:
        result = DescribeConfigsResult(
            error_code=int(ErrorCode.NONE),
            error_message=None,
            resource_type=asked.resource_type,
            resource_name=asked.resource_name,
            configs=[],
        )
        try:
            entries = await _entries(side, asked)
        except RefusedError as why:
            result.error_code, result.error_message = int(why.error), why.message
        else:
            wanted = [each for each in entries if not asked.configuration_keys or each.name in asked.configuration_keys]
            result.configs = [_shown(entry, request) for entry in wanted]
        results.append(result)
    return DescribeConfigsResponse(throttle_time_ms=0, results=results)


async def _entries(side: ClientSide, asked: DescribeConfigsResource) -> Sequence[Entry]:
    """Raises RefusedError."""
    name = asked.resource_name
    if asked.resource_type == Resource.TOPIC:
        if name not in side.state.metadata.topics:
            raise RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {shown(name)}")
        of_topic, own, common = await _read(side, config_path(TOPIC_CONFIGS, name), *_of_broker(side))
        return topic_entries(side.config, of_topic, own, common)
    if asked.resource_type != Resource.BROKER:
        raise RefusedError(ErrorCode.INVALID_REQUEST, f"Unsupported resource type: {asked.resource_type}")
    own, common = await _read(side, *_of_broker(side))
    if not name:
        return common_entries(common)
    check_own(side, name)
    return broker_entries(side.config, own, common)


def check_own(side: ClientSide, name: str) -> None:
    """A broker knows its own settings. Raises RefusedError."""
    if name != str(side.state.broker):
        raise RefusedError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {side.state.broker} or empty string, but received {shown(name, str)}",
        )


def _of_broker(side: ClientSide) -> tuple[str, str]:
    return config_path(BROKER_CONFIGS, str(side.state.broker)), config_path(BROKER_CONFIGS, DEFAULT)


async def _read(side: ClientSide, *paths: str) -> list[dict[str, str]]:
    """What is configured at each path. Raises RefusedError."""
    nodes = await side.session_store().get_many(paths)
    try:
        return [{} if node is None else decode_config(node.data, path) for path, node in zip(paths, nodes, strict=True)]
    except CorruptZnodeError as bad:
        raise RefusedError(ErrorCode.UNKNOWN_SERVER_ERROR, str(bad)) from None


def _shown(entry: Entry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = entry.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=not entry.setting.dynamic,
        is_default=entry.source is Source.DEFAULT,
        config_source=int(entry.source),
        is_sensitive=False,
        synonyms=[
            DescribeConfigsSynonym(name=entry.name, value=value, source=int(source)) for value, source in synonyms
        ],
        config_type=int(entry.type),
        documentation=entry.setting.help if request.include_documentation else None,
    )
