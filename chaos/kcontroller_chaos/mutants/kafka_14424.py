"""KAFKA-14424: a reassignment is cancelled although its new replicas are the only ones that could lead.

Kafka 3.9 checks nothing.
"""

from __future__ import annotations

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.model.cluster import Assignment, TopicPartition
from pytest_kcontroller.seams import Mutant, original, unchanged

SEAM = "controller.keeps-in-sync"


def unchecked(context: Context, tp: TopicPartition, assignment: Assignment) -> bool:
    if original(SEAM)(context, tp, assignment):
        unchanged(SEAM)
    return True


MUTANT = Mutant(
    name="KAFKA-14424",
    description="A reassignment is cancelled although nobody could lead the partition then.",
    source="https://issues.apache.org/jira/browse/KAFKA-14424",
    replacements=((SEAM, unchecked),),
    breaks=("isr-keeps-a-replica",),
    kafkas=True,
)
