"""`controlled-shutdown@0.8.2`: the rule of Kafka 0.8.2 and 0.9 for a partition whose leader asked to be relieved."""

from __future__ import annotations

from pytest_kcontroller.hookspecs import LeaderSelector, hookimpl
from pytest_kcontroller.model.election import ElectionReason, LeaderChoice, PartitionView


class ControlledShutdownSelector082:
    """Kafka 0.8.2 and 0.9: as `controlled-shutdown`, but the first that stays in the order of the *ISR*, not of the
    assignment (KAFKA-3670), whether it is registered or not.

    One that is not is a bad answer, so that the stock rule decides then.
    (kafka.controller.ControlledShutdownLeaderSelector, 0.8.2 and 0.9.)
    """

    name = "controlled-shutdown@0.8.2"

    def select(self, partition: PartitionView, reason: ElectionReason) -> LeaderChoice | None:
        brokers = partition.brokers
        isr = tuple(r for r in partition.isr if not brokers.shutting_down(r))
        recipients = tuple(r for r in partition.assignment.replicas if brokers.registered(r))
        return LeaderChoice(isr[0], isr, recipients) if isr else None


@hookimpl
def kcontroller_leader_selectors() -> list[type[LeaderSelector]]:
    return [ControlledShutdownSelector082]
