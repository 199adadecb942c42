"""KAFKA-6193: a request for several partitions was over when the first was done (before Kafka 1.1).

What had not been started yet was not known to be requested when that one was taken out, and a new controller found nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.seams import Mutant, unchanged

SEAM = "controller.remaining-reassignments"


def only_started(term: Term, rest: Mapping[TopicPartition, tuple[int, ...]]) -> dict[TopicPartition, tuple[int, ...]]:
    started = {tp: target for tp, target in rest.items() if term.context.is_reassigning(tp)}
    if len(started) == len(rest):
        unchanged(SEAM)
    return started


MUTANT = Mutant(
    name="KAFKA-6193",
    description="The first of several reassignments that is done takes those that are not started out of the request.",
    source="https://issues.apache.org/jira/browse/KAFKA-6193",
    replacements=((SEAM, only_started),),
    breaks=("reassignments-end-in-target",),
)
