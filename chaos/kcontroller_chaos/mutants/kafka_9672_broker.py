"""KAFKA-9672, the other half: a leader kept replicas in its ISR that were not assigned any more."""

from __future__ import annotations

from pytest_kcontroller.broker.replicas import Replica
from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.seams import Mutant, unchanged

SEAM, ASSIGNED = "broker.assigned-replicas", "controller.is-assigned"


def all_that_ever_were(known: Replica | None, replicas: tuple[int, ...]) -> tuple[int, ...]:
    before = () if known is None else tuple(r for r in known.replicas if r not in replicas)
    if not before:
        unchanged(SEAM)
    return replicas + before


def anybody(context: Context, tp: TopicPartition, replica: int) -> bool:
    """Kafka's controller has never asked."""
    unchanged(ASSIGNED)  # that alone is no bug
    return True


MUTANT = Mutant(
    name="KAFKA-9672-broker",
    description="A leader takes replicas into its ISR that are not assigned any more.",
    source="https://issues.apache.org/jira/browse/KAFKA-9672",
    replacements=(
        (ASSIGNED, anybody),
        (SEAM, all_that_ever_were),
    ),
    breaks=("leader-in-isr", "reassignments-end-in-target"),
)
