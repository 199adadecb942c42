"""LeaderAndIsr: lead or follow these partitions."""

from __future__ import annotations

from pytest_kcontroller.broker.replicas import Replica
from pytest_kcontroller.broker.state import BrokerState
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
    LeaderAndIsrTopicState,
)
from pytest_kcontroller.wire.topic_ids import topic_id_text


async def handle(state: BrokerState, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
    if (error := state.admit(request)) != ErrorCode.NONE:
        return LeaderAndIsrResponse(error_code=error, topics=[])
    topics = [
        LeaderAndIsrTopicError(topic_id=topic.topic_id, partition_errors=_apply(state, topic, request.broker_epoch))
        for topic in request.topic_states
    ]
    state.on_change()
    return LeaderAndIsrResponse(error_code=ErrorCode.NONE, topics=topics)


def _apply(state: BrokerState, topic: LeaderAndIsrTopicState, broker_epoch: int) -> list[LeaderAndIsrPartitionError]:
    topic_id, errors = topic_id_text(topic.topic_id), list[LeaderAndIsrPartitionError]()
    for entry in topic.partition_states:
        tp = TopicPartition(topic.topic_name, entry.partition_index)
        error, replica = state.replicas.lead_or_follow(tp, topic_id, entry)
        errors.append(LeaderAndIsrPartitionError(partition_index=tp.partition, error_code=error))
        if replica is not None:
            _record_role(state, replica, broker_epoch)
    return errors


def _record_role(state: BrokerState, replica: Replica, broker_epoch: int) -> None:
    state.record(
        "broker.become-leader" if replica.leader == state.broker else "broker.become-follower",
        topic=replica.tp.topic,
        partition=replica.tp.partition,
        leader=replica.leader,
        leader_epoch=replica.leader_epoch,
        epoch=replica.controller_epoch,
        broker_epoch=broker_epoch,
    )
