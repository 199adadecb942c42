"""Metadata: brokers, the controller, and who leads what, as the newest controller said.

Sources: kafka.server.KafkaApis.handleTopicMetadataRequest, kafka.server.metadata.ZkMetadataCache (3.9). Topics are made by
CreateTopics alone: a node behaves as one of Kafka's with auto.create.topics.enable=false.
"""

from __future__ import annotations

from collections.abc import Mapping

from pytest_kcontroller.broker.clients.side import ClientSide
from pytest_kcontroller.broker.metadata import MetadataCache
from pytest_kcontroller.model.cluster import NO_LEADER
from pytest_kcontroller.model.topic_names import is_topic_name
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
    UpdateMetadataPartitionState,
)
from pytest_kcontroller.wire.topic_ids import ZERO_TOPIC_ID

INTERNAL = ("__consumer_offsets", "__transaction_state")
"""Kafka's own topics (org.apache.kafka.common.internals.Topic), which clients hide."""
NAMELESS = 12
"""From this version on an answer may be about a topic whose name is not known."""


async def handle(side: ClientSide, request: MetadataRequest) -> MetadataResponse:
    cache = side.state.metadata
    if request.topics is None or (request.version == 0 and not request.topics):  # version 0 has no null
        topics = [_known(cache, name, request.version) for name in sorted(cache.topics)]
    else:
        topics = [_topic(cache, asked, request.version) for asked in request.topics]
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=b.id, host=b.address.host, port=b.address.port, rack=b.rack)
            for b in side.brokers()
        ],
        cluster_id=side.cluster_id,
        controller_id=side.controller,
        topics=topics,
    )


def _topic(cache: MetadataCache, asked: MetadataRequestTopic, version: int) -> MetadataResponseTopic:
    if asked.name is None:
        if (name := cache.topic_of_id(asked.topic_id)) is not None:
            return _known(cache, name, version)
        no_id = asked.topic_id == ZERO_TOPIC_ID
        error = ErrorCode.INVALID_TOPIC_EXCEPTION if no_id else ErrorCode.UNKNOWN_TOPIC_ID
        return _unknown(None if version >= NAMELESS else "", asked.topic_id, error)
    if asked.name in cache.topics:
        return _known(cache, asked.name, version)
    invalid = not is_topic_name(asked.name)
    error = ErrorCode.INVALID_TOPIC_EXCEPTION if invalid else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return _unknown(asked.name, asked.topic_id, error)


def _unknown(name: str | None, topic_id: bytes, error: ErrorCode) -> MetadataResponseTopic:
    return MetadataResponseTopic(error_code=int(error), name=name, topic_id=topic_id, partitions=[])


def _known(cache: MetadataCache, name: str, version: int) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=int(ErrorCode.NONE),
        name=name,
        topic_id=cache.topic_id(name),
        is_internal=name in INTERNAL,
        partitions=_partitions(cache, cache.topics[name], version),
    )


def _partitions(
    cache: MetadataCache, entries: Mapping[int, UpdateMetadataPartitionState], version: int
) -> list[MetadataResponsePartition]:
    found: list[MetadataResponsePartition] = []
    for number, entry in sorted(entries.items()):
        error, leader = ErrorCode.NONE, entry.leader
        replicas, isr = tuple(entry.replicas), tuple(entry.isr)
        if version == 0:  # clients of that age do not expect brokers that they are not told of
            replicas, isr = (tuple(broker for broker in each if cache.live(broker)) for each in (replicas, isr))
        if not cache.live(leader):
            error, leader = ErrorCode.LEADER_NOT_AVAILABLE, NO_LEADER
        elif len(replicas) < len(entry.replicas) or len(isr) < len(entry.isr):
            error = ErrorCode.REPLICA_NOT_AVAILABLE
        found.append(
            MetadataResponsePartition(
                error_code=int(error),
                partition_index=number,
                leader_id=leader,
                leader_epoch=entry.leader_epoch,
                replica_nodes=replicas,
                isr_nodes=isr,
                offline_replicas=tuple(entry.offline_replicas),
            )
        )
    return found
