"""The metadata cache: who is live and who leads what, as the newest controller said. No I/O.

Source of the rules: kafka.server.metadata.ZkMetadataCache (3.9).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache

from pytest_kcontroller.model.cluster import LEADER_DURING_DELETE, UNKNOWN_EPOCH, Address, Broker, TopicPartition
from pytest_kcontroller.model.turns import MOST
from pytest_kcontroller.wire.messages import (
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from pytest_kcontroller.wire.topic_ids import ZERO_TOPIC_ID

NO_CONTROLLER = -1
PLAINTEXT = 0
_REMEMBERED = 1024
"""Each broker comes again in every request."""


class MetadataCache:
    """Each request replaces the live brokers and merges its partitions: the last one wins.

    A new controller begins with all partitions that there are, and so does any with a broker that has registered anew. So
    what either tells first replaces all from before: who was out of reach when a topic was deleted would know it for ever,
    as Kafka's brokers do. That may be several requests, of which all but the last are full; what was known before stays
    until then, or clients would miss topics meanwhile.
    """

    def __init__(self) -> None:
        self._told_in = (0, UNKNOWN_EPOCH)
        """The controller epoch, and the broker epoch, in which the partitions were told."""
        self.controller = NO_CONTROLLER
        self.controller_epoch = 0
        self.brokers: dict[int, Broker] = {}
        self._topics: dict[str, dict[int, UpdateMetadataPartitionState]] = {}
        self._ids: dict[str, bytes] = {}
        self._names: dict[bytes, str] = {}
        """Topics and their ids as on the wire; one without an id is in neither."""
        self._with_offline: dict[TopicPartition, None] = {}
        self._earlier: dict[str, None] = {}
        """Topics of which only those before have told."""

    @property
    def topics(self) -> Mapping[str, Mapping[int, UpdateMetadataPartitionState]]:
        """Topic -> number of the partition -> what was said of it last; in no order."""
        return self._topics

    def topic_id(self, topic: str) -> bytes:
        """As on the wire: zero if it has none, or is unknown."""
        return self._ids.get(topic, ZERO_TOPIC_ID)

    def topic_of_id(self, topic_id: bytes) -> str | None:
        return self._names.get(topic_id)

    def leader(self, tp: TopicPartition) -> int | None:
        """A live broker; None: there is none, or nobody has said so."""
        entry = self._topics.get(tp.topic, {}).get(tp.partition)
        return entry.leader if entry is not None and self.live(entry.leader) else None

    @property
    def with_offline(self) -> Collection[TopicPartition]:
        """The partitions with replicas that were said to be offline; in no order."""
        return self._with_offline.keys()

    def online(self, tp: TopicPartition, leader_epoch: int, broker: int) -> bool | None:
        """Whether its replica there is so, as was said with this leader epoch or a later one; None: nothing was."""
        entry = self._topics.get(tp.topic, {}).get(tp.partition)
        if entry is None or entry.leader_epoch < leader_epoch:
            return None
        return broker not in entry.offline_replicas

    def live(self, broker: int) -> bool:
        return broker in self.brokers

    def update(self, request: UpdateMetadataRequest) -> None:
        """Applies one request, whose controller epoch has been checked before."""
        self.controller, self.controller_epoch = request.controller_id, request.controller_epoch
        brokers = (_live_broker(broker) for broker in request.live_brokers)
        self.brokers = {broker.id: broker for broker in brokers if broker is not None}
        if request.topic_states:
            self._begin(request.controller_epoch, request.broker_epoch)
        for topic in request.topic_states:
            if topic.topic_name in self._earlier:
                self._forget(topic.topic_name)
            self._update(topic)
        if request.topic_states and sum(len(topic.partition_states) for topic in request.topic_states) != MOST:
            for name in list(self._earlier):
                self._forget(name)

    def _begin(self, controller_epoch: int, broker_epoch: int) -> None:
        told_in = controller_epoch, max(broker_epoch, self._told_in[1])
        if told_in != self._told_in:
            self._told_in, self._earlier = told_in, dict.fromkeys(self._topics)

    def _forget(self, name: str) -> None:
        self._earlier.pop(name, None)
        for number in self._topics.pop(name, ()):
            self._with_offline.pop(TopicPartition(name, number), None)
        self._names.pop(self._ids.pop(name, ZERO_TOPIC_ID), None)

    def _update(self, topic: UpdateMetadataTopicState) -> None:
        name, topic_id = topic.topic_name, topic.topic_id
        if topic_id != self.topic_id(name):
            self._names.pop(self._ids.pop(name, ZERO_TOPIC_ID), None)
            if topic_id != ZERO_TOPIC_ID:
                self._ids[name], self._names[topic_id] = topic_id, name
        known = self._topics.setdefault(name, {})
        for entry in topic.partition_states:
            tp = TopicPartition(name, entry.partition_index)
            self._with_offline.pop(tp, None)
            if entry.leader == LEADER_DURING_DELETE:
                known.pop(tp.partition, None)
                continue
            known[tp.partition] = entry
            if entry.offline_replicas:
                self._with_offline[tp] = None
        if not known:
            self._forget(name)

    def to_json(self) -> dict[str, object]:
        """For checks: equal on two nodes if and only if they were sent the same."""
        return {
            "controller": self.controller,
            "brokers": {str(id_): str(broker.address) for id_, broker in sorted(self.brokers.items())},
            "partitions": {
                f"{name}-{number}": {
                    "leader": p.leader,
                    "leader_epoch": p.leader_epoch,
                    "isr": list(p.isr),
                    "partition_epoch": p.zk_version,
                    "controller_epoch": p.controller_epoch,
                    "replicas": list(p.replicas),
                    "offline_replicas": list(p.offline_replicas),
                }
                for name, partitions in sorted(self._topics.items())
                for number, p in sorted(partitions.items())
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
