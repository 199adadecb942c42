"""A thin door: `KCluster` stands in fixtures/kcluster.py; import it from `pytest_kcontroller`, or as before."""

from __future__ import annotations

from pytest_kcontroller.fixtures.kcluster import KCluster, Net

__all__ = ["KCluster", "Net"]
