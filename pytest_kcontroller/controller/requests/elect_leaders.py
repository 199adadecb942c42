"""ElectLeaders: elect preferred leaders, or unclean ones (KIP-183, KIP-460).

Source: kafka.server.KafkaApis.handleElectLeaders (3.9). It is answered when the controller has written the leaders; Kafka
waits besides until its broker has heard of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pytest_kcontroller.controller.events.replica_leader_election import (
    ElectionResult,
    ElectLeaders,
    ElectLeadersAnswer,
    ReplicaLeaderElection,
)
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.model.election import ElectionType
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import (
    ElectLeadersPartitionResult,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ReplicaElectionResult,
)


async def handle(ask: Callable[..., Awaitable[Any]], request: ElectLeadersRequest) -> ElectLeadersResponse:
    asked = None
    if request.topic_partitions is not None:
        asked = tuple(TopicPartition(each.topic, n) for each in request.topic_partitions for n in each.partitions)
    if request.election_type not in list(ElectionType):
        return _response(ElectLeadersAnswer(ErrorCode.INVALID_REQUEST), asked)
    wanted = ElectLeaders(type=ElectionType(request.election_type), partitions=asked)
    return _response(await ask(ReplicaLeaderElection, wanted), asked)


def _response(answer: ElectLeadersAnswer, asked: tuple[TopicPartition, ...] | None) -> ElectLeadersResponse:
    """Who asked for all partitions is not told of those that needed no election, as in Kafka. An error of the whole is said
    of each partition too: version 0 has no other place for it."""
    results = answer.results
    if answer.error is not ErrorCode.NONE:
        results = dict.fromkeys(asked or (), ElectionResult(answer.error))
    topics: dict[str, list[ElectLeadersPartitionResult]] = {}
    for tp, result in results.items():
        if asked is not None or result.error is not ErrorCode.ELECTION_NOT_NEEDED:
            topics.setdefault(tp.topic, []).append(
                ElectLeadersPartitionResult(
                    partition_id=tp.partition, error_code=int(result.error), error_message=result.message
                )
            )
    return ElectLeadersResponse(
        throttle_time_ms=0,
        error_code=int(answer.error),
        replica_election_results=[
            ReplicaElectionResult(topic=topic, partition_result=each) for topic, each in topics.items()
        ],
    )
