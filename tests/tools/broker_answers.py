"""What a broker answers to a request of the controller that it has carried out, but for the partitions that failed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
    StopReplicaPartitionError,
    StopReplicaResponse,
)


def answer_of(
    request: Any,
    failed: Mapping[str, ErrorCode],
    error: ErrorCode = ErrorCode.NONE,
    unnamed: Collection[str] = (),
) -> Any:
    """Of a LeaderAndIsr or a StopReplica; `error` concerns it as a whole, `failed` has partitions (`t-0`). A StopReplica's
    does not name those that are `unnamed`."""
    if isinstance(request, LeaderAndIsrRequest):
        topics = [
            LeaderAndIsrTopicError(
                topic_id=topic.topic_id,
                partition_errors=[
                    LeaderAndIsrPartitionError(
                        partition_index=entry.partition_index, error_code=int(_error_of(topic, entry, failed))
                    )
                    for entry in topic.partition_states
                ],
            )
            for topic in request.topic_states
        ]
        return LeaderAndIsrResponse(error_code=int(error), topics=topics)
    errors = [
        StopReplicaPartitionError(
            topic_name=topic.topic_name,
            partition_index=entry.partition_index,
            error_code=int(_error_of(topic, entry, failed)),
        )
        for topic in request.topic_states
        for entry in topic.partition_states
        if f"{topic.topic_name}-{entry.partition_index}" not in unnamed
    ]
    return StopReplicaResponse(error_code=int(error), partition_errors=[] if error else errors)


def _error_of(topic: Any, entry: Any, failed: Mapping[str, ErrorCode]) -> ErrorCode:
    return failed.get(f"{topic.topic_name}-{entry.partition_index}", ErrorCode.NONE)
