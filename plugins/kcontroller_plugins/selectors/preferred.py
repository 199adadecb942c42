"""`preferred`: Kafka 3.9's rule for giving a partition back to its first replica."""

from __future__ import annotations

from pytest_kcontroller.hookspecs import LeaderSelector, hookimpl
from pytest_kcontroller.model.election import ElectionReason, LeaderChoice, PartitionView


class PreferredSelector:
    """The first assigned replica, if it is live and in the ISR; the ISR stays as it is.

    It chooses the present leader again without saying so: who asks filters those out (Kafka 1.1+).
    (kafka.controller.PartitionLeaderElectionAlgorithms.preferredReplicaPartitionLeaderElection)
    """

    name = "preferred"

    def select(self, partition: PartitionView, reason: ElectionReason) -> LeaderChoice | None:
        replicas = partition.assignment.replicas
        if replicas and replicas[0] in partition.isr and partition.brokers.live(replicas[0]):
            return LeaderChoice(replicas[0], partition.isr, replicas)
        return None


@hookimpl
def kcontroller_leader_selectors() -> list[type[LeaderSelector]]:
    return [PreferredSelector]
