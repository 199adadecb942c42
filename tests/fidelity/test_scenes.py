"""The scenes again, on a real ZooKeeper: one after the other on one cluster, whose nodes are processes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.fidelity.judging import problems, why_not_run
from tests.fidelity.scenarios.real import RealGround, run_real
from tests.fidelity.scenarios.scene import Scene
from tests.fidelity.scenes import REBALANCING, STUBS, config_of, scene_of
from tests.fidelity.scenes.stagehands import everybody_back
from tests.fidelity.vectors import Vector, shared


async def _played(ground: RealGround, vectors: Sequence[Vector]) -> dict[str, list[str]]:
    """Vector -> what is wrong with ours by it, of those by which something is. All have the same brokers, and topics of
    their own."""
    found: dict[str, list[str]] = {}
    scene = Scene(ground, STUBS)
    try:
        await scene.start()
        for vector in vectors:
            play = scene_of(vector)
            assert play is not None
            if wrong := problems(vector, await play(scene, vector.inputs)):
                found[vector.id] = wrong
            await everybody_back(scene)
    finally:
        await scene.stop()
    return found


@pytest.mark.parametrize("config", [{}, REBALANCING], ids=["plain", "rebalancing"])
def test_scenes_on_a_real_zookeeper(config: Mapping[str, Any], tmp_path: Path) -> None:
    scenes = [v for v in shared() if why_not_run(v) is None and scene_of(v) is not None and config_of(v) == config]
    assert scenes
    assert asyncio.run(run_real(lambda ground: _played(ground, scenes), tmp_path, config=config)) == {}
