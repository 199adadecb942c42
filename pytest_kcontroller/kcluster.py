"""A thin door: `KCluster` and `Net` stand in `fixtures`; import it from `pytest_kcontroller`, or as before."""

from __future__ import annotations

from pytest_kcontroller.fixtures.kcluster import KCluster
from pytest_kcontroller.fixtures.net import Net

__all__ = ["KCluster", "Net"]
