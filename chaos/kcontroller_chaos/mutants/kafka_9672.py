"""KAFKA-9672: a replica that had been removed came back into the ISR (KAFKA-1097, 1170, 6638; mended in Kafka 3.0).

The leader was told of the target alone only after the removed replicas had left the ISR: until then it took them back.
"""

from __future__ import annotations

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.model.cluster import Assignment, TopicPartition
from pytest_kcontroller.seams import Mutant, unchanged

SEAM, ASSIGNED = "controller.tell-target", "controller.is-assigned"


def tell_all(context: Context, tp: TopicPartition, done: Assignment) -> None:
    """The controller goes on with the replicas of before and after."""


def anybody(context: Context, tp: TopicPartition, replica: int) -> bool:
    """Kafka's controller has never asked."""
    unchanged(ASSIGNED)  # that alone is no bug
    return True


MUTANT = Mutant(
    name="KAFKA-9672",
    description="While a reassignment ends, the leader still takes the removed replicas for its own.",
    source="https://issues.apache.org/jira/browse/KAFKA-9672",
    replacements=(
        (ASSIGNED, anybody),
        (SEAM, tell_all),
    ),
    breaks=("leader-in-isr", "reassignments-end-in-target"),
)
