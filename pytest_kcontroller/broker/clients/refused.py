"""Why a request of a client is refused: an exception inside of a handler, an error in the answer."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_kcontroller.model.assignment import AssignmentError
from pytest_kcontroller.wire.errors import ErrorCode

_CODES: Mapping[str, ErrorCode] = {
    "TopicExists": ErrorCode.TOPIC_ALREADY_EXISTS,
    "InvalidTopic": ErrorCode.INVALID_TOPIC_EXCEPTION,
    "InvalidPartitions": ErrorCode.INVALID_PARTITIONS,
    "InvalidReplicationFactor": ErrorCode.INVALID_REPLICATION_FACTOR,
    "InvalidReplicaAssignment": ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    "BrokerNotAvailable": ErrorCode.BROKER_NOT_AVAILABLE,
}
"""Kafka's names of what an assignment can be refused for. An AdminOperationException has no code of its own there."""


class RefusedError(Exception):
    """One topic or resource of a request is refused; others may go through."""

    def __init__(self, error: ErrorCode, message: str | None = None) -> None:
        self.error, self.message = error, message
        super().__init__(f"{error.name}: {message}")

    @classmethod
    def of(cls, refused: AssignmentError) -> RefusedError:
        return cls(_CODES.get(refused.code, ErrorCode.UNKNOWN_SERVER_ERROR), refused.what)


class NoSessionError(Exception):
    """There is no ZooKeeper session now in which it could be done."""
