"""StopReplica: stop, and maybe delete, these replicas."""

from __future__ import annotations

from pytest_kcontroller.broker.state import BrokerState
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import StopReplicaPartitionError, StopReplicaRequest, StopReplicaResponse


async def handle(state: BrokerState, request: StopReplicaRequest) -> StopReplicaResponse:
    if (error := state.admit(request)) != ErrorCode.NONE:
        return StopReplicaResponse(error_code=error, partition_errors=[])
    errors = [
        StopReplicaPartitionError(
            topic_name=topic.topic_name,
            partition_index=entry.partition_index,
            error_code=state.replicas.stop(TopicPartition(topic.topic_name, entry.partition_index), entry),
        )
        for topic in request.topic_states
        for entry in topic.partition_states
    ]
    return StopReplicaResponse(error_code=ErrorCode.NONE, partition_errors=errors)
