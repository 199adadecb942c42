"""A thin door: `TestZooKeeper` stands in fixtures/zookeeper.py; import it from `pytest_kcontroller`, or as before."""

from __future__ import annotations

from pytest_kcontroller.fixtures.zookeeper import TestZooKeeper

__all__ = ["TestZooKeeper"]
