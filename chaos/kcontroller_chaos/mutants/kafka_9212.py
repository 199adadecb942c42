"""KAFKA-9212: while a reassignment waited, UpdateMetadata had the leader epoch of before it (Kafka 2.4.0)."""

from __future__ import annotations

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.model.cluster import LeaderAndIsr, TopicPartition
from pytest_kcontroller.seams import Mutant

SEAM = "controller.keep-bumped"


def forget(context: Context, tp: TopicPartition, before: LeaderAndIsr) -> None:
    """What was written is not what the controller knows, and UpdateMetadata is made of that."""
    context.set_leadership({tp: before})


MUTANT = Mutant(
    name="KAFKA-9212",
    description="The controller does not remember the leader epoch that a reassignment has raised.",
    source="https://issues.apache.org/jira/browse/KAFKA-9212",
    replacements=((SEAM, forget),),
    breaks=("metadata-agrees-after-healing",),
)
