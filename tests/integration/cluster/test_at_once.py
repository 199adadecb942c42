"""Two who ask for the same at once: each gets what is there once, or is refused."""

from __future__ import annotations

import asyncio

import pytest

from kcontroller_chaos import backends
from pytest_kcontroller.cluster.contract import Cluster
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import UsageError
from tests.integration.cluster.conftest import LIMIT_S, OnBackend

OURS = [backends.backend(name) for name in ("sim", "process")]


@pytest.mark.parametrize("on_backend", OURS, indirect=True, ids=lambda backend: backend.name)
def test_two_nodes_that_join_are_two(on_backend: OnBackend) -> None:
    async def join(cluster: Cluster) -> None:
        assert sorted(await asyncio.gather(cluster.add_node(), cluster.add_node())) == [2, 3]
        await cluster.wait_until_converged(timeout_s=scaled(LIMIT_S))
        assert cluster.running == (0, 1, 2, 3)

    on_backend(join)


@pytest.mark.parametrize("on_backend", OURS, indirect=True, ids=lambda backend: backend.name)
def test_a_node_is_launched_once(on_backend: OnBackend) -> None:
    async def launch(cluster: Cluster) -> None:
        await cluster.kill(1)
        both = await asyncio.gather(cluster.launch(1), cluster.launch(1), return_exceptions=True)
        (refused,) = [each for each in both if each is not None]
        assert isinstance(refused, UsageError)
        assert str(refused).startswith("node 1 runs already")
        await cluster.wait_ready(1)

    on_backend(launch)
