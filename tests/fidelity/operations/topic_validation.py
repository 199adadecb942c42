"""topic_validation: which topics are refused before anything of them is written."""

from __future__ import annotations

from typing import Any

from pytest_kcontroller.model.assignment import AssignmentError
from pytest_kcontroller.model.cluster import Assignment, TopicState
from pytest_kcontroller.model.new_partitions import check_new_topic, check_replicas
from pytest_kcontroller.zookeeper.znodes import decode_topic, encode_topic
from tests.fidelity.vectors import Vector


def observe(vector: Vector) -> dict[str, Any]:
    """`exists_check: false` says that the topic was not there at the first look; the names are those of the second."""
    inputs = vector.inputs
    existing = [*inputs.get("existing", ()), *inputs.get("all_topics_afterwards", ())]
    manual = {int(partition): replicas for partition, replicas in inputs.get("manual", {"0": [0]}).items()}
    try:
        check_new_topic(inputs.get("create", "t"), existing, inputs.get("marked_for_deletion", ()))
        check_replicas(manual)
    except AssignmentError as refused:
        return {"error": refused.code}
    topic = TopicState(name="t", partitions={number: Assignment(tuple(ids)) for number, ids in manual.items()})
    stored = decode_topic("t", encode_topic(topic)).partitions
    return {"stored": {str(number): list(assignment.replicas) for number, assignment in stored.items()}}
