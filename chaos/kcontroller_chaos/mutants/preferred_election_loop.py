"""A preferred election for a partition without a state ends every controller. Kafka 2.8 to 3.9; no issue is known.

The controller takes it for granted that each partition has a leader in its memory (NoSuchElementException: None.get); the
znode stays, and whoever is elected next finds it in its failover, fails, and gives /controller back.
"""

from __future__ import annotations

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.seams import Mutant, original, unchanged

SEAM = "controller.leader-before-election"


class NoSuchElementError(Exception):
    """Scala's NoSuchElementException."""


def leader_in_memory(context: Context, tp: TopicPartition) -> int:
    if tp not in context.leadership:
        raise NoSuchElementError("None.get")
    unchanged(SEAM)
    leader: int = original(SEAM)(context, tp)
    return leader


MUTANT = Mutant(
    name="PREFERRED-ELECTION-LOOP",
    description="The controller fails over a preferred election of a partition that never had a leader.",
    source="Apache Kafka 2.8.2 and 3.9.1: kafka.controller.KafkaController.processReplicaLeaderElection",
    replacements=((SEAM, leader_in_memory),),
    breaks=("failovers-end",),
    kafkas=True,
)
