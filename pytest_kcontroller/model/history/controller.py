"""What a node does as the controller, and as a candidate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pytest_kcontroller.model.cluster import Assignment, LeaderAndIsr, TopicPartition
from pytest_kcontroller.model.history.event import NOWHERE, About, Batch, Focus, HistoryEvent, Rank, by_topic, event
from pytest_kcontroller.model.history.fields import (
    Broker,
    BrokerEpoch,
    Columns,
    Epoch,
    Error,
    Partition,
    Session,
    Topic,
    Why,
)
from pytest_kcontroller.model.text import in_words


@event
class ControllerElected(HistoryEvent):
    """It is the controller now: `/controller` and the epoch are written."""

    kind = "controller.elected"
    text = "it says: I am the controller, epoch {epoch} (session {session})"
    epoch: Epoch
    epoch_version: Annotated[int, About("the version of `/controller_epoch`, which fences its writes")]
    session: Session


@event
class ControllerFailover(HistoryEvent):
    """The context is loaded, the state machines are up."""

    kind = "controller.failover"
    text = "failover done: {partitions} partitions loaded, epoch {epoch}"
    epoch: Epoch
    partitions: Annotated[int, About("how many partitions there are")]
    duration_us: Annotated[int, About("since the election", unit="microseconds")]
    zxid: Annotated[int, About("the newest transaction that its session knew of then")]


@event
class ControllerResigned(HistoryEvent):
    """It is not the controller any more."""

    kind = "controller.resigned"
    text = "it resigns from epoch {epoch}: {reason}"
    epoch: Epoch
    reason: Why


@event
class ControllerFenced(HistoryEvent):
    """A write was refused because the epoch had moved on."""

    kind = "controller.fenced"
    text = "its write with epoch {epoch} was refused: the epoch had moved on ({count} operations)"
    epoch: Epoch
    paths: Annotated[list[str], About("the znodes of the first of its operations, at most 10")]
    count: Annotated[int, About("how many operations there were")]


@event
class ControllerControlledShutdown(HistoryEvent):
    """A broker that is about to stop was answered: others lead what it led."""

    kind = "controller.controlled-shutdown"
    broker: Broker
    broker_epoch: BrokerEpoch
    epoch: Epoch
    relieved: Annotated[
        Mapping[str, int], About("partition -> its partition epoch, where the broker is not needed now")
    ]
    remaining: Annotated[list[str], About("the partitions (TOPIC-NUMBER) that the broker still leads")]
    zxid: Annotated[int, About("the newest transaction that its session knew of then")]

    def sentence(self, focus: Focus = NOWHERE) -> str:
        return f"broker {self.broker} is shutting down and still leads {in_words(self.remaining)}"


@event
class ControllerEventFailed(HistoryEvent):
    """The handling of one of the controller's events ended with an error; the next event has its turn."""

    kind = "controller.event-failed"
    text = "the controller's event {event} failed: {error}"
    event: Annotated[str, About("the name of the controller's event")]
    error: Error


@event
class ControllerStateChangeFailed(HistoryEvent):
    """Some of a batch could not follow a transition of the partition or replica state machine; the others have."""

    kind = "controller.state-change-failed"
    text = "{count} {machine} state changes to {target} failed ({cause}): {failed}"
    epoch: Epoch
    machine: Annotated[str, About("partition or replica")]
    target: Annotated[str, About("the state that they were to have")]
    cause: Annotated[str, About("the controller's event that asked for it")]
    count: Annotated[int, About("how many there were")]
    failed: Annotated[Mapping[str, str], About("the first of them, at most 10, and why")]


@event
class LeaderElected(Batch):
    """Partitions got new leaders, and ZooKeeper has their states: one event for those that were written together."""

    kind = "leader.elected"
    rank = Rank.LEADERSHIP
    columns = ("partition", "leader", "leader_epoch", "isr")
    one = "it elected leader {leader} for {tp} (leader epoch {leader_epoch}, controller epoch {epoch}, {reason})"
    text = "it elected leaders for {count} partitions (controller epoch {epoch}, {reason})"
    each = "{leader} for {tp}"
    epoch: Epoch
    reason: Annotated[str, About("what the election was for: new, offline, controlled-shutdown ...")]
    topics: Columns

    @classmethod
    def of_states(cls, states: Mapping[TopicPartition, LeaderAndIsr], *, epoch: int, reason: str) -> LeaderElected:
        """As they were written."""
        told = ((tp.topic, (tp.partition, s.leader, s.leader_epoch, s.isr)) for tp, s in states.items())
        return cls(epoch=epoch, reason=reason, topics=by_topic(cls.columns, told))


