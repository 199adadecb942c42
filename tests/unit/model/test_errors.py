"""What an error says, and what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_kcontroller.errors import EnvironmentFailure, WaitTimeoutError


def test_a_wait_that_ended_says_what_it_saw_last_in_its_first_line() -> None:
    with pytest.raises(TimeoutError) as ended:
        raise WaitTimeoutError("a controller is elected", seen="nobody", timeout_s=2.5, look_at=Path("runs/1"))
    assert isinstance(ended.value, EnvironmentFailure)
    assert ended.value.exit_status == 6
    assert str(ended.value).splitlines() == [
        "not within 2.5 s: a controller is elected: nobody",
        "  -> more is in runs/1",
    ]
