"""`reassigned@0.8.0`: the rule of Kafka 0.8.0 for a partition whose leader is not among the targets of its
reassignment."""

from __future__ import annotations

from pytest_kcontroller.hookspecs import LeaderSelector, hookimpl
from pytest_kcontroller.model.election import ElectionReason, LeaderChoice, PartitionView


class ReassignedSelector080:
    """Kafka 0.8.0: as `reassigned`, but the first target that lives, whether it is in sync or not: records can be lost.

    One that is not in sync is a bad answer, so that the stock rule decides then.
    (kafka.controller.ReassignedPartitionLeaderSelector, 0.8.0.)
    """

    name = "reassigned@0.8.0"

    def select(self, partition: PartitionView, reason: ElectionReason) -> LeaderChoice | None:
        targets = partition.assignment.target
        leader = next((replica for replica in targets if partition.brokers.live(replica)), None)
        return None if leader is None else LeaderChoice(leader, partition.isr, targets)


@hookimpl
def kcontroller_leader_selectors() -> list[type[LeaderSelector]]:
    return [ReassignedSelector080]
