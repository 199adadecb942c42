"""Which seeds the processes of a hunt play."""

from __future__ import annotations

from itertools import islice

import pytest

from pytest_kcontroller.cli._workers import BATCH, endless


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_no_seed_is_left_out_or_played_twice(jobs: int) -> None:
    seeds = [seed for batch in islice(endless(100, jobs), 3 * jobs) for seed in batch]
    assert sorted(seeds) == list(range(100, 100 + 3 * jobs * BATCH))
