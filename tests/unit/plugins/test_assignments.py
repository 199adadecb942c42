"""The stock assignment strategies, where Kafka's own assignments (tests/fidelity) do not look."""

from __future__ import annotations

import pytest

from kcontroller_plugins.assignments.rack_aware import RackAwareStrategy
from kcontroller_plugins.assignments.striped import StripedStrategy
from pytest_kcontroller.model.assignment import AssignableBroker, AssignmentError, AssignmentRequest


def test_brokers_without_any_rack_are_striped() -> None:
    request = AssignmentRequest(
        brokers=tuple(AssignableBroker(b) for b in range(4)), partitions=9, replication_factor=3, start_index=2
    )
    assert RackAwareStrategy().assign(request, lambda n: 0) == StripedStrategy().assign(request, lambda n: 0)


def test_some_racks_are_an_error_with_kafkas_name() -> None:
    request = AssignmentRequest(
        brokers=(AssignableBroker(0, "r1"), AssignableBroker(1)), partitions=1, replication_factor=1
    )
    with pytest.raises(AssignmentError, match=r"without a rack: \[1\]") as raised:
        RackAwareStrategy().assign(request, lambda n: 0)
    assert raised.value.code == "AdminOperation"
