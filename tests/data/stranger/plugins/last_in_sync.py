"""A selector of this project's own: the last live replica that is in sync leads, not the first."""

from __future__ import annotations

from pytest_kcontroller.hookspecs import LeaderSelector, hookimpl
from pytest_kcontroller.model.election import ElectionReason, LeaderChoice, PartitionView


class LastInSync:
    name = "last-in-sync"

    def select(self, partition: PartitionView, reason: ElectionReason) -> LeaderChoice | None:
        isr = tuple(replica for replica in partition.isr if partition.brokers.live(replica))
        in_sync = [replica for replica in partition.assignment.replicas if replica in isr]
        return LeaderChoice(in_sync[-1], isr) if in_sync else None


@hookimpl
def kcontroller_leader_selectors() -> list[type[LeaderSelector]]:
    return [LastInSync]
