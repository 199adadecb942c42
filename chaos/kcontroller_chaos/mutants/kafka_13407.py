"""KAFKA-13407: a broker that found its own id in /controller took no office. Kafka's own rule until 3.9; ours is the mend.

Reported after restarts of ZooKeeper's leader; it takes a lost answer to an election that went through. Then the broker is
named as the controller, and does nothing.
"""

from __future__ import annotations

from pytest_kcontroller.seams import Mutant, original, unchanged
from pytest_kcontroller.zookeeper.session import Node

SEAM = "election.is-won"


def never(controller: Node, session_id: int) -> bool:
    """Somebody has /controller, so the election is over, whoever it is."""
    if not original(SEAM)(controller, session_id):
        unchanged(SEAM)
    return False


MUTANT = Mutant(
    name="KAFKA-13407",
    description="A node whose election went through without an answer does not act, although /controller names it.",
    source="https://issues.apache.org/jira/browse/KAFKA-13407",
    replacements=((SEAM, never),),
    breaks=("one-controller-after-healing",),
    kafkas=True,
)
