"""KAFKA-1681: a new controller did not go on with the deletion of topics (before Kafka 0.9)."""

from __future__ import annotations

from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.seams import Mutant, unchanged

SEAM = "controller.resume-deletions-at-start"


async def wait(term: Term) -> None:
    """Until something else sets it going: another deletion, or a broker that comes."""
    if not term.context.deletions.queued:
        unchanged(SEAM)


MUTANT = Mutant(
    name="KAFKA-1681",
    description="A topic whose controller died while it was deleted stays, until another one is deleted.",
    source="https://issues.apache.org/jira/browse/KAFKA-1681",
    replacements=((SEAM, wait),),
    breaks=("deleted-topics-are-gone",),
)
