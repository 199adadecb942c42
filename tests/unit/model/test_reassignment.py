"""What a reassignment makes of a partition's replicas. The examples are those of Kafka's ControllerContextTest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_kcontroller.model.cluster import Assignment

NOT_YET = Assignment((1, 2, 3))
UNDER_WAY = Assignment((4, 5, 6, 1, 2, 3), adding=(4, 5, 6), removing=(1, 2, 3))

replicas = st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True).map(tuple)


@pytest.mark.parametrize(
    ("before", "target", "after"),
    [
        (Assignment((1, 2, 3, 4)), (4, 2, 5, 3), Assignment((4, 2, 5, 3, 1), adding=(5,), removing=(1,))),
        (NOT_YET, (3, 1, 2), Assignment((3, 1, 2))),
        (UNDER_WAY, (7, 8, 9), Assignment((7, 8, 9, 1, 2, 3), adding=(7, 8, 9), removing=(1, 2, 3))),
        (UNDER_WAY, (1, 2, 3), NOT_YET),
        (NOT_YET, (3, 4, 2), Assignment((3, 4, 2, 1), adding=(4,), removing=(1,))),
    ],
    ids=["under way", "another order", "supplanted", "cancelled", "in part"],
)
def test_a_partition_on_its_way(before: Assignment, target: tuple[int, ...], after: Assignment) -> None:
    assert before.reassigned_to(target) == after
    assert after.target == target
    assert after.reassigning == bool(after.adding or after.removing)


def test_a_cancelled_reassignment_has_forgotten_the_order() -> None:
    """Kafka keeps the order of the target: that of before is nowhere."""
    under_way = NOT_YET.reassigned_to((3, 4, 2))
    assert under_way.reassigned_to(under_way.origin) == Assignment((3, 2, 1))


def test_a_replica_that_is_no_more_is_in_none_of_the_lists() -> None:
    assert UNDER_WAY.without(4) == Assignment((5, 6, 1, 2, 3), adding=(5, 6), removing=(1, 2, 3))
    assert UNDER_WAY.without(1) == Assignment((4, 5, 6, 2, 3), adding=(4, 5, 6), removing=(2, 3))


@given(replicas, replicas, replicas)
def test_whatever_supplants_what_the_origin_is_not_lost(
    origin: tuple[int, ...], first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    assert set(Assignment(origin).reassigned_to(first).reassigned_to(second).origin) == set(origin)
    assert Assignment(origin).reassigned_to(first).reassigned_to(second).target == second