@event
class LeaderAnswered(Batch):
    """A leader has answered LeaderAndIsr: for these partitions, which it leads, without an error."""

    kind = "leader.answered"
    rank = Rank.ANSWER
    columns = ("partition", "leader_epoch")
    one = "leader {leader} of {tp} answered LeaderAndIsr (leader epoch {leader_epoch})"
    text = "leader {leader} of {count} partitions answered LeaderAndIsr"
    leader: Broker
    epoch: Epoch
    topics: Columns


@event
class ReplicasDeleted(Batch):
    """A broker has answered StopReplica: it has deleted these replicas."""

    kind = "replicas.deleted"
    rank = Rank.ANSWER
    columns = ("partition",)
    one = "broker {broker} answered that it has deleted its replica of {tp}"
    text = "broker {broker} answered that it has deleted {count} replicas"
    broker: Broker
    epoch: Epoch
    topics: Columns


@event
class ReplicasReassigned(HistoryEvent):
    """A topic's znode has other replicas of a partition: a reassignment has begun, or ended if none is added or removed."""

    kind = "replicas.reassigned"
    topic: Topic
    partition: Partition
    epoch: Epoch
    replicas: Annotated[list[int], About("all of them, of before and after")]
    adding: Annotated[list[int], About("those that are added")]
    removing: Annotated[list[int], About("those that are removed")]

    @classmethod
    def to(cls, tp: TopicPartition, assignment: Assignment, *, epoch: int) -> ReplicasReassigned:
        replicas, adding, removing = map(list, (assignment.replicas, assignment.adding, assignment.removing))
        return cls(
            topic=tp.topic, partition=tp.partition, epoch=epoch, replicas=replicas, adding=adding, removing=removing
        )

    def sentence(self, focus: Focus = NOWHERE) -> str:
        if not self.adding and not self.removing:
            return f"the replicas of {self.topic}-{self.partition} are {self.replicas}: its reassignment has ended"
        changes = f"{self.adding} are added, {self.removing} are removed"
        return f"the replicas of {self.topic}-{self.partition} are being reassigned: of {self.replicas}, {changes}"


@event
class ReassignmentRequested(HistoryEvent):
    """A request has asked for other replicas of a partition, and they can be had."""

    kind = "reassignment.requested"
    text = "a request asks for the replicas {target} of {topic}-{partition}"
    topic: Topic
    partition: Partition
    target: Annotated[list[int], About("the replicas that it is to have")]


@event
class ReassignmentFailed(HistoryEvent):
    """A partition's replicas are not reassigned, or not now; the controller's other work goes on."""

    kind = "reassignment.failed"
    text = "the reassignment of {topic}-{partition} to {target} failed: {why}"
    topic: Topic
    partition: Partition
    target: Annotated[list[int], About("the replicas that it was to have")]
    why: Why


@event
class TopicDeletionComplete(HistoryEvent):
    """No broker has replicas of these topics any more: what ZooKeeper has of them, and the requests, are deleted now."""

    kind = "topic-deletion.complete"
    rank = Rank.WRITE
    text = "no broker has replicas of {topics} any more, and it deletes their znodes (controller epoch {epoch})"
    epoch: Epoch
    topics: Annotated[list[str], About("their names")]
    replicas: Annotated[
        Mapping[str, list[int]], About("partition (TOPIC-NUMBER) -> the brokers that had a replica of it")
    ]


@event
class SelectorBadAnswer(HistoryEvent):
    """A leader selector's answer could not be used: the stock rule decided."""

    kind = "selector.bad-answer"
    text = "the selector {plugin} gave a bad answer for {topic}-{partition}: {why}"
    plugin: Annotated[str, About("the name of the selector")]
    topic: Topic
    partition: Partition
    why: Why
