"""The controller in a box, for the tests of its events and machines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.tools.controller_box import ControllerBox


@pytest.fixture
def box() -> Iterator[ControllerBox]:
    """Brokers 1, 2 and 3 are registered; `start` it when ZooKeeper has what the test is about."""
    with ControllerBox(brokers=(1, 2, 3)) as box:
        yield box
