"""KAFKA-13972: a replica that a cancelled reassignment had added went on running (Kafka 2.6 to 3.4).

It was never in sync, so it was removed without a new leader epoch; a broker took a StopReplica with that for an old one.
"""

from __future__ import annotations

from pytest_kcontroller.seams import Mutant, original, unchanged

SEAM = "broker.is-outdated-stop"


def unless_newer(leader_epoch: int, known: int) -> bool:
    if leader_epoch != known:
        unchanged(SEAM)
        return bool(original(SEAM)(leader_epoch, known))
    return True


MUTANT = Mutant(
    name="KAFKA-13972",
    description="A broker refuses StopReplica with the leader epoch that it knows.",
    source="https://issues.apache.org/jira/browse/KAFKA-13972",
    replacements=((SEAM, unless_newer),),
    breaks=("removed-replicas-are-gone",),
)
