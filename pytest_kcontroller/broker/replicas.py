"""The partitions that one broker hosts: what a controller asks for is checked and applied here. No I/O, no clock.

Sources: kafka.server.ReplicaManager (becomeLeaderOrFollower, stopReplicas), kafka.cluster.Partition (makeLeader,
makeFollower, handleAlterPartitionUpdate, handleAlterPartitionError), kafka.server.DefaultAlterPartitionManager, all 3.9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from pytest_kcontroller.model.cluster import EPOCH_DURING_DELETE, NO_LEADER, UNKNOWN_EPOCH, TopicPartition
from pytest_kcontroller.seams import seam
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import AlteredPartition, LeaderAndIsrPartitionState, StopReplicaPartitionState

INITIAL_CONTROLLER_EPOCH = 0
"""One below the first legal one, so that a restarted broker accepts any controller."""

NO_LEADER_EPOCH = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingIsr:
    """What a leader asks of the controller: this ISR instead of that of `partition_epoch`.

    It stays the same until it is answered: the answer to it may have been lost after the controller had done it, and only
    the same item again is recognised as done.
    """

    tp: TopicPartition
    topic_id: str
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
    pending: PendingIsr | None = None
    outdated: bool = False
    """The controller refused an ISR because we know less than it does: only a new LeaderAndIsr helps."""


Online = Callable[[Replica, int], bool | None]
"""Whether what a broker has of that replica can be reached there; None: nobody has said so since its leader was elected."""

OUTDATED_ERRORS = (
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INVALID_UPDATE_VERSION,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.NEW_LEADER_ELECTED,
)
"""Errors after which a leader waits for the controller's next LeaderAndIsr (Partition.handleAlterPartitionError)."""

WITHDRAWN_ERRORS = (ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED)
"""Errors after which a leader goes back to the ISR that it had; the follower's next sign of life makes it ask again."""


