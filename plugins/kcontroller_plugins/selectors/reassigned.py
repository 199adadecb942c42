"""`reassigned`: Kafka 3.9's rule for a partition whose leader is not among the targets of its reassignment."""

from __future__ import annotations

from pytest_kcontroller.hookspecs import LeaderSelector, hookimpl
from pytest_kcontroller.model.election import ElectionReason, LeaderChoice, PartitionView


class ReassignedSelector:
    """The first target replica that is live and in the ISR; the ISR stays as it is.

    (kafka.controller.PartitionLeaderElectionAlgorithms.reassignPartitionLeaderElection)
    """

    name = "reassigned"

    def select(self, partition: PartitionView, reason: ElectionReason) -> LeaderChoice | None:
        for replica in (targets := partition.assignment.target):
            if replica in partition.isr and partition.brokers.live(replica):
                return LeaderChoice(replica, partition.isr, targets)
        return None


@hookimpl
def kcontroller_leader_selectors() -> list[type[LeaderSelector]]:
    return [ReassignedSelector]
