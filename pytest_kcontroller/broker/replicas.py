"""The partitions that one broker hosts: what a controller orders is checked and applied here. No I/O, no clock.

Sources: kafka.server.ReplicaManager (becomeLeaderOrFollower, stopReplicas), kafka.cluster.Partition (makeLeader,
makeFollower, handleAlterPartitionUpdate, handleAlterPartitionError), kafka.server.DefaultAlterPartitionManager, all 3.9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pytest_kcontroller.model.cluster import LEADER_DURING_DELETE, UNKNOWN_EPOCH, TopicPartition
from pytest_kcontroller.runtime.seams import seam
from pytest_kcontroller.wire.errors import ErrorCode

EPOCH_DURING_DELETE = LEADER_DURING_DELETE
"""The leader epoch in a StopReplica for a topic that is being deleted: it overrides every other."""

INITIAL_CONTROLLER_EPOCH = 0
"""One below the first legal one, so that a restarted broker accepts any controller."""

NO_LEADER_EPOCH = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderOrder:
    """One partition of a LeaderAndIsr."""

    tp: TopicPartition
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    replicas: tuple[int, ...]
    controller_epoch: int
    """Of the controller that made this decision, not necessarily of the one that sends it."""
    topic_id: str | None = None


@dataclass(frozen=True, slots=True)
class StopOrder:
    """One partition of a StopReplica."""

    tp: TopicPartition
    leader_epoch: int
    delete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrQuestion:
    """What a leader asks of the controller: this ISR instead of that of `partition_epoch`.

    It stays the same until it is answered: the answer to it may have been lost after the controller had done it, and only
    the same question again is recognised as done.
    """

    tp: TopicPartition
    topic_id: str
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrAnswer:
    """One partition of a successful AlterPartition response."""

    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """This broker's copy of one partition and what it knows about the others."""

    tp: TopicPartition
    topic_id: str | None
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    replicas: tuple[int, ...]
    controller_epoch: int
    stopped: bool = False
    """StopReplica without deletion: it is kept, with its epoch, and does nothing."""
    question: IsrQuestion | None = None
    deaf: bool = False
    """The controller refused an ISR because we know less than it does: only a new LeaderAndIsr helps."""


FENCED_ANSWERS = (
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INVALID_UPDATE_VERSION,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.NEW_LEADER_ELECTED,
)
"""Answers after which a leader waits for the controller's next LeaderAndIsr (Partition.handleAlterPartitionError)."""

WITHDRAWN_ANSWERS = (ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED)
"""Answers after which a leader goes back to the ISR that it had; the follower's next sign of life makes it ask again."""


