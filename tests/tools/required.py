"""What a test needs of the machine: a test without it is skipped, or fails where KC_TEST_REQUIRE (a list) names it."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def not_here(name: str, why: str) -> NoReturn:
    """Skips the test; fails it if `name` is required."""
    if name in os.environ.get("KC_TEST_REQUIRE", "").split(","):
        pytest.fail(f"{why}; KC_TEST_REQUIRE requires {name}")
    pytest.skip(why)