class Replicas:
    """All partitions of one broker. Methods that change something return what changed, for the records."""

    def __init__(self, broker: int) -> None:
        self._broker = broker
        self.controller_epoch = INITIAL_CONTROLLER_EPOCH
        self._hosted: dict[TopicPartition, Replica] = {}
        self._offline: dict[TopicPartition, None] = {}
        """Those whose log directory has failed: nothing is done with them any more (Kafka: HostedPartition.Offline)."""
        self._led: dict[TopicPartition, None] = {}
        self._short: dict[TopicPartition, None] = {}
        """Of what we lead: where the ISR lacks a replica, or something is pending."""

    def get(self, tp: TopicPartition) -> Replica | None:
        return self._hosted.get(tp)

    def unheard_of(self, tp: TopicPartition) -> bool:
        """Whether it is neither hosted nor offline."""
        return tp not in self._hosted and tp not in self._offline

    @property
    def hosted(self) -> tuple[Replica, ...]:
        """All of them, sorted."""
        return tuple(self._hosted[tp] for tp in sorted(self._hosted))

    @property
    def led(self) -> int:
        """How many partitions this broker leads."""
        return len(self._led)

    @property
    def any_short(self) -> bool:
        """Whether `pending` may have anything to ask."""
        return bool(self._short)

    def admit(self, *, controller_epoch: int, broker_epoch: int, own_broker_epoch: int) -> ErrorCode:
        """The two checks of every request; remembers the controller epoch if it is admitted.

        `broker_epoch` is what the controller thinks ours is: less than our own, it was meant for an earlier life of
        this broker; unknown (-1) and greater ones pass (KIP-380, KAFKA-9965).
        """
        if is_for_earlier_life(broker_epoch, own_broker_epoch):
            return ErrorCode.STALE_BROKER_EPOCH
        if controller_epoch < self.controller_epoch:
            return ErrorCode.STALE_CONTROLLER_EPOCH
        self.controller_epoch = controller_epoch
        return ErrorCode.NONE

    def lead_or_follow(
        self,
        tp: TopicPartition,
        topic_id: str | None,
        entry: LeaderAndIsrPartitionState,
        live: Callable[[int], bool],
    ) -> tuple[ErrorCode, Replica | None]:
        """Applies one partition of an admitted LeaderAndIsr; the replica if its leader epoch is new.

        Who is to follow somebody that is not `live` by its metadata stays what it is, and takes the same again later: where
        that leader is, it could not know (ReplicaManager.makeFollowers).
        """
        if tp in self._offline:
            return ErrorCode.KAFKA_STORAGE_ERROR, None
        known = self._hosted.get(tp)
        if known is not None and topic_id and known.topic_id and topic_id != known.topic_id:
            return ErrorCode.INCONSISTENT_TOPIC_ID, None
        epoch = NO_LEADER_EPOCH if known is None else known.leader_epoch
        if known is not None and entry.leader_epoch == epoch and known.topic_id is None and topic_id is not None:
            # A controller that has just given the topic an id says so without a new leader epoch.
            self._host(replace(known, topic_id=topic_id))
            return ErrorCode.NONE, None
        if entry.leader_epoch <= epoch:
            return ErrorCode.STALE_CONTROLLER_EPOCH, None
        if self._broker not in entry.replicas:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None
        if entry.leader != self._broker and not live(entry.leader):
            if known is None:
                self._host(_without_role(tp, topic_id, entry))
            return ErrorCode.NONE, None
        replica = Replica(
            tp=tp,
            topic_id=topic_id or (None if known is None else known.topic_id),
            leader=entry.leader,
            leader_epoch=entry.leader_epoch,
            isr=entry.isr,
            partition_epoch=entry.partition_epoch,
            replicas=assigned_replicas(known, entry.replicas),
            controller_epoch=entry.controller_epoch,
        )
        self._host(replica)
        return ErrorCode.NONE, replica

    def stop(self, tp: TopicPartition, entry: StopReplicaPartitionState) -> ErrorCode:
        """Applies one partition of an admitted StopReplica. One that we do not host is stopped already."""
        if tp in self._offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        known = self._hosted.get(tp)
        if known is None:
            return ErrorCode.NONE
        epoch = entry.leader_epoch
        if epoch not in (EPOCH_DURING_DELETE, NO_LEADER_EPOCH) and is_outdated_stop(epoch, known.leader_epoch):
            return ErrorCode.FENCED_LEADER_EPOCH
        if entry.delete_partition:
            self._forget(tp)
        else:
            self._host(replace(known, stopped=True, pending=None))
        return ErrorCode.NONE

    def go_offline(self, tps: Iterable[TopicPartition]) -> None:
        """They are in a log directory that has failed, or may be. Until the broker is started again."""
        for tp in tps:
            self._forget(tp)
            self._offline[tp] = None

    def _forget(self, tp: TopicPartition) -> None:
        for index in (self._hosted, self._led, self._short):
            index.pop(tp, None)

    def _host(self, replica: Replica) -> None:
        """The one place that says what a replica is, but for its end: keeps the indices true."""
        tp, leads = replica.tp, replica.leader == self._broker and not replica.stopped
        self._hosted[tp] = replica
        for index, belongs in ((self._led, leads), (self._short, leads and _is_short(replica))):
            if belongs:
                index[tp] = None
            else:
                index.pop(tp, None)

    # --- the ISR of what we lead ---

    def pending(
        self, live: Callable[[int], bool], online: Online | None = None, with_offline: Iterable[TopicPartition] = ()
    ) -> tuple[PendingIsr, ...]:
        """What has to be asked now: what is unanswered as it was, and new ISRs with followers that are `live` again.

        Only assigned replicas are taken in; nobody is removed, since dead followers are the controller's business. With
        `online`, who is said to be so is taken in alone, and whoever else lives and is said not to be is removed: that can
        be in the partitions `with_offline` replicas only.
        """
        asked: list[PendingIsr] = []
        for tp in sorted({**self._short, **{tp: None for tp in with_offline if tp in self._led}}):
            replica = self._hosted[tp]
            pending = replica.pending
            if pending is None and (pending := _changed(replica, live, online)) is not None:
                self._host(replace(replica, pending=pending))
            if pending is not None:
                asked.append(pending)
        return tuple(asked)

    def complete(self, pending: PendingIsr, answer: AlteredPartition) -> Replica | None:
        """`pending` was answered with a state; the replica if its ISR changed by that."""
        replica = self._asking(pending)
        if replica is None:
            return None
        if answer.leader_epoch != replica.leader_epoch or answer.partition_epoch < replica.partition_epoch:
            self._host(replace(replica, pending=None, outdated=True))
            return None
        changed = (answer.partition_epoch, answer.isr) != (replica.partition_epoch, replica.isr)
        replica = replace(replica, isr=answer.isr, partition_epoch=answer.partition_epoch, pending=None)
        self._host(replica)
        return replica if changed else None

    def fail(self, pending: PendingIsr, error: int) -> None:
        """`pending` was answered with an error. Any other error than those named above: the same again."""
        if (replica := self._asking(pending)) is None:
            return
        if error in OUTDATED_ERRORS:
            self._host(replace(replica, pending=None, outdated=True))
        elif error in WITHDRAWN_ERRORS:
            self._host(replace(replica, pending=None))

    def _asking(self, pending: PendingIsr) -> Replica | None:
        """The replica that still waits for the answer to just this."""
        replica = self._hosted.get(pending.tp)
        return replica if replica is not None and replica.pending == pending else None


