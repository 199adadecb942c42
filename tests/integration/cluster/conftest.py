"""A run on each backend that the registry knows, opened as campaigns open theirs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kcontroller_chaos import backends
from kcontroller_chaos.backends.run import Run
from kcontroller_chaos.history.rundir import RunDirectory
from pytest_kcontroller.cluster.capabilities import REPORTS, Capability
from pytest_kcontroller.cluster.contract import Cluster
from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.runtime.real import RunStart

LIMIT_S = 60
JVM_SESSION_MS = 6000
"""A shorter session of a broker that is a JVM ends by itself while another JVM starts, on a busy machine."""
RUN_S = 600.0
"""Real time."""


@dataclass(frozen=True)
class OnBackend:
    """Called with a script, it gives it a cluster of two nodes that has converged, and ends the cluster."""

    backend: backends.Backend
    out: Path
    zookeeper_image: str | None = None

    def __call__(self, script: Callable[[Cluster], Awaitable[None]], **settings: Any) -> None:
        module, start = self.backend.load(), RunStart.now()
        directory = RunDirectory.create(
            self.out, {"name": "test"}, 0, start, times=module.start_of(start), backend=self.backend.name
        )

        async def work(run: Run) -> None:
            await run.cluster.wait_until_converged(timeout_s=scaled(LIMIT_S))
            await script(run.cluster)

        wanted_ms = settings.pop("session_timeout_ms", 1000)
        if REPORTS in self.backend.lacks:
            wanted_ms = max(wanted_ms, JVM_SESSION_MS)
        made = ClusterSettings(nodes=2, session_timeout_ms=wanted_ms, zookeeper_image=self.zookeeper_image, **settings)
        asyncio.run(module.play(made, directory, work, scaled(RUN_S)))


def not_in_containers(needed: Iterable[Capability[object]] = ()) -> pytest.MarkDecorator:
    """On the others that have these: it is nothing about where nodes are, and starts of containers take seconds."""
    there = [backend for backend in backends.with_all(needed) if not backend.containers]
    return pytest.mark.parametrize("on_backend", there, indirect=True, ids=lambda backend: backend.name)


@pytest.fixture(params=backends.BACKENDS, ids=lambda backend: backend.name)
def on_backend(request: pytest.FixtureRequest, tmp_path: Path) -> OnBackend:
    image = request.getfixturevalue("in_containers") if request.param.containers else None
    return OnBackend(request.param, tmp_path, image)


@pytest.fixture
def many_open_files() -> Iterator[None]:
    """Whatever is opened now has a number that `select` does not take: pytest itself has so many files open."""
    most = 1024
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2 * most:
        pytest.skip(f"this process may have no more than {hard} files open")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * most), hard))
    with contextlib.ExitStack() as opened:
        while opened.enter_context(Path(os.devnull).open("rb")).fileno() < most:
            pass
        yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
