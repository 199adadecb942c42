"""KAFKA-5083: the last in-sync replica left the ISR when it died (before Kafka 1.1, with KAFKA-708)."""

from __future__ import annotations

from pytest_kcontroller.seams import Mutant, original, unchanged

SEAM = "controller.isr-without"


def without(isr: tuple[int, ...], broker: int, replicas: tuple[int, ...]) -> tuple[int, ...]:
    """Even the last one goes, and with it the knowledge of who could lead without loss."""
    left = tuple(r for r in isr if r != broker)
    if left == original(SEAM)(isr, broker, replicas):
        unchanged(SEAM)
    return left


MUTANT = Mutant(
    name="KAFKA-5083",
    description="The ISR of a partition becomes empty with its last member, so no clean election is possible any more.",
    source="https://issues.apache.org/jira/browse/KAFKA-5083",
    replacements=((SEAM, without),),
    breaks=("isr-keeps-last-member",),
)
