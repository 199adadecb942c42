"""AlterPartitionReassignments: other replicas for partitions, or as they were before (KIP-455).

Source: kafka.server.KafkaApis.handleAlterPartitionReassignmentsRequest (3.9).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pytest_kcontroller.controller.events.api_partition_reassignment import (
    ApiPartitionReassignment,
    ReassignmentAnswer,
)
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.wire.messages import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)


async def handle(
    ask: Callable[..., Awaitable[Any]], request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    wanted = {
        TopicPartition(topic.name, partition.partition_index): partition.replicas
        for topic in request.topics
        for partition in topic.partitions
    }
    answer: ReassignmentAnswer = await ask(ApiPartitionReassignment, wanted)
    topics: dict[str, list[ReassignablePartitionResponse]] = {}
    for tp, result in answer.partitions.items():
        topics.setdefault(tp.topic, []).append(
            ReassignablePartitionResponse(
                partition_index=tp.partition, error_code=int(result.error), error_message=result.message
            )
        )
    return AlterPartitionReassignmentsResponse(
        throttle_time_ms=0,
        error_code=int(answer.error),
        responses=[ReassignableTopicResponse(name=name, partitions=partitions) for name, partitions in topics.items()],
    )
