"""Which of the nodes' images are removed when there is a new one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pytest_kcontroller.cluster.contained.image import KEPT, KEPT_FOR, last_used, unused

NOW = datetime(2026, 12, 1, tzinfo=UTC)
MADE = "2026-11-30T12:00:00.5Z"


def test_those_used_last_stay_and_whatever_somebody_may_still_use() -> None:
    recent = {f"recent-{number}": NOW - number * timedelta(minutes=5) for number in range(KEPT + 2)}
    old = {f"old-{number}": NOW - KEPT_FOR - (number + 1) * timedelta(days=1) for number in range(KEPT + 2)}
    assert unused({}) == []
    assert unused(recent) == []
    assert unused(old | recent) == list(old)
    assert unused(old | {"new": NOW}) == [f"old-{number}" for number in range(KEPT - 1, KEPT + 2)]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"Metadata": {"LastTagTime": "2026-11-30T13:16:55.053723731Z"}}, (13, 16, 55, 53723)),
        ({"Metadata": {"LastTagTime": "0001-01-01T00:00:00Z"}}, (12, 0, 0, 500000)),
        ({"Metadata": {}}, (12, 0, 0, 500000)),
        ({}, (12, 0, 0, 500000)),
    ],
)
def test_an_image_was_used_when_it_was_named_last(more: dict[str, object], expected: tuple[int, ...]) -> None:
    assert last_used({"Created": MADE, **more}) == datetime(2026, 11, 30, *expected, tzinfo=UTC)


def test_an_image_of_which_an_engine_knows_nothing_is_the_oldest() -> None:
    assert last_used({}) == last_used({"Created": "", "Metadata": None}) < NOW - timedelta(days=365_000)
