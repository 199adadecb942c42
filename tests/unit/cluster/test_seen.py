"""What counts as evidence that answers are late."""

from __future__ import annotations

import pytest

from pytest_kcontroller.cluster.proxied.seen import AT_ONCE_S, SHARE, Usual, late_by_s

USUAL = Usual(quickest_s=0.001, median_s=0.002)
AT_ONCE = 1000 * AT_ONCE_S


@pytest.mark.parametrize(
    ("took_ms", "least_ms", "jitter", "seen"),
    [
        ([9, 8, 30, 1.2, 9], 4, False, False),  # one is in time: the others are late because the machine is busy
        ([5, 4.9, 30, 5.5, 9], 4, False, True),
        ([1, 2, 9, 2.5, 3], 3, True, False),
        ([1, 2, 9, 5.5, 6], 3, True, True),  # with jitter some are in time
        ([1, 1, 1 + AT_ONCE], AT_ONCE, True, True),  # no machine is so busy
        ([1, 1, 1], AT_ONCE, True, False),
    ],
)
def test_a_few_milliseconds_are_no_evidence_in_one_answer(
    took_ms: list[float], least_ms: float, jitter: bool, seen: bool
) -> None:
    late_s = late_by_s([each / 1000 for each in took_ms], USUAL, least_ms / 1000, jitter=jitter)
    assert (late_s >= SHARE * least_ms / 1000) is seen
