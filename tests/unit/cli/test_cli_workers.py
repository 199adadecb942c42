"""Which seeds the processes of a hunt play, and whose fault it is if one cannot be played."""

from __future__ import annotations

import errno
from itertools import islice

import pytest

from pytest_kcontroller.cli._worker import _failure
from pytest_kcontroller.cli._workers import BATCH, endless, raise_failure
from pytest_kcontroller.errors import KControllerError, UsageError
from pytest_kcontroller.runtime.rng import MOST_SEED


class Speechless(Exception):
    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_no_seed_is_left_out_or_played_twice(jobs: int) -> None:
    seeds = [seed for batch in islice(endless(100, jobs), 3 * jobs) for seed in batch]
    assert sorted(seeds) == list(range(100, 100 + 3 * jobs * BATCH))


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_after_the_last_seed_there_is_none(jobs: int) -> None:
    first = MOST_SEED - BATCH * jobs - 2
    assert sorted(seed for batch in endless(first, jobs) for seed in batch) == list(range(first, MOST_SEED + 1))


@pytest.mark.parametrize(
    ("failed", "status"),
    [
        (UsageError("the fault cannot be drawn"), 2),
        (OSError(errno.ENOSPC, "No space left on device"), 6),
        (OSError(errno.EIO, "Input/output error"), 6),
        (OSError(errno.EACCES, "Permission denied"), 3),
        (ZeroDivisionError("of ours"), 3),
        (Speechless(), 3),
    ],
)
def test_what_fails_in_a_process_has_the_status_that_it_has_here(failed: Exception, status: int) -> None:
    with pytest.raises(KControllerError, match="smoke seed 3: ") as raised:
        raise_failure({"failure": _failure(failed)}, "smoke seed 3")
    assert raised.value.exit_status == status
    raise_failure({"verdict": "held"}, "smoke seed 3")
