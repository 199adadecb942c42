"""Which vectors are run, and what is wrong with ours by them."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.fidelity.explained import as_explained
from tests.fidelity.operations import OPERATIONS, candidacy
from tests.fidelity.scenarios.simulated import run_simulated
from tests.fidelity.scenes import config_of, on_stage, scene_of
from tests.fidelity.vectors import Vector, differences, known_keys, shared, unknown_keys

RECORDS = "it needs records, and nodes of ours have none"
TOOL = "it is about what a tool of Kafka's checks or works out before it asks the controller"


IN_WORDS: Mapping[str, frozenset[str]] = {
    "deletion": frozenset({"sequence", "state", "down", "request"}),
    "reassignment": frozenset({"start", "znode", "zk", "api", "first", "request"}),
    "integration_sequences": frozenset({"assignment", "event", "steps", "rounds", "preferred", "topic_znode"}),
}
"""Where one of these is given, the vector is a scene."""


@cache
def _known() -> Mapping[str, frozenset[str]]:
    return known_keys(shared())


def why_not_run(vector: Vector) -> str | None:
    """None: it is run."""
    if vector.operation not in OPERATIONS:
        return f"{vector.operation} is no operation of {', '.join(sorted(OPERATIONS))}"
    inputs: Any = vector.inputs if isinstance(vector.inputs, Mapping) else {}
    if any("produce" in step for step in inputs.get("steps", ())):
        return RECORDS
    if vector.operation == "reassignment" and ("proposed" in inputs or "version" in inputs):
        return TOOL
    if IN_WORDS.get(vector.operation, frozenset()) & inputs.keys() and scene_of(vector) is None:
        return "nobody knows its steps"
    if vector.operation == "controller_epoch_and_election" and not candidacy.knows(inputs):
        return "nobody knows its event"
    return None


def observe(vector: Vector) -> Any:
    """What ours does with the inputs of a vector that is run; a scene in simulated time."""
    if scene_of(vector) is not None:
        with tempfile.TemporaryDirectory() as directory:
            return run_simulated(on_stage(vector), Path(directory), config=config_of(vector))
    seen = OPERATIONS[vector.operation]
    assert seen is not None
    return seen(vector)


def unknown(vector: Vector) -> list[str]:
    """Sentences about keys that nobody would look at."""
    keys = unknown_keys(vector, _known())
    return [f"{key!r} is a key that no vector of {vector.operation} has: it would not be looked at" for key in keys]


def problems(vector: Vector, observed: Any) -> list[str]:
    """What is wrong with ours, in sentences; none: it is as Kafka's."""
    return differences(as_explained(vector, observed), observed)
