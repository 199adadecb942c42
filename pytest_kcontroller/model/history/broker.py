"""What a node does as a broker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pytest_kcontroller.model.history.event import NOWHERE, About, Batch, Focus, HistoryEvent, Rank, event
from pytest_kcontroller.model.history.fields import BrokerEpoch, Columns, Epoch, ErrorName, Why
from pytest_kcontroller.model.text import in_words


@event
class BrokerBecomeLeader(Batch):
    """It leads these partitions now, by one LeaderAndIsr request; `broker_epoch` is the registration that it named."""

    kind = "broker.become-leader"
    rank = Rank.UNTOLD
    columns = ("partition", "leader", "leader_epoch")
    one = "it leads {tp} now (leader epoch {leader_epoch}, controller epoch {epoch})"
    text = "it leads {count} partitions now (controller epoch {epoch})"
    epoch: Epoch
    broker_epoch: BrokerEpoch
    topics: Columns


@event
class BrokerBecomeFollower(Batch):
    """It follows the leaders of these partitions now, by one LeaderAndIsr request."""

    kind = "broker.become-follower"
    rank = Rank.UNTOLD
    columns = ("partition", "leader", "leader_epoch")
    one = "it follows {leader} for {tp} now (controller epoch {epoch})"
    text = "it follows the leaders of {count} partitions now (controller epoch {epoch})"
    epoch: Epoch
    broker_epoch: BrokerEpoch
    topics: Columns


@event
class BrokerStopReplica(Batch):
    """It was told to stop these replicas, by one StopReplica request, and to delete some; a refused one stays as it is."""

    kind = "broker.stop-replica"
    rank = Rank.UNTOLD
    columns = ("partition", "leader_epoch", "delete", "refused")
    one = "it was told to stop {tp} (delete: {delete}, error {refused}, controller epoch {epoch})"
    text = "it was told to stop {count} replicas (controller epoch {epoch})"
    epoch: Epoch
    broker_epoch: BrokerEpoch
    topics: Columns


@event
class BrokerIsrChanged(Batch):
    """The controller has accepted these changes of the ISR, by one AlterPartition request."""

    kind = "broker.isr-changed"
    columns = ("partition", "isr", "partition_epoch")
    one = "the ISR of {tp} became {isr}"
    text = "the ISR of {count} partitions has changed"
    each = "{tp} to {isr}"
    topics: Columns


@event
class BrokerAnsweredClient(HistoryEvent):
    """It has answered a request of a client without an error: what was asked for is in ZooKeeper."""

    kind = "broker.answered-client"
    text = "it answered a client that {api} was done: {znode}"
    api: Annotated[str, About("the name of a request of Kafka's protocol")]
    znode: Annotated[str, About("the path of a znode")]
    holds: Annotated[
        Mapping[str, Any],
        About("what is in the znode, by the names of its JSON; `partitions`: how many; empty: it is there"),
    ]


@event
class BrokerControlledShutdown(HistoryEvent):
    """It is about to stop, and has asked the controller for a controlled shutdown."""

    kind = "broker.controlled-shutdown"
    done: Annotated[bool, About("nobody needs it any more")]
    tries: Annotated[int, About("how often it has asked")]
    remaining: Annotated[list[str], About("the partitions (TOPIC-NUMBER) that it still leads")]
    why: Annotated[str | None, About("why it was not done; null: it leads nothing that others could")]

    def sentence(self, focus: Focus = NOWHERE) -> str:
        if self.done is True:
            return "it is about to stop: its controlled shutdown is done, and it leads nothing that others could"
        return f"it is about to stop without a controlled shutdown ({in_words(self.why)}); it still leads " + in_words(
            self.remaining
        )


@event
class BrokerLogDirFailed(HistoryEvent):
    """Its log directory cannot be written, or read; there is no other one, so it halts."""

    kind = "broker.log-dir-failed"
    text = "its log directory has failed, and there is no other one: {why} ({file})"
    file: Annotated[str, About("a file in the node's own directory")]
    code: ErrorName
    why: Why


@event
class BrokerLogDirOffline(HistoryEvent):
    """One of its log directories cannot be written, or read; it goes on with the others, without what was in that one."""

    kind = "broker.log-dir-offline"
    text = "its {directory} has failed, and with it its replicas of {partitions}: {why} ({file})"
    directory: Annotated[str, About("its name, below the node's own directory")]
    partitions: Annotated[list[str], About("the partitions (TOPIC-NUMBER) whose replicas were there and are offline")]
    file: Annotated[str, About("a file in the node's own directory")]
    code: ErrorName
    why: Why
