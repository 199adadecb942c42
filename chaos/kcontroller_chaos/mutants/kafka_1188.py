"""KAFKA-1188: only the leader heard that a follower had left the in-sync replicas (before Kafka 0.8.2)."""

from __future__ import annotations

from pytest_kcontroller.model.cluster import LeaderAndIsr
from pytest_kcontroller.seams import Mutant, original, unchanged

SEAM = "controller.told-of-removal"


def only_the_leader(replicas: tuple[int, ...], broker: int, state: LeaderAndIsr) -> list[int]:
    """The leader, if there is one; the other followers keep the old leader epoch."""
    recipients = [r for r in replicas if r == state.leader]
    if recipients == original(SEAM)(replicas, broker, state):
        unchanged(SEAM)
    return recipients


MUTANT = Mutant(
    name="KAFKA-1188",
    description="Followers do not hear of a leader epoch that rose because another follower died.",
    source="https://issues.apache.org/jira/browse/KAFKA-1188",
    replacements=((SEAM, only_the_leader),),
    breaks=("replicas-hosted-after-healing",),
)
