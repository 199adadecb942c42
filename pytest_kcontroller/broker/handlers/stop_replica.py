"""StopReplica: stop, and maybe delete, these replicas."""

from __future__ import annotations

from pytest_kcontroller.broker.state import BrokerState
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.model.history import BrokerStopReplica
from pytest_kcontroller.model.history.event import by_topic
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import (
    StopReplicaPartitionError,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
)


async def handle(state: BrokerState, request: StopReplicaRequest) -> StopReplicaResponse:
    if (error := state.admit(request)) != ErrorCode.NONE:
        return StopReplicaResponse(error_code=error, partition_errors=[])
    stopped: list[tuple[TopicPartition, StopReplicaPartitionState, ErrorCode]] = []
    for topic in request.topic_states:
        for entry in topic.partition_states:
            tp = TopicPartition(topic.topic_name, entry.partition_index)
            stopped.append((tp, entry, state.replicas.stop(tp, entry)))
    if state.log_dirs is not None:
        state.log_dirs.delete(tp for tp, entry, error in stopped if entry.delete_partition and error == ErrorCode.NONE)
    told = (
        (tp.topic, (tp.partition, entry.leader_epoch, entry.delete_partition, int(error)))
        for tp, entry, error in stopped
    )
    state.record(
        BrokerStopReplica(
            epoch=request.controller_epoch,
            broker_epoch=request.broker_epoch,
            topics=by_topic(BrokerStopReplica.columns, told),
        )
    )
    errors = [
        StopReplicaPartitionError(topic_name=tp.topic, partition_index=tp.partition, error_code=error)
        for tp, _, error in stopped
    ]
    return StopReplicaResponse(error_code=ErrorCode.NONE, partition_errors=errors)
