"""What brokers answer: recorded at once, in no event's turn, since the time of it is what matters."""

from __future__ import annotations

from typing import Any

from pytest_kcontroller.model.history import LeaderAnswered, Record, ReplicasDeleted
from pytest_kcontroller.model.history.event import by_topic
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import (
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    StopReplicaResponse,
)


def record_answer(record: Record, broker: int, request: Any, response: Any) -> None:
    """`leader.answered` for the partitions that `broker` leads now without an error, `replicas.deleted` for those that it
    has deleted, if there are any."""
    if response.error_code != ErrorCode.NONE:
        return
    if isinstance(request, LeaderAndIsrRequest):
        _record_leaders(record, broker, request, response)
    elif isinstance(request, StopReplicaRequest):
        _record_deletions(record, broker, request, response)


def _record_deletions(record: Record, broker: int, request: StopReplicaRequest, response: StopReplicaResponse) -> None:
    done = {
        (partition.topic_name, partition.partition_index)
        for partition in response.partition_errors
        if partition.error_code == ErrorCode.NONE
    }
    deleted = (
        (topic.topic_name, (state.partition_index,))
        for topic in request.topic_states
        for state in topic.partition_states
        if state.delete_partition and (topic.topic_name, state.partition_index) in done
    )
    if topics := by_topic(ReplicasDeleted.columns, deleted):
        record(ReplicasDeleted(broker=broker, epoch=request.controller_epoch, topics=topics))


def _record_leaders(record: Record, broker: int, request: LeaderAndIsrRequest, response: LeaderAndIsrResponse) -> None:
    failed = {
        (topic.topic_id, partition.partition_index)
        for topic in response.topics
        for partition in topic.partition_errors
        if partition.error_code != ErrorCode.NONE
    }
    topics: dict[str, dict[str, list[int]]] = {}
    for topic in request.topic_states:
        led = [state for state in topic.partition_states if state.leader == broker]
        if failed:
            led = [state for state in led if (topic.topic_id, state.partition_index) not in failed]
        if led:
            topics[topic.topic_name] = {
                "partition": [state.partition_index for state in led],
                "leader_epoch": [state.leader_epoch for state in led],
            }
    if topics:
        record(LeaderAnswered(leader=broker, epoch=request.controller_epoch, topics=topics))
