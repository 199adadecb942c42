"""The metadata cache: who is live and who leads what, as the newest controller said. No I/O.

Source of the rules: kafka.server.metadata.ZkMetadataCache (3.9).
"""

from __future__ import annotations

from functools import lru_cache

from pytest_kcontroller.model.cluster import LEADER_DURING_DELETE, Address, Broker, TopicPartition
from pytest_kcontroller.wire.messages import UpdateMetadataBroker, UpdateMetadataPartitionState, UpdateMetadataRequest

NO_CONTROLLER = -1
PLAINTEXT = 0
_REMEMBERED = 1024
"""Each broker comes again in every request."""


class MetadataCache:
    """Each request replaces the live brokers and merges its partitions: the last one wins."""

    def __init__(self) -> None:
        self.controller = NO_CONTROLLER
        self.controller_epoch = 0
        self.brokers: dict[int, Broker] = {}
        self.partitions: dict[TopicPartition, UpdateMetadataPartitionState] = {}

    def live(self, broker: int) -> bool:
        return broker in self.brokers

    def update(self, request: UpdateMetadataRequest) -> None:
        """Applies one request, whose controller epoch has been checked before."""
        self.controller, self.controller_epoch = request.controller_id, request.controller_epoch
        brokers = (_live_broker(broker) for broker in request.live_brokers)
        self.brokers = {broker.id: broker for broker in brokers if broker is not None}
        for topic in request.topic_states:
            for entry in topic.partition_states:
                tp = TopicPartition(topic.topic_name, entry.partition_index)
                if entry.leader == LEADER_DURING_DELETE:
                    self.partitions.pop(tp, None)
                else:
                    self.partitions[tp] = entry

    def to_json(self) -> dict[str, object]:
        """For checks: equal on two nodes if and only if they were sent the same."""
        return {
            "controller": self.controller,
            "brokers": {str(id_): str(broker.address) for id_, broker in sorted(self.brokers.items())},
            "partitions": {
                str(tp): {
                    "leader": p.leader,
                    "leader_epoch": p.leader_epoch,
                    "isr": list(p.isr),
                    "partition_epoch": p.zk_version,
                    "controller_epoch": p.controller_epoch,
                    "replicas": list(p.replicas),
                    "offline_replicas": list(p.offline_replicas),
                }
                for tp, p in sorted(self.partitions.items())
            },
        }


def _live_broker(broker: UpdateMetadataBroker) -> Broker | None:
    for endpoint in broker.endpoints:
        if endpoint.security_protocol == PLAINTEXT:
            return _broker(broker.id, endpoint.host, endpoint.port, broker.rack)
    return None


@lru_cache(maxsize=_REMEMBERED)
def _broker(number: int, host: str, port: int, rack: str | None) -> Broker:
    return Broker(id=number, address=Address(host, port), rack=rack)
