"""What each operation of the vectors means: a module puts a vector's inputs into the real code and gives what is observed,
under the keys that the vectors use. It never looks at what is expected.

Vectors whose inputs are steps in words are scenes (tests/fidelity/scenes).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.fidelity.operations import (
    alter_partition,
    assignment,
    broker_epoch,
    candidacy,
    deletion,
    leader_election,
    leader_election_legacy,
    partition_transitions,
    reassignment,
    replica_transitions,
    request_batch,
    topic_validation,
    znode_json,
)
from tests.fidelity.vectors import Vector

Observe = Callable[[Vector], Any]

OPERATIONS: Mapping[str, Observe | None] = {
    "leader_election": leader_election.observe,
    "leader_election_legacy": leader_election_legacy.observe,
    "assignment": assignment.observe_striped,
    "assignment_rack_aware": assignment.observe_rack_aware,
    "topic_validation": topic_validation.observe,
    "partition_state_transitions": partition_transitions.observe,
    "replica_state_transitions": replica_transitions.observe,
    "deletion": deletion.observe,
    "reassignment": reassignment.observe,
    "controller_epoch_and_election": candidacy.observe,
    "broker_epoch": broker_epoch.observe,
    "alter_partition": alter_partition.observe,
    "request_batch": request_batch.observe,
    "znode_json": znode_json.observe,
    "integration_sequences": None,
}
"""Operation -> what of a vector is observed; None: all of them are scenes."""
