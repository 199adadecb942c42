"""`controlled-shutdown`: Kafka 3.9's rule for a partition whose leader asked to be relieved."""

from __future__ import annotations

from pytest_kcontroller.hookspecs import LeaderSelector, hookimpl
from pytest_kcontroller.model.election import ElectionReason, LeaderChoice, PartitionView


class ControlledShutdownSelector:
    """The first assigned replica that is registered, in the ISR and not shutting down.

    All brokers that are shutting down leave the ISR (dead ones stay: removing those is not this rule's business). The
    one that is shutting down is told too, so that it stops leading at once (KAFKA-7482).
    (kafka.controller.PartitionLeaderElectionAlgorithms.controlledShutdownPartitionLeaderElection)
    """

    name = "controlled-shutdown"

    def select(self, partition: PartitionView, reason: ElectionReason) -> LeaderChoice | None:
        brokers, isr = partition.brokers, partition.isr
        recipients = tuple(r for r in partition.assignment.replicas if brokers.registered(r))
        for replica in recipients:
            if replica in isr and not brokers.shutting_down(replica):
                return LeaderChoice(replica, tuple(r for r in isr if not brokers.shutting_down(r)), recipients)
        return None


@hookimpl
def kcontroller_leader_selectors() -> list[type[LeaderSelector]]:
    return [ControlledShutdownSelector]
