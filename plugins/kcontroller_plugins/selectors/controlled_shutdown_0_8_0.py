"""`controlled-shutdown@0.8.0`: the rule of Kafka 0.8.0 for a partition whose leader asked to be relieved."""

from __future__ import annotations

from pytest_kcontroller.hookspecs import LeaderSelector, hookimpl
from pytest_kcontroller.model.election import ElectionReason, LeaderChoice, PartitionView


class ControlledShutdownSelector080:
    """Kafka 0.8.0: as `controlled-shutdown`, but in the order of the *ISR*, not of the assignment; and the present
    leader leaves the ISR even if it is not the one that is shutting down.

    (kafka.controller.ControlledShutdownLeaderSelector, 0.8.0.)
    """

    name = "controlled-shutdown@0.8.0"

    def select(self, partition: PartitionView, reason: ElectionReason) -> LeaderChoice | None:
        brokers = partition.brokers
        isr = tuple(r for r in partition.isr if r != partition.leader and not brokers.shutting_down(r))
        recipients = tuple(r for r in partition.assignment.replicas if brokers.registered(r))
        return LeaderChoice(isr[0], isr, recipients) if isr else None


@hookimpl
def kcontroller_leader_selectors() -> list[type[LeaderSelector]]:
    return [ControlledShutdownSelector080]
