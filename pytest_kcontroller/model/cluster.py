"""Brokers, partitions and who leads them.

Sentinels are Kafka's: no leader -1, leader of a topic that is being deleted -2 (only in UpdateMetadata), leader
epoch in a StopReplica for such a topic -2, initial epochs 0, unknown epoch -1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from pytest_kcontroller.model.values import maker, value

NO_LEADER = -1
LEADER_DURING_DELETE = -2
EPOCH_DURING_DELETE = -2
INITIAL_LEADER_EPOCH = 0
INITIAL_PARTITION_EPOCH = 0
UNKNOWN_EPOCH = -1
MOST_EPOCH = 2**31 - 1

MOST_PORT = 65_535
_ADDRESS = re.compile(r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)\]|(?P<name>[\w.-]+)):(?P<port>[0-9]{1,5})")
MOST_SESSION_MS = 2**31 - 1
"""ZooKeeper has 31 bits for a session time-out; how much of it is granted is up to the server."""
MOST_LOG_DIRS = 16
"""Of one broker: Kafka has no limit, and a test no use for more."""


class TopicPartition(NamedTuple):
    """One partition. Sorts by topic, then by number. A tuple, since everything is looked up and sorted by it."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True, order=True)
class Address:
    """Where a TCP server listens. Port 0 asks the system for a free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> Address:
        """`HOST:PORT`, with an IPv6 address in brackets: `[::1]:2181`. Raises ValueError if it is not that."""
        found = _ADDRESS.fullmatch(text)
        if found is None or int(found["port"]) > MOST_PORT:
            raise ValueError(f"{text!r} is not HOST:PORT")
        return cls(found["ipv6"] or found["name"], int(found["port"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """A registered broker: what /brokers/ids/<id> says. `epoch` is that znode's czxid (Kafka 2.2+, KAFKA-7235)."""

    id: int
    address: Address
    epoch: int = UNKNOWN_EPOCH
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """Replicas of one partition, preferred first; `adding` and `removing` only while it is being reassigned.

    The controller's own is what selectors are shown: so it is no `value`, though there is one for each partition.
    """

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def reassigning(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas after the reassignment: without the removing ones."""
        return tuple(r for r in self.replicas if r not in self.removing)

    @property
    def origin(self) -> tuple[int, ...]:
        """The replicas before it, in the order in which they stand now: without the adding ones."""
        return tuple(r for r in self.replicas if r not in self.adding)

    def reassigned_to(self, target: tuple[int, ...]) -> Assignment:
        """On the way to `target` from where it began; to `origin`, it is cancelled (ReplicaAssignment.reassignTo)."""
        origin = self.origin
        replicas = tuple(dict.fromkeys(target + origin))
        return Assignment(
            replicas,
            adding=tuple(r for r in replicas if r not in origin),
            removing=tuple(r for r in replicas if r not in target),
        )

    def without(self, replica: int) -> Assignment:
        """A replica that is no more (ReplicaAssignment.removeReplica)."""
        kept = ([r for r in replicas if r != replica] for replicas in (self.replicas, self.adding, self.removing))
        return Assignment(*map(tuple, kept))


@value(frozen=True, slots=True, kw_only=True)
class LeaderAndIsr:
    """The content of a partition's state znode; `partition_epoch` is that znode's version (never in its JSON)."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    partition_epoch: int = INITIAL_PARTITION_EPOCH
    recovering: bool = False

    def during_delete(self) -> LeaderAndIsr:
        """What brokers are told of it once its topic is to be deleted (Kafka: LeaderAndIsr.duringDelete)."""
        return make_state(
            leader=LEADER_DURING_DELETE,
            leader_epoch=INITIAL_LEADER_EPOCH,
            isr=self.isr,
            controller_epoch=self.controller_epoch,
            partition_epoch=INITIAL_PARTITION_EPOCH,
            recovering=False,
        )

    def at(self, partition_epoch: int) -> LeaderAndIsr:
        """The same, in another version of the znode. Spelled out: dataclasses.replace takes three times as long."""
        return make_state(
            leader=self.leader,
            leader_epoch=self.leader_epoch,
            isr=self.isr,
            controller_epoch=self.controller_epoch,
            partition_epoch=partition_epoch,
            recovering=self.recovering,
        )

    def by(self, controller_epoch: int) -> LeaderAndIsr:
        """The same, for which another controller stands."""
        if self.controller_epoch == controller_epoch:
            return self
        return make_state(
            leader=self.leader,
            leader_epoch=self.leader_epoch,
            isr=self.isr,
            controller_epoch=controller_epoch,
            partition_epoch=self.partition_epoch,
            recovering=self.recovering,
        )


def are_broker_ids(ids: object) -> bool:
    """Whether a plugin has named brokers by their ids, in an order, which a set has not, and so that it can be read twice.

    True is no id: it equals 1 wherever something is looked up, and is written in another way.
    """
    return isinstance(ids, list | tuple) and all(type(one) is int for one in ids)


def next_epoch(epoch: int) -> int:
    """Of a leader or a controller. Kafka's epochs are Ints of Scala: the one after 2147483647 is -2147483648, which whoever
    knows the one before takes for an old one."""
    return epoch + 1 if epoch < MOST_EPOCH else -MOST_EPOCH - 1


make_state = maker(LeaderAndIsr)
"""A LeaderAndIsr, where there are many to be made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicState:
    """The content of a topic znode. `topic_id` is Kafka's unpadded URL-safe base64 of 16 bytes, or None (before 2.8)."""

    name: str
    topic_id: str | None = None
    partitions: dict[int, Assignment] = field(default_factory=dict)
