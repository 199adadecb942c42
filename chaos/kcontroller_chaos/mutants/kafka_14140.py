"""KAFKA-14140: a leader could take a broker back into the ISR that was shutting down (before Kafka 3.4)."""

from __future__ import annotations

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.seams import Mutant, original, unchanged

SEAM = "controller.may-be-in-sync"


def anybody(context: Context, replica: int) -> bool:
    """The controller takes the leader's word for who is in sync."""
    if original(SEAM)(context, replica):
        unchanged(SEAM)
    return True


MUTANT = Mutant(
    name="KAFKA-14140",
    description="A broker that is dead or shutting down is taken back into the ISR when the leader asks for it.",
    source="https://issues.apache.org/jira/browse/KAFKA-14140",
    replacements=((SEAM, anybody),),
    breaks=("relieved-stay-out-of-isr",),
)
