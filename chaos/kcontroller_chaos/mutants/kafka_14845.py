"""KAFKA-14845: a broker's registration is blocked by a session of its own whose id it has never learnt. Not mended in Kafka.

A process that was killed has left one, or the answer to a registration was lost. It ends by itself: who waits can register.
Kafka does not wait; its broker does not start, or goes on without being registered.
"""

from __future__ import annotations

from pytest_kcontroller.seams import Mutant, original, unchanged

SEAM = "broker.waits-for-registration"


def never(left_us: int) -> bool:
    if not original(SEAM)(left_us):
        unchanged(SEAM)
    return False


MUTANT = Mutant(
    name="KAFKA-14845",
    description="A node whose id is still registered by an earlier session does not wait until that has ended.",
    source="https://issues.apache.org/jira/browse/KAFKA-14845",
    replacements=((SEAM, never),),
    breaks=("nodes-stay-up",),
    kafkas=True,
)
