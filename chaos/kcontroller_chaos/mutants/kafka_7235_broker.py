"""KAFKA-7235, on the broker's side: it does what it was told in its former life (before Kafka 2.2, with KAFKA-1120)."""

from __future__ import annotations

from pytest_kcontroller.seams import Mutant, original, unchanged

SEAM = "broker.is-for-earlier-life"


def never(broker_epoch: int, own_broker_epoch: int) -> bool:
    """Every order is taken as meant for this life."""
    if not original(SEAM)(broker_epoch, own_broker_epoch):
        unchanged(SEAM)
    return False


MUTANT = Mutant(
    name="KAFKA-7235-broker",
    description="A broker that has restarted carries out orders that were meant for it before.",
    source="https://issues.apache.org/jira/browse/KAFKA-7235",
    replacements=((SEAM, never),),
    breaks=("orders-of-this-life",),
)
