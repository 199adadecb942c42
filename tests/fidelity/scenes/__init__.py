"""Vectors whose inputs are steps in words: each is a scene, played in simulated time and on a real ZooKeeper alike.

A scene is found by what its vector's inputs are called. It gives what is observed under the keys that vectors expect.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tests.fidelity.scenarios.scene import Ground, Scene
from tests.fidelity.scenes import deletion, reassignment, sequences
from tests.fidelity.vectors import Vector

Play = Callable[[Scene, Mapping[str, Any]], Awaitable[dict[str, Any]]]

STUBS = 4
_OF: Mapping[str, Callable[[Mapping[str, Any]], Play | None]] = {
    "integration_sequences": sequences.scene_of,
    "deletion": deletion.scene_of,
    "reassignment": reassignment.scene_of,
    "alter_partition": lambda inputs: sequences.unclean_after_all_have_gone if "steps" in inputs else None,
}
REBALANCING = {"auto.leader.rebalance.enable": True, "leader.imbalance.check.interval.seconds": 1}


def scene_of(vector: Vector) -> Play | None:
    """None: it is no scene, or in words that nobody knows."""
    find = _OF.get(vector.operation)
    return None if find is None or not isinstance(vector.inputs, Mapping) else find(vector.inputs)


def config_of(vector: Vector) -> Mapping[str, Any]:
    """What the nodes of a scene have to be configured with."""
    return REBALANCING if scene_of(vector) is sequences.rebalanced else {}


def on_stage(vector: Vector) -> Callable[[Ground], Awaitable[dict[str, Any]]]:
    """The scene of a vector, on the ground that it is given."""
    play = scene_of(vector)
    assert play is not None

    async def act(ground: Ground) -> dict[str, Any]:
        scene = Scene(ground, STUBS)
        try:
            await scene.start()
            return await play(scene, vector.inputs)
        finally:
            await scene.stop()

    return act
