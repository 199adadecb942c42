"""KAFKA-7235: a controller compared only the ids of brokers, so it overlooked a fast restart (before Kafka 2.2)."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_kcontroller.model.cluster import Broker
from pytest_kcontroller.seams import Mutant, original, unchanged

SEAM = "controller.bounced-brokers"


def nobody(before: Mapping[int, Broker], now: Mapping[int, Broker]) -> list[int]:
    """Whoever is there before and after has been there all the time."""
    if not original(SEAM)(before, now):
        unchanged(SEAM)
    return []


MUTANT = Mutant(
    name="KAFKA-7235",
    description="A broker that restarts between two looks of the controller is told nothing, and hosts nothing.",
    source="https://issues.apache.org/jira/browse/KAFKA-7235",
    replacements=((SEAM, nobody),),
    breaks=("replicas-hosted-after-healing", "metadata-agrees-after-healing"),
)
