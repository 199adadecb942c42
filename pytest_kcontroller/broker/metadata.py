"""The metadata cache: who is live and who leads what, as the newest controller said. No I/O.

Source of the rules: kafka.server.metadata.ZkMetadataCache (3.9).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_kcontroller.model.cluster import LEADER_DURING_DELETE, Broker, TopicPartition

NO_CONTROLLER = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMetadata:
    """One partition as an UpdateMetadata told it."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    controller_epoch: int
    replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...] = ()


class MetadataCache:
    """Each message replaces the live brokers and merges its partitions: the last message wins."""

    def __init__(self) -> None:
        self.controller = NO_CONTROLLER
        self.controller_epoch = 0
        self.brokers: dict[int, Broker] = {}
        self.partitions: dict[TopicPartition, PartitionMetadata] = {}

    def live(self, broker: int) -> bool:
        return broker in self.brokers

    def update(
        self,
        controller: int,
        controller_epoch: int,
        brokers: Iterable[Broker],
        partitions: Iterable[tuple[TopicPartition, PartitionMetadata]],
    ) -> None:
        """Applies one message, whose controller epoch has been checked before."""
        self.controller, self.controller_epoch = controller, controller_epoch
        self.brokers = {broker.id: broker for broker in brokers}
        for tp, partition in partitions:
            if partition.leader == LEADER_DURING_DELETE:
                self.partitions.pop(tp, None)
            else:
                self.partitions[tp] = partition

    def to_json(self) -> dict[str, object]:
        """For checks: equal on two nodes if and only if they were told the same."""
        return {
            "controller": self.controller,
            "brokers": {str(id_): str(broker.address) for id_, broker in sorted(self.brokers.items())},
            "partitions": {
                str(tp): {
                    "leader": p.leader,
                    "leader_epoch": p.leader_epoch,
                    "isr": list(p.isr),
                    "partition_epoch": p.partition_epoch,
                    "controller_epoch": p.controller_epoch,
                    "replicas": list(p.replicas),
                    "offline_replicas": list(p.offline_replicas),
                }
                for tp, p in sorted(self.partitions.items())
            },
        }
