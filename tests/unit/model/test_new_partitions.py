"""What is checked before partitions are made, where Kafka's own tests (tests/fidelity) do not look."""

from __future__ import annotations

import pytest

from pytest_kcontroller.model.assignment import AssignableBroker, AssignmentError
from pytest_kcontroller.model.new_partitions import (
    check_added_replicas,
    check_new_topic,
    check_replicas,
    request_of_added,
)

BROKERS = tuple(map(AssignableBroker, (1, 2, 3)))


def refused(check: object, *args: object) -> tuple[str, str]:
    """Kafka's name of the error, and the sentence."""
    with pytest.raises(AssignmentError) as raised:
        check(*args)  # type: ignore[operator]
    return raised.value.code, str(raised.value)


def test_a_name_must_be_one_of_a_topic() -> None:
    assert refused(check_new_topic, "a/b", []) == (
        "InvalidTopic",
        "'a/b' is no name of a topic\n  -> 1 to 249 of a-z, A-Z, 0-9, `.`, `_` and `-`, but not `.` or `..`",
    )


def test_the_mark_for_deletion_is_said_before_that_it_exists() -> None:
    assert "is marked for deletion" in refused(check_new_topic, "t", ["t"], ["t"])[1]


@pytest.mark.parametrize(
    ("assignment", "said"),
    [({}, "there is no partition"), ({0: []}, "partition 0 has no replicas"), ({1: [1]}, "the partitions are 1")],
)
def test_replicas_of_a_new_topic(assignment: dict[int, list[int]], said: str) -> None:
    code, sentence = refused(check_replicas, assignment)
    assert (code, said in sentence) == ("InvalidReplicaAssignment", True)


def test_partitions_cannot_be_added_without_partition_0() -> None:
    assert refused(request_of_added, {1: [1]}, 3, BROKERS)[0] == "AdminOperation"


def test_added_replicas_must_be_on_registered_brokers_and_as_many_as_partition_0_has() -> None:
    check_added_replicas({0: [1, 2]}, {1: [2, 3]}, 2, [1, 2, 3])
    assert refused(check_added_replicas, {0: [1, 2]}, {1: [2, 9]}, 2, [1, 2, 3])[0] == "BrokerNotAvailable"
    assert refused(check_added_replicas, {0: [1, 2]}, {1: [3]}, 2, [1, 2, 3])[0] == "InvalidReplicaAssignment"
    assert refused(check_added_replicas, {0: [1, 2]}, {0: [3]}, 1, [1, 2, 3])[0] == "InvalidPartitions"
