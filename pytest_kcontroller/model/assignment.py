"""What a replica assignment strategy is asked: frozen values, and the errors that Kafka has for such a question."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_kcontroller.errors import UsageError


@dataclass(frozen=True, slots=True)
class AssignableBroker:
    id: int
    rack: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentRequest:
    """Replicas are wanted for `partitions` partitions, numbered from `first_partition`."""

    brokers: tuple[AssignableBroker, ...]
    """Sorted by id."""
    partitions: int
    replication_factor: int
    start_index: int | None = None
    """Index of the broker that gets the first replica; it is the first shift too. None: both are drawn."""
    first_partition: int = 0


class AssignmentError(UsageError):
    """The question has no answer. `code` is Kafka's name for it."""

    code = ""


class InvalidPartitionsError(AssignmentError):
    code = "InvalidPartitions"


class InvalidReplicationFactorError(AssignmentError):
    code = "InvalidReplicationFactor"


class PartialRacksError(AssignmentError):
    """Some brokers have a rack and some do not."""

    code = "AdminOperation"
