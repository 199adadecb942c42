"""KAFKA-2437: a controller that found somebody else in /controller stayed in office (before Kafka 0.9)."""

from __future__ import annotations

from pytest_kcontroller.controller.controller import Controller
from pytest_kcontroller.seams import Mutant, unchanged

SEAM = "controller.resign-when-moved"


def stay(controller: Controller) -> None:
    """It has read that it is replaced, and does nothing about it."""
    if not controller.active:
        unchanged(SEAM)


MUTANT = Mutant(
    name="KAFKA-2437",
    description="A controller does not resign when it reads that /controller is somebody else's: two are active.",
    source="https://issues.apache.org/jira/browse/KAFKA-2437",
    replacements=((SEAM, stay),),
    breaks=("one-controller-after-healing",),
)
