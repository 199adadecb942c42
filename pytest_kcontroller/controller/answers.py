"""What brokers answer to LeaderAndIsr: recorded at once, in no event's turn, since the time of it is what matters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import LeaderAndIsrRequest


def record_answer(record: Callable[..., None], broker: int, request: Any, response: Any) -> None:
    """`leader.answered` for each partition that `broker` leads now without an error."""
    if not isinstance(request, LeaderAndIsrRequest) or response.error_code != ErrorCode.NONE:
        return
    failed = {
        (topic.topic_id, partition.partition_index)
        for topic in response.topics
        for partition in topic.partition_errors
        if partition.error_code != ErrorCode.NONE
    }
    for topic in request.topic_states:
        for state in topic.partition_states:
            if state.leader == broker and (topic.topic_id, state.partition_index) not in failed:
                record(
                    "leader.answered",
                    topic=topic.topic_name,
                    partition=state.partition_index,
                    leader=state.leader,
                    leader_epoch=state.leader_epoch,
                    epoch=request.controller_epoch,
                )