class Replicas:
    """All partitions of one broker. Methods that change something return what changed, for the records."""

    def __init__(self, broker: int) -> None:
        self._broker = broker
        self.controller_epoch = INITIAL_CONTROLLER_EPOCH
        self._hosted: dict[TopicPartition, Replica] = {}

    def get(self, tp: TopicPartition) -> Replica | None:
        return self._hosted.get(tp)

    @property
    def hosted(self) -> tuple[Replica, ...]:
        """All of them, sorted."""
        return tuple(self._hosted[tp] for tp in sorted(self._hosted))

    @property
    def led(self) -> int:
        """How many partitions this broker leads."""
        return sum(1 for replica in self._hosted.values() if self._leads(replica))

    def admit(self, *, controller_epoch: int, broker_epoch: int, own_broker_epoch: int) -> ErrorCode:
        """The two checks of every order; remembers the controller epoch if the order is admitted.

        `broker_epoch` is what the controller thinks ours is: less than our own, the order was meant for an earlier life of
        this broker; unknown (-1) and greater ones pass (KIP-380, KAFKA-9965).
        """
        if is_for_earlier_life(broker_epoch, own_broker_epoch):
            return ErrorCode.STALE_BROKER_EPOCH
        if controller_epoch < self.controller_epoch:
            return ErrorCode.STALE_CONTROLLER_EPOCH
        self.controller_epoch = controller_epoch
        return ErrorCode.NONE

    def lead_or_follow(self, order: LeaderOrder) -> tuple[ErrorCode, Replica | None]:
        """Applies one partition of an admitted LeaderAndIsr; the replica if its leader epoch is new."""
        known = self._hosted.get(order.tp)
        if known is not None and order.topic_id and known.topic_id and order.topic_id != known.topic_id:
            return ErrorCode.INCONSISTENT_TOPIC_ID, None
        epoch = NO_LEADER_EPOCH if known is None else known.leader_epoch
        if known is not None and order.leader_epoch == epoch and known.topic_id is None and order.topic_id is not None:
            # A controller that has just given the topic an id says so without a new leader epoch.
            self._hosted[order.tp] = replace(known, topic_id=order.topic_id)
            return ErrorCode.NONE, None
        if order.leader_epoch <= epoch:
            return ErrorCode.STALE_CONTROLLER_EPOCH, None
        if self._broker not in order.replicas:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None
        replica = Replica(
            tp=order.tp,
            topic_id=order.topic_id or (None if known is None else known.topic_id),
            leader=order.leader,
            leader_epoch=order.leader_epoch,
            isr=order.isr,
            partition_epoch=order.partition_epoch,
            replicas=order.replicas,
            controller_epoch=order.controller_epoch,
        )
        self._hosted[order.tp] = replica
        return ErrorCode.NONE, replica

    def stop(self, order: StopOrder) -> ErrorCode:
        """Applies one partition of an admitted StopReplica. One that we do not host is stopped already."""
        known = self._hosted.get(order.tp)
        if known is None:
            return ErrorCode.NONE
        # Equal epochs are accepted since 3.5 (KAFKA-13972).
        if order.leader_epoch not in (EPOCH_DURING_DELETE, NO_LEADER_EPOCH) and order.leader_epoch < known.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if order.delete:
            del self._hosted[order.tp]
        else:
            self._hosted[order.tp] = replace(known, stopped=True, question=None)
        return ErrorCode.NONE

    # --- the ISR of what we lead ---

    def questions(self, live: Callable[[int], bool]) -> tuple[IsrQuestion, ...]:
        """What has to be asked now: unanswered questions as they were, and new ones for followers that are `live` again.

        Only assigned replicas are taken in; nobody is removed, since dead followers are the controller's business.
        """
        asked: list[IsrQuestion] = []
        for replica in self.hosted:
            if not self._leads(replica) or replica.deaf:
                continue
            if (question := replica.question or _question(replica, live)) is not None:
                self._hosted[replica.tp] = replace(replica, question=question)
                asked.append(question)
        return tuple(asked)

    def answered(self, question: IsrQuestion, answer: IsrAnswer) -> Replica | None:
        """A question was answered with a state; the replica if its ISR changed by that."""
        replica = self._asking(question)
        if replica is None:
            return None
        if answer.leader_epoch != replica.leader_epoch or answer.partition_epoch < replica.partition_epoch:
            self._hosted[replica.tp] = replace(replica, question=None, deaf=True)
            return None
        changed = (answer.partition_epoch, answer.isr) != (replica.partition_epoch, replica.isr)
        replica = replace(replica, isr=answer.isr, partition_epoch=answer.partition_epoch, question=None)
        self._hosted[replica.tp] = replica
        return replica if changed else None

    def refused(self, question: IsrQuestion, error: ErrorCode) -> None:
        """A question was answered with an error. Any other error than those named above: the same question again."""
        if (replica := self._asking(question)) is None:
            return
        if error in FENCED_ANSWERS:
            self._hosted[replica.tp] = replace(replica, question=None, deaf=True)
        elif error in WITHDRAWN_ANSWERS:
            self._hosted[replica.tp] = replace(replica, question=None)

    def _asking(self, question: IsrQuestion) -> Replica | None:
        """The replica that still waits for the answer to just this question."""
        replica = self._hosted.get(question.tp)
        return replica if replica is not None and replica.question == question else None

    def _leads(self, replica: Replica) -> bool:
        return replica.leader == self._broker and not replica.stopped


@seam("broker.is-for-earlier-life")
def is_for_earlier_life(broker_epoch: int, own_broker_epoch: int) -> bool:
    """Whether an order was meant for this broker before it registered again (KAFKA-7235)."""
    return UNKNOWN_EPOCH != broker_epoch < own_broker_epoch


def _question(replica: Replica, live: Callable[[int], bool]) -> IsrQuestion | None:
    joining = tuple(r for r in replica.replicas if r not in replica.isr and live(r))
    if not joining or replica.topic_id is None:  # AlterPartition names topics by id only
        return None
    return IsrQuestion(
        tp=replica.tp,
        topic_id=replica.topic_id,
        leader_epoch=replica.leader_epoch,
        partition_epoch=replica.partition_epoch,
        isr=_within(replica.isr, replica.replicas) + joining,
    )


def _within(isr: Sequence[int], replicas: Sequence[int]) -> tuple[int, ...]:
    return tuple(r for r in isr if r in replicas)
