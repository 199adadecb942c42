"""`preferred@0.8.0`: the rule of Kafka 0.8.0 to 1.0 for giving a partition back to its first replica."""

from __future__ import annotations

from pytest_kcontroller.hookspecs import LeaderSelector, hookimpl
from pytest_kcontroller.model.election import ElectionReason, LeaderChoice, PartitionView


class PreferredSelector080:
    """Kafka 0.8.0 to 1.0: as `preferred`, but it says so if the first replica leads already, and there is no election
    (LeaderElectionNotNeeded). Since Kafka 1.1 the controller finds that out before.

    (kafka.controller.PreferredReplicaPartitionLeaderSelector, 0.8.0 to 1.0.)
    """

    name = "preferred@0.8.0"

    def select(self, partition: PartitionView, reason: ElectionReason) -> LeaderChoice | None:
        replicas = partition.assignment.replicas
        if not replicas or partition.leader == replicas[0]:
            return None
        if replicas[0] in partition.isr and partition.brokers.live(replicas[0]):
            return LeaderChoice(replicas[0], partition.isr, replicas)
        return None


@hookimpl
def kcontroller_leader_selectors() -> list[type[LeaderSelector]]:
    return [PreferredSelector080]
