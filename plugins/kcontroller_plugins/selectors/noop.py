"""`noop`: leaves a partition as it is."""

from __future__ import annotations

from pytest_kcontroller.hookspecs import LeaderSelector, hookimpl
from pytest_kcontroller.model.election import ElectionReason, LeaderChoice, PartitionView


class NoopSelector:
    """The present leader and ISR again, if there is a leader (Kafka's NoOpLeaderSelector, up to 1.0).

    A dead leader is a bad answer, so the stock rule of the reason decides then.
    """

    name = "noop"

    def select(self, partition: PartitionView, reason: ElectionReason) -> LeaderChoice | None:
        if partition.leader < 0:
            return None
        return LeaderChoice(partition.leader, partition.isr, partition.assignment.replicas)


@hookimpl
def kcontroller_leader_selectors() -> list[type[LeaderSelector]]:
    return [NoopSelector]
