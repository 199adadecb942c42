"""What `maker` makes is what calling the class makes."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from pytest_kcontroller.model.cluster import LeaderAndIsr, make_state
from pytest_kcontroller.model.values import maker
from pytest_kcontroller.wire.codec import encode_once
from pytest_kcontroller.wire.messages import StopReplicaPartitionState


def test_it_equals_what_the_class_makes() -> None:
    fields = {"leader": 1, "leader_epoch": 2, "isr": (1, 3), "controller_epoch": 4}
    assert make_state(**fields) == LeaderAndIsr(**fields)
    assert make_state(**fields, partition_epoch=5, recovering=True) == LeaderAndIsr(
        **fields, partition_epoch=5, recovering=True
    )


def test_a_field_that_is_not_given_has_its_default() -> None:
    entry = maker(StopReplicaPartitionState)(partition_index=1, leader_epoch=2, delete_partition=False)
    assert entry.encoded is None
    assert encode_once(entry).encoded


def test_a_field_that_is_missing_or_unknown_is_refused() -> None:
    with pytest.raises(TypeError, match="isr"):
        make_state(leader=1, leader_epoch=2, controller_epoch=4)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="color"):
        make_state(leader=1, leader_epoch=2, isr=(), controller_epoch=4, color=1)  # type: ignore[call-arg]


def test_a_class_that_does_more_than_that_is_refused() -> None:
    @dataclass
    class Listed:
        items: list[int] = field(default_factory=list)

    with pytest.raises(TypeError, match="Listed does more"):
        maker(Listed)