@seam("broker.is-for-earlier-life")
def is_for_earlier_life(broker_epoch: int, own_broker_epoch: int) -> bool:
    """Whether a request was meant for this broker before it registered again (KAFKA-7235)."""
    return UNKNOWN_EPOCH != broker_epoch < own_broker_epoch


def _without_role(tp: TopicPartition, topic_id: str | None, entry: LeaderAndIsrPartitionState) -> Replica:
    """A replica that is there, and has never led or followed anybody."""
    return Replica(
        tp=tp,
        topic_id=topic_id,
        leader=NO_LEADER,
        leader_epoch=NO_LEADER_EPOCH,
        isr=(),
        partition_epoch=UNKNOWN_EPOCH,
        replicas=entry.replicas,
        controller_epoch=entry.controller_epoch,
    )


@seam("broker.assigned-replicas")
def assigned_replicas(known: Replica | None, replicas: tuple[int, ...]) -> tuple[int, ...]:
    """Who may be in sync is who is assigned now, not who was (KAFKA-9672)."""
    return replicas


@seam("broker.is-outdated-stop")
def is_outdated_stop(leader_epoch: int, known: int) -> bool:
    """Whether the controller wanted a replica stopped before the one that we have was assigned to us (KAFKA-9539).

    With an equal epoch it is not: a replica that was never in sync is removed without a new one (KAFKA-13972, Kafka 3.5).
    """
    return leader_epoch < known


def _is_short(replica: Replica) -> bool:
    """Whether there may be something to ask for a partition that we lead."""
    if replica.outdated or replica.topic_id is None:  # AlterPartition names topics by id only
        return False
    return replica.pending is not None or any(member not in replica.isr for member in replica.replicas)


def _changed(replica: Replica, live: Callable[[int], bool], online: Online | None) -> PendingIsr | None:
    if replica.outdated or replica.topic_id is None:  # AlterPartition names topics by id only
        return None
    joining = tuple(
        r for r in replica.replicas if r not in replica.isr and live(r) and (online is None or online(replica, r))
    )
    leaving = (
        ()
        if online is None
        else tuple(r for r in replica.isr if r != replica.leader and live(r) and online(replica, r) is False)
    )
    if not joining and not leaving:
        return None
    return PendingIsr(
        tp=replica.tp,
        topic_id=replica.topic_id,
        leader_epoch=replica.leader_epoch,
        partition_epoch=replica.partition_epoch,
        isr=tuple(r for r in replica.isr if r in replica.replicas and r not in leaving) + joining,
    )
