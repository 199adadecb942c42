"""What is checked before a topic or more partitions of one are made, in Kafka's order and under Kafka's names of the errors.

Source: kafka.zk.AdminZkClient.validateTopicCreate, createNewPartitionsAssignment, validateReplicaAssignment (3.9).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from pytest_kcontroller.model.assignment import (
    AdminOperationError,
    AssignableBroker,
    AssignmentError,
    AssignmentRequest,
    BrokerNotAvailableError,
    InvalidPartitionsError,
    InvalidReplicaAssignmentError,
)
from pytest_kcontroller.model.topic_names import RULE, collide, why_no_topic_name

Replicas = Mapping[int, Sequence[int]]
"""Partition -> brokers, preferred first."""


class TopicExistsError(AssignmentError):
    code = "TopicExists"


class InvalidTopicError(AssignmentError):
    code = "InvalidTopic"


def check_new_topic(name: str, topics: Iterable[str], marked_for_deletion: Collection[str] = ()) -> None:
    """`topics` are there already, some of them marked for deletion. Raises AssignmentError."""
    if (why := why_no_topic_name(name)) is not None:
        raise InvalidTopicError(why, hint=RULE)
    if name in marked_for_deletion:
        raise TopicExistsError(f"the topic {name!r} is marked for deletion", hint="wait until it is gone")
    for topic in topics:
        if topic == name:
            raise TopicExistsError(f"the topic {name!r} exists already", hint="choose another name")
        if collide(name, topic):
            raise InvalidTopicError(
                f"the topic {name!r} collides with {topic!r}: in Kafka's metrics `.` and `_` are one",
                hint="choose another name",
            )


def check_replicas(assignment: Replicas) -> None:
    """Of a new topic, as somebody chose them. Raises InvalidReplicaAssignmentError."""
    if len({len(replicas) for replicas in assignment.values()}) != 1:
        raise InvalidReplicaAssignmentError("the partitions have differently many replicas, or there is no partition")
    for partition, replicas in assignment.items():
        _check_partition(partition, replicas)
    if sorted(assignment) != list(range(len(assignment))):
        raise InvalidReplicaAssignmentError(
            f"the partitions are {', '.join(map(str, sorted(assignment)))}", hint="number them from 0, without a gap"
        )


def request_of_added(existing: Replicas, total: int, brokers: Sequence[AssignableBroker]) -> AssignmentRequest:
    """For a strategy: so many partitions more that there are `total`, with as many replicas as partition 0 has, and
    placed on from where its first replica is. `brokers` by id. Raises AssignmentError."""
    first = _check_added(existing, total)
    start = next((index for index, broker in enumerate(brokers) if broker.id >= first[0]), 0)
    return AssignmentRequest(
        brokers=tuple(brokers),
        partitions=total - len(existing),
        replication_factor=len(first),
        start_index=start,
        first_partition=len(existing),
    )


def check_added_replicas(existing: Replicas, added: Replicas, total: int, brokers: Collection[int]) -> None:
    """Of partitions that are added, as somebody chose them; `brokers` are registered. Raises AssignmentError."""
    first = _check_added(existing, total)
    for partition, replicas in added.items():
        _check_partition(partition, replicas)
        if missing := [replica for replica in replicas if replica not in brokers]:
            raise BrokerNotAvailableError(f"partition {partition} shall be on {missing}, which are not registered")
    if odd := [partition for partition, replicas in added.items() if len(replicas) != len(first)]:
        raise InvalidReplicaAssignmentError(
            f"partitions {odd} have another number of replicas than partition 0, which has {len(first)}"
        )


def _check_added(existing: Replicas, total: int) -> Sequence[int]:
    """The replicas of partition 0."""
    first = existing.get(0)
    if not first:
        raise AdminOperationError("partition 0 of the topic is missing, whose replicas the new ones are modelled on")
    if total <= len(existing):
        raise InvalidPartitionsError(
            f"{total} partitions are asked for, and there are {len(existing)}", hint="their number can only grow"
        )
    return first


def _check_partition(partition: int, replicas: Sequence[int]) -> None:
    if not replicas:
        raise InvalidReplicaAssignmentError(f"partition {partition} has no replicas")
    if len(dict.fromkeys(replicas)) != len(replicas):
        raise InvalidReplicaAssignmentError(f"partition {partition} is twice on one broker: {list(replicas)}")
