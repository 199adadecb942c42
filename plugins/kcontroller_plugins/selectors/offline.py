"""`offline`: Kafka 3.9's rule for a partition that lost its leader."""

from __future__ import annotations

from pytest_kcontroller.hookspecs import LeaderSelector, hookimpl
from pytest_kcontroller.model.election import ElectionReason, LeaderChoice, PartitionView


class OfflineSelector:
    """The first live assigned replica that is in the ISR; the ISR becomes its live members, in their old order.

    Without a live ISR member: nobody, or, if an unclean election is allowed, the first live assigned replica, alone.
    (kafka.controller.PartitionLeaderElectionAlgorithms.offlinePartitionLeaderElection; clean beats unclean always.)
    """

    name = "offline"

    def select(self, partition: PartitionView, reason: ElectionReason) -> LeaderChoice | None:
        live = tuple(r for r in partition.assignment.replicas if partition.brokers.live(r))
        if (clean := next((r for r in live if r in partition.isr), None)) is not None:
            return LeaderChoice(clean, tuple(r for r in partition.isr if partition.brokers.live(r)), live)
        if partition.unclean_allowed and live:
            return LeaderChoice(live[0], (live[0],), live)
        return None


@hookimpl
def kcontroller_leader_selectors() -> list[type[LeaderSelector]]:
    return [OfflineSelector]
