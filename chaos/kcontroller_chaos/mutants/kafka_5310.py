"""KAFKA-5310: a controller that was elected again went on with reassignments of its earlier term (before Kafka 1.0)."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.model.cluster import Assignment, TopicPartition
from pytest_kcontroller.seams import Mutant, original, unchanged

SEAM = "controller.reassignments-under-way"

_contexts: WeakKeyDictionary[Any, Context] = WeakKeyDictionary()
"""Process -> what it knew in its last term: nobody cleared it."""


def with_those_of_before(term: Term) -> dict[TopicPartition, Assignment]:
    now: dict[TopicPartition, Assignment] = original(SEAM)(term)
    before, _contexts[term.runtime] = _contexts.get(term.runtime), term.context
    if before is None:
        unchanged(SEAM)
        return now
    known = term.context.assignments
    targets = {tp: before.assignments[tp].target for tp in before.reassigning() if tp in known}
    again = {tp: known[tp].reassigned_to(target) for tp, target in targets.items() if known[tp].target != target}
    if not again:
        unchanged(SEAM)
    return now | again


MUTANT = Mutant(
    name="KAFKA-5310",
    description="A controller that is elected again repeats the reassignments that its earlier term did not end.",
    source="https://issues.apache.org/jira/browse/KAFKA-5310",
    replacements=((SEAM, with_those_of_before),),
    breaks=("reassignments-end-in-target",),
)
