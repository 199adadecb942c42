"""What a leader election is asked and what it answers: frozen values, shared by the controller and by plugins.

The rules themselves are Kafka 3.9's (kafka.controller.PartitionLeaderElectionAlgorithms and Election).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from types import MappingProxyType

from pytest_kcontroller.model.cluster import Assignment, are_broker_ids


class ElectionReason(StrEnum):
    """Why a partition needs a leader; the keys of `selectors` in settings and campaigns."""

    OFFLINE = "offline"
    """The leader is gone, or the partition was offline."""
    REASSIGNED = "reassigned"
    """The replicas are being moved and the leader is not among the targets."""
    PREFERRED = "preferred"
    """The first replica shall lead again."""
    CONTROLLED_SHUTDOWN = "controlled_shutdown"
    """A broker asked to be relieved before it stops."""


class ElectionType(IntEnum):
    """What an admin can ask for; the numbers are those of the wire (org.apache.kafka.common.ElectionType)."""

    PREFERRED = 0
    """The first replica shall lead."""
    UNCLEAN = 1
    """Any live replica shall lead, where nobody does: records that only the in-sync ones have are lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerView:
    """One registered broker as the controller sees it."""

    id: int
    shutting_down: bool = False
    """It asked for a controlled shutdown and is still registered."""
    rack: str | None = None

    @property
    def live(self) -> bool:
        """Registered and not shutting down: it may become a leader."""
        return not self.shutting_down


@dataclass(frozen=True, slots=True)
class BrokerTable:
    """All registered brokers, one table shared by the views of a batch.

    `leader_counts` says how many partitions each broker leads. It is a read-only window on the controller's own counts:
    within a batch it includes the choices already made, in partition order.
    """

    brokers: Mapping[int, BrokerView]
    leader_counts: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))

    def __iter__(self) -> Iterator[BrokerView]:
        """By id, ascending."""
        return (self.brokers[broker] for broker in sorted(self.brokers))

    def live(self, broker: int) -> bool:
        """Registered and not shutting down (Kafka: a replica is online)."""
        view = self.brokers.get(broker)
        return view is not None and view.live

    def registered(self, broker: int) -> bool:
        """In /brokers/ids, shutting down or not."""
        return broker in self.brokers

    def shutting_down(self, broker: int) -> bool:
        view = self.brokers.get(broker)
        return view is not None and view.shutting_down

    def rack(self, broker: int) -> str | None:
        view = self.brokers.get(broker)
        return None if view is None else view.rack

    def leaders(self, broker: int) -> int:
        """How many partitions `broker` leads now."""
        return self.leader_counts.get(broker, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionView:
    """Everything a selector may know about one partition."""

    topic: str
    partition: int
    assignment: Assignment
    leader: int
    """As in its state znode now; -1: nobody."""
    isr: tuple[int, ...]
    leader_epoch: int
    partition_epoch: int
    """The version of the state znode."""
    controller_epoch: int
    """Of the controller that asks."""
    unclean_allowed: bool
    """Whether a leader may come from outside the ISR if no member of it is live."""
    brokers: BrokerTable
    """Those whose log directory with this partition has failed are not among them."""

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class LeaderChoice:
    """A selector's answer. `recipients` are the brokers to be told; None: the rule of the reason (`told`).

    Lists are taken for tuples.
    """

    leader: int
    isr: tuple[int, ...]
    recipients: tuple[int, ...] | None = None

    @property
    def names_brokers(self) -> bool:
        """By their ids: a plugin may give anything."""
        if type(self.leader) is not int or not are_broker_ids(self.isr):
            return False
        return self.recipients is None or are_broker_ids(self.recipients)

    def of_tuples(self) -> LeaderChoice:
        """The same, now that it is known to name brokers: a list is the selector's, which may use it for its next answer."""
        recipients = self.recipients
        if isinstance(self.isr, tuple) and (recipients is None or isinstance(recipients, tuple)):
            return self
        return LeaderChoice(self.leader, tuple(self.isr), None if recipients is None else tuple(recipients))


def told(assignment: Assignment, brokers: BrokerTable, reason: ElectionReason) -> tuple[int, ...]:
    """The rule of the reason (kafka.controller.Election): who gets a LeaderAndIsr of the new leader, in the replicas' order.

    Targets of a reassignment, and the replicas of a preferred election, are named whether they are registered or not: who is
    not gets no request.
    """
    match reason:
        case ElectionReason.OFFLINE:
            return tuple(replica for replica in assignment.replicas if brokers.live(replica))
        case ElectionReason.REASSIGNED:
            return assignment.target
        case ElectionReason.PREFERRED:
            return assignment.replicas
        case ElectionReason.CONTROLLED_SHUTDOWN:
            return tuple(replica for replica in assignment.replicas if brokers.registered(replica))
