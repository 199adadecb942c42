"""ListPartitionReassignments: which partitions are being reassigned (KIP-455).

Source: kafka.server.KafkaApis.handleListPartitionReassignmentsRequest (3.9).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pytest_kcontroller.controller.events.list_partition_reassignments import (
    ListPartitionReassignments,
    ReassignmentsUnderWay,
)
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.wire.messages import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)


async def handle(
    ask: Callable[..., Awaitable[Any]], request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    asked = None
    if request.topics is not None:
        asked = [TopicPartition(topic.name, number) for topic in request.topics for number in topic.partition_indexes]
    answer: ReassignmentsUnderWay = await ask(ListPartitionReassignments, asked)
    topics: dict[str, list[OngoingPartitionReassignment]] = {}
    for tp, now in answer.partitions.items():
        topics.setdefault(tp.topic, []).append(
            OngoingPartitionReassignment(
                partition_index=tp.partition,
                replicas=now.replicas,
                adding_replicas=now.adding,
                removing_replicas=now.removing,
            )
        )
    return ListPartitionReassignmentsResponse(
        throttle_time_ms=0,
        error_code=int(answer.error),
        topics=[OngoingTopicReassignment(name=name, partitions=partitions) for name, partitions in topics.items()],
    )
