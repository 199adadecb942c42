"""Which event a watch puts into the queue.

Watches only say that something has changed: the event reads it anew, and so sets the watch again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pytest_kcontroller.controller.events.broker_change import BrokerChange
from pytest_kcontroller.controller.events.broker_modifications import BrokerModifications
from pytest_kcontroller.controller.events.config_change import ConfigChange
from pytest_kcontroller.controller.events.controller_change import ControllerChange
from pytest_kcontroller.controller.events.event import Event
from pytest_kcontroller.controller.events.isr_change_notification import IsrChangeNotification
from pytest_kcontroller.controller.events.log_dir_event_notification import LogDirEventNotification
from pytest_kcontroller.controller.events.partition_modifications import PartitionModifications
from pytest_kcontroller.controller.events.reelect import Reelect
from pytest_kcontroller.controller.events.replica_leader_election import PreferredReplicaElection
from pytest_kcontroller.controller.events.topic_change import TopicChange
from pytest_kcontroller.controller.events.topic_deletion import TopicDeletion
from pytest_kcontroller.controller.events.zk_partition_reassignment import ZkPartitionReassignment
from pytest_kcontroller.seams import seam
from pytest_kcontroller.zookeeper.config_znodes import CONFIG_CHANGES
from pytest_kcontroller.zookeeper.partition_lists import PREFERRED_ELECTION
from pytest_kcontroller.zookeeper.session import WatchEvent, WatchKind
from pytest_kcontroller.zookeeper.znodes import (
    BROKER_IDS,
    CONTROLLER,
    DELETE_TOPICS,
    ISR_CHANGE_NOTIFICATION,
    LOG_DIR_EVENT_NOTIFICATION,
    REASSIGN_PARTITIONS,
    TOPICS,
    broker_of,
)

_EVENTS: Mapping[str, Callable[[], Event]] = {
    BROKER_IDS: BrokerChange,
    TOPICS: TopicChange,
    DELETE_TOPICS: TopicDeletion,
    CONFIG_CHANGES: ConfigChange,
    PREFERRED_ELECTION: PreferredReplicaElection,
    ISR_CHANGE_NOTIFICATION: IsrChangeNotification,
    LOG_DIR_EVENT_NOTIFICATION: LogDirEventNotification,
}
"""Of a path that is watched in one way only."""


def event_of(watch: WatchEvent) -> Event | None:
    """None: nothing is to be done."""
    if watch.path == CONTROLLER:
        return Reelect() if watch.kind is WatchKind.DELETED else ControllerChange()
    if (event := _EVENTS.get(watch.path)) is not None:
        return event()
    if watch.path == REASSIGN_PARTITIONS:
        return ZkPartitionReassignment() if concerns_reassignments(watch.kind) else None
    parent, _, name = watch.path.rpartition("/")
    if parent == BROKER_IDS and watch.kind is WatchKind.CHANGED and (broker := broker_of(name)) is not None:
        return BrokerModifications(broker)
    if parent == TOPICS and watch.kind in (WatchKind.CHANGED, WatchKind.DELETED):
        return PartitionModifications(name)
    return None


@seam("controller.concerns-reassignments")
def concerns_reassignments(kind: WatchKind) -> bool:
    """A request that is there may be added to while it is being worked on (KAFKA-9478)."""
    return True
