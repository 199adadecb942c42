"""`offline@0.8.0`: the rule of Kafka 0.8.0 for a partition that lost its leader."""

from __future__ import annotations

from pytest_kcontroller.hookspecs import LeaderSelector, hookimpl
from pytest_kcontroller.model.election import ElectionReason, LeaderChoice, PartitionView


class OfflineSelector080:
    """Kafka 0.8.0: as `offline`, but the first live member in the order of the *ISR*, not of the assignment, so that
    leaders pile up on the brokers that came back first; and an unclean election is always allowed.

    Where unclean elections are not allowed by the configuration, its answer is refused, and the stock rule decides.
    (kafka.controller.OfflinePartitionLeaderSelector, 0.8.0.)
    """

    name = "offline@0.8.0"

    def select(self, partition: PartitionView, reason: ElectionReason) -> LeaderChoice | None:
        live = tuple(r for r in partition.assignment.replicas if partition.brokers.live(r))
        if in_sync := tuple(r for r in partition.isr if partition.brokers.live(r)):
            return LeaderChoice(in_sync[0], in_sync, live)
        return LeaderChoice(live[0], (live[0],), live) if live else None


@hookimpl
def kcontroller_leader_selectors() -> list[type[LeaderSelector]]:
    return [OfflineSelector080]
