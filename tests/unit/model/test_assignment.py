"""An assignment strategy's answer is looked at before it is used, whoever gave it."""

from __future__ import annotations

import pytest

from pytest_kcontroller.model.assignment import AssignableBroker, AssignmentRequest, rejection

REQUEST = AssignmentRequest(
    brokers=tuple(AssignableBroker(number) for number in (1, 2, 3)), partitions=2, replication_factor=2
)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({0: (1, 2), 1: (2, 3)}, None),
        ({1: [3, 1], 0: [1, 2]}, None),
        ([(1, 2), (2, 3)], "it gave a list, not partition -> replicas"),
        (None, "it gave a NoneType, not partition -> replicas"),
        ({}, "it placed the partitions none, not 0, 1"),
        ({0: (1, 2)}, "it placed the partitions 0, not 0, 1"),
        ({0: (1, 2), 1: (1, 2), 2: (1, 2)}, "it placed the partitions 0, 1, 2, not 0, 1"),
        ({"0": (1, 2), "1": (1, 2)}, "it placed the partitions 0, 1, not 0, 1"),
        ({0: (1, 1), 1: (1, 2)}, "partition 0 is twice on one broker: (1, 1)"),
        ({0: (1, 2), 1: (1,)}, "partition 1 has 1 replicas, not 2"),
        ({0: (1, 9), 1: (1, 2)}, "partition 0 is on broker 9, and there are 1, 2, 3"),
        ({0: (1, "2"), 1: (1, 2)}, "the replicas of partition 0 are (1, '2'), not a tuple of broker ids"),
        ({0: (True, 2), 1: (1, 2)}, "the replicas of partition 0 are (True, 2), not a tuple of broker ids"),
        ({0: 1, 1: (1, 2)}, "the replicas of partition 0 are 1, not a tuple of broker ids"),
    ],
)
def test_what_cannot_be_used_is_said(answer: object, why: str | None) -> None:
    assert rejection(answer, REQUEST) == why
