"""A run on each backend that the registry knows, opened as campaigns open theirs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from kcontroller_chaos import backends
from kcontroller_chaos.backends.run import Run
from kcontroller_chaos.history.rundir import RunDirectory
from pytest_kcontroller.cluster.contract import Cluster
from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.runtime.real import RunStart

LIMIT_S = 20


RUN_S = 600.0
"""Real time."""


@dataclass(frozen=True)
class OnBackend:
    """Called with a script, it gives it a cluster of two nodes that has converged, and ends the cluster."""

    backend: backends.Backend
    out: Path

    def __call__(self, script: Callable[[Cluster], Awaitable[None]], **settings: int) -> None:
        module, start = self.backend.load(), RunStart.now()
        directory = RunDirectory.create(
            self.out, {"name": "test"}, 0, start, times=module.start_of(start), backend=self.backend.name
        )

        async def work(run: Run) -> None:
            await run.cluster.wait_until_converged(timeout_s=LIMIT_S)
            await script(run.cluster)

        made = ClusterSettings(nodes=2, **{"session_timeout_ms": 1000, **settings})
        asyncio.run(module.play(made, directory, work, RUN_S))


@pytest.fixture(params=backends.BACKENDS, ids=lambda backend: backend.name)
def on_backend(request: pytest.FixtureRequest, tmp_path: Path) -> OnBackend:
    return OnBackend(request.param, tmp_path)
