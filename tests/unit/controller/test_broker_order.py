"""In which order brokers are gone through: what is recorded of Kafka (scenario 1032), and that nobody is forgotten."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_kcontroller.controller.decide.broker_order import in_order


def test_105_comes_before_103_and_104() -> None:
    assert in_order(range(101, 106)) == [101, 102, 105, 103, 104]


@given(st.lists(st.integers(min_value=0, max_value=2**31 - 1)))
def test_each_broker_comes_once_however_they_are_given(brokers: list[int]) -> None:
    ordered = in_order(brokers)
    assert sorted(ordered) == sorted(set(brokers))
    assert ordered == in_order(reversed(brokers))
