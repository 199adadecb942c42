"""What brokers answer to LeaderAndIsr: recorded at once, in no event's turn, since the time of it is what matters."""

from __future__ import annotations

from typing import Any

from pytest_kcontroller.model.history import LeaderAnswered, Record
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import LeaderAndIsrRequest


def record_answer(record: Record, broker: int, request: Any, response: Any) -> None:
    """`leader.answered` for the partitions that `broker` leads now without an error, if there are any."""
    if not isinstance(request, LeaderAndIsrRequest) or response.error_code != ErrorCode.NONE:
        return
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
