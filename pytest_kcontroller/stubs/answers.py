"""What a stub broker answers: success for each partition, unless a rule of the test says otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.stubs.requests import ReceivedRequest
from pytest_kcontroller.wire.message import Response
from pytest_kcontroller.wire.messages import (
    ApiKey,
    LeaderAndIsrPartitionError,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
    StopReplicaPartitionError,
    StopReplicaResponse,
    UpdateMetadataResponse,
)

LEADER_AND_ISR_BY_ID = 5
"""From this version on its answer has topics by their ids (KIP-516)."""


@dataclass(slots=True, kw_only=True)
class Rule:
    """How requests are answered that it fits: those of `api` (None: of any) that have such a partition (no `topic`: all).

    `times`: so many requests, None: until the stub behaves again.
    """

    api: ApiKey | None = None
    topic: str | None = None
    partition: int | None = None
    times: int | None = None
    error: int = 0
    delay_us: int = 0
    hold: bool = False
    hang_up: bool = False

    def fits(self, request: ReceivedRequest) -> bool:
        if self.times == 0 or self.api not in (None, request.api):
            return False
        return self.topic is None or any(self.names(tp) for tp, _ in request.states)

    def names(self, tp: TopicPartition) -> bool:
        return tp.topic == self.topic and self.partition in (None, tp.partition)


class Rules:
    """All that a stub was told, newest last."""

    def __init__(self) -> None:
        self._rules: list[Rule] = []

    def add(self, rule: Rule) -> None:
        self._rules.append(rule)

    def clear(self) -> None:
        self._rules.clear()

    def take(self, request: ReceivedRequest) -> list[Rule]:
        """Those that hold for this request, which counts for them."""
        fitting = [rule for rule in self._rules if rule.fits(request)]
        for rule in fitting:
            if rule.times is not None:
                rule.times -= 1
        return fitting


def answer(request: ReceivedRequest, rules: list[Rule]) -> Response:
    """In the form of the request's version. The error of a rule without a topic is that of the whole request."""
    whole = next((rule.error for rule in rules if rule.topic is None and rule.error), 0)
    errors = {tp: _error(tp, rules) for tp, _ in request.states}
    return _RESPONSES[request.api](request, whole, errors)


def _error(tp: TopicPartition, rules: list[Rule]) -> int:
    return next((rule.error for rule in reversed(rules) if rule.error and rule.names(tp)), 0)


def _leader_and_isr(request: ReceivedRequest, whole: int, errors: Mapping[TopicPartition, int]) -> Response:
    if whole:
        return LeaderAndIsrResponse(error_code=whole)
    if request.version < LEADER_AND_ISR_BY_ID:
        named = [
            LeaderAndIsrPartitionError(topic_name=tp.topic, partition_index=tp.partition, error_code=error)
            for tp, error in errors.items()
        ]
        return LeaderAndIsrResponse(error_code=0, partition_errors=named)
    topics = {topic: LeaderAndIsrTopicError(topic_id=id_) for topic, id_ in request.topic_ids.items()}
    for tp, error in errors.items():
        entry = LeaderAndIsrPartitionError(partition_index=tp.partition, error_code=error)
        topics[tp.topic].partition_errors.append(entry)
    return LeaderAndIsrResponse(error_code=0, topics=list(topics.values()))


def _stop_replica(request: ReceivedRequest, whole: int, errors: Mapping[TopicPartition, int]) -> Response:
    """A partition that is missing in the answer has not been deleted, for Kafka's controller."""
    named = [
        StopReplicaPartitionError(topic_name=tp.topic, partition_index=tp.partition, error_code=error)
        for tp, error in errors.items()
    ]
    return StopReplicaResponse(error_code=whole, partition_errors=[] if whole else named)


def _update_metadata(request: ReceivedRequest, whole: int, errors: Mapping[TopicPartition, int]) -> Response:
    """It has no error for a partition: the first one is that of the request."""
    return UpdateMetadataResponse(error_code=whole or next((error for error in errors.values() if error), 0))


_RESPONSES: Mapping[ApiKey, Callable[[ReceivedRequest, int, Mapping[TopicPartition, int]], Response]] = {
    ApiKey.LEADER_AND_ISR: _leader_and_isr,
    ApiKey.STOP_REPLICA: _stop_replica,
    ApiKey.UPDATE_METADATA: _update_metadata,
}
SERVED = tuple(_RESPONSES)
"""What a controller asks of a broker."""
