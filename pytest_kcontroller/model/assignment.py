"""What a replica assignment strategy is asked: frozen values, and the errors that Kafka has for such a question."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.model.cluster import are_broker_ids

MOST_LISTED = 10


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


def rejection(answer: object, request: AssignmentRequest) -> str | None:
    """Why this answer to the request cannot be used, whoever gave it; None: it can."""
    if not isinstance(answer, Mapping):
        return f"it gave a {type(answer).__name__}, not partition -> replicas"
    wanted = range(request.first_partition, request.first_partition + request.partitions)
    if sorted(map(str, answer)) != sorted(map(str, wanted)) or not all(type(one) is int for one in answer):
        return f"it placed the partitions {_listed(answer)}, not {_listed(wanted)}"
    brokers = [broker.id for broker in request.brokers]
    for partition in wanted:
        replicas = answer[partition]
        if not are_broker_ids(replicas):
            return f"the replicas of partition {partition} are {replicas!r}, not a tuple of broker ids"
        if len(replicas) != request.replication_factor:
            return f"partition {partition} has {len(replicas)} replicas, not {request.replication_factor}"
        if len(dict.fromkeys(replicas)) != len(replicas):
            return f"partition {partition} is twice on one broker: {tuple(replicas)}"
        if unknown := [replica for replica in replicas if replica not in brokers]:
            return f"partition {partition} is on broker {unknown[0]}, and there are {_listed(brokers)}"
    return None


def _listed(values: Iterable[object]) -> str:
    shown = [str(value) for value in islice(values, MOST_LISTED + 1)]
    return ", ".join([*shown[:MOST_LISTED], *(["..."] if len(shown) > MOST_LISTED else [])]) or "none"


class AssignmentError(UsageError):
    """The question has no answer. `code` is Kafka's name for it."""

    code = ""
    by = ""
    """The strategy that refused it; empty: a rule of Kafka's, before one was asked."""


class InvalidPartitionsError(AssignmentError):
    code = "InvalidPartitions"


class InvalidReplicationFactorError(AssignmentError):
    code = "InvalidReplicationFactor"


class AdminOperationError(AssignmentError):
    """What Kafka has no better name for."""

    code = "AdminOperation"


class PartialRacksError(AdminOperationError):
    """Some brokers have a rack and some do not."""


class InvalidReplicaAssignmentError(AssignmentError):
    code = "InvalidReplicaAssignment"


class BrokerNotAvailableError(AssignmentError):
    code = "BrokerNotAvailable"


class RackMode(StrEnum):
    """What becomes of racks when replicas are placed (org.apache.kafka.admin.RackAwareMode)."""

    ENFORCED = "Enforced"
    """Some brokers with a rack and some without are an error: Kafka's tools."""
    SAFE = "Safe"
    """Then racks are ignored: the request CreateTopics, and topics that are made by themselves."""
    DISABLED = "Disabled"
    """Racks are ignored."""


def assignable_brokers(
    racks: Mapping[int, str | None], mode: RackMode = RackMode.ENFORCED, *, only: Collection[int] | None = None
) -> tuple[AssignableBroker, ...]:
    """The brokers that replicas may be placed on, by id; `racks` is what is registered, `only` some of them.

    Raises PartialRacksError. Source: kafka.zk.AdminZkClient.getBrokerMetadatas (3.9).
    """
    ids = sorted(racks if only is None else (broker for broker in racks if broker in only))
    without = [broker for broker in ids if racks[broker] is None]
    partial = 0 < len(without) < len(ids)
    if partial and mode is RackMode.ENFORCED:
        raise PartialRacksError(
            f"brokers without a rack: {without}", hint="give every broker a rack, or place replicas without racks"
        )
    ignored = partial or mode is RackMode.DISABLED
    return tuple(AssignableBroker(broker, None if ignored else racks[broker]) for broker in ids)


def check_request(request: AssignmentRequest) -> None:
    """Kafka's checks, in Kafka's order (org.apache.kafka.admin.AdminUtils.assignReplicasToBrokers)."""
    if request.partitions <= 0:
        raise InvalidPartitionsError(f"{request.partitions} partitions are asked for", hint="ask for at least 1")
    if request.replication_factor <= 0:
        raise InvalidReplicationFactorError(
            f"a replication factor of {request.replication_factor} is asked for", hint="ask for at least 1"
        )
    if request.replication_factor > len(request.brokers):
        raise InvalidReplicationFactorError(
            f"a replication factor of {request.replication_factor} needs as many brokers; there are "
            f"{len(request.brokers)}",
            hint="start more brokers or ask for fewer replicas",
        )
