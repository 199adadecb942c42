"""KAFKA-9946: every answer to a StopReplica counted as a deletion (before Kafka 2.6)."""

from __future__ import annotations

from pytest_kcontroller.seams import Mutant, unchanged

SEAM = "controller.counts-as-deleted"


def always(delete: bool) -> bool:
    """The replica was told to stop, before it was told to delete: the first answer is taken for the second one's."""
    if delete:
        unchanged(SEAM)
    return True


MUTANT = Mutant(
    name="KAFKA-9946",
    description="A topic is gone while brokers that were only told to stop its replicas still have them.",
    source="https://issues.apache.org/jira/browse/KAFKA-9946",
    replacements=((SEAM, always),),
    breaks=("deleted-by-every-replica", "deleted-topics-are-gone"),
)
