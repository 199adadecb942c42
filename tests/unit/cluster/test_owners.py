"""The child that leads, by the names that recipes give their candidates."""

from __future__ import annotations

import pytest

from pytest_kcontroller.cluster.owners import foremost


@pytest.mark.parametrize(
    ("children", "first"),
    [
        (["b9__lock__0000000012", "a1__lock__0000000013"], "b9__lock__0000000012"),  # kazoo
        (["_c_ff-latch-0000000003", "_c_aa-latch-0000000010"], "_c_ff-latch-0000000003"),  # Curator
        (["plain", "other"], None),
        ([], None),
    ],
)
def test_the_lowest_number_leads(children: list[str], first: str | None) -> None:
    assert foremost(children) == first
