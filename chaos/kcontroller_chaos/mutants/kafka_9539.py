"""KAFKA-9539: a StopReplica that came late stopped a replica that was assigned to the broker again (before Kafka 2.6)."""

from __future__ import annotations

from pytest_kcontroller.seams import Mutant, original, unchanged

SEAM = "broker.is-outdated-stop"


def never(leader_epoch: int, known: int) -> bool:
    """There was no leader epoch in the request."""
    if not original(SEAM)(leader_epoch, known):
        unchanged(SEAM)
    return False


MUTANT = Mutant(
    name="KAFKA-9539",
    description="A broker stops or deletes a replica however old the order is.",
    source="https://issues.apache.org/jira/browse/KAFKA-9539",
    replacements=((SEAM, never),),
    breaks=("replicas-hosted-after-healing",),
)
