"""KAFKA-3143: a new controller did not look for replicas that had died before it (before Kafka 2.3, with KAFKA-8152)."""

from __future__ import annotations

from pytest_kcontroller.controller.context import Replicas
from pytest_kcontroller.controller.machines.replicas import ReplicaMachine
from pytest_kcontroller.seams import Mutant, unchanged

SEAM = "controller.offline-at-start"


async def leave_them(machine: ReplicaMachine, replicas: Replicas) -> None:
    """Dead replicas stay in the ISR, and a partition of dead replicas keeps its dead leader."""
    if not replicas:
        unchanged(SEAM)


MUTANT = Mutant(
    name="KAFKA-3143",
    description="After a failover dead followers stay in the ISR, and partitions without a live replica keep their leader.",
    source="https://issues.apache.org/jira/browse/KAFKA-3143",
    replacements=((SEAM, leave_them),),
    breaks=("dead-leave-isr-at-failover",),
)
