"""LeaderAndIsr: lead or follow these partitions."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_kcontroller.broker.replicas import Replica
from pytest_kcontroller.broker.state import BrokerState
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.model.history import BrokerBecomeFollower, BrokerBecomeLeader
from pytest_kcontroller.model.history.event import Columns, by_topic
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
    if state.log_dirs is not None:
        state.replicas.go_offline(state.log_dirs.create(_without_log(state, request)))
    taken: list[Replica] = []
    topics = [
        LeaderAndIsrTopicError(topic_id=topic.topic_id, partition_errors=_apply(state, topic, taken))
        for topic in request.topic_states
    ]
    _record_roles(state, taken, request)
    state.on_change()
    return LeaderAndIsrResponse(error_code=ErrorCode.NONE, topics=topics)


def _without_log(state: BrokerState, request: LeaderAndIsrRequest) -> dict[TopicPartition, bool]:
    """Replicas that we have not heard of in this life, and whether they are new."""
    return {
        tp: entry.is_new
        for topic in request.topic_states
        for entry in topic.partition_states
        if state.broker in entry.replicas
        and state.replicas.unheard_of(tp := TopicPartition(topic.topic_name, entry.partition_index))
    }


def _apply(state: BrokerState, topic: LeaderAndIsrTopicState, taken: list[Replica]) -> list[LeaderAndIsrPartitionError]:
    """The answer for each partition; `taken` gets the replicas whose role has changed."""
    topic_id, errors = topic_id_text(topic.topic_id), list[LeaderAndIsrPartitionError]()
    for entry in topic.partition_states:
        tp = TopicPartition(topic.topic_name, entry.partition_index)
        error, replica = state.replicas.lead_or_follow(tp, topic_id, entry, state.metadata.live)
        errors.append(LeaderAndIsrPartitionError(partition_index=tp.partition, error_code=error))
        if replica is not None:
            taken.append(replica)
    return errors


def _record_roles(state: BrokerState, taken: Sequence[Replica], request: LeaderAndIsrRequest) -> None:
    epoch, broker_epoch = request.controller_epoch, request.broker_epoch
    led = [replica for replica in taken if replica.leader == state.broker]
    followed = [replica for replica in taken if replica.leader != state.broker]
    if led:
        state.record(BrokerBecomeLeader(epoch=epoch, broker_epoch=broker_epoch, topics=_columns(led)))
    if followed:
        state.record(BrokerBecomeFollower(epoch=epoch, broker_epoch=broker_epoch, topics=_columns(followed)))


def _columns(replicas: Sequence[Replica]) -> Columns:
    told = ((r.tp.topic, (r.tp.partition, r.leader, r.leader_epoch)) for r in replicas)
    return by_topic(BrokerBecomeLeader.columns, told)
