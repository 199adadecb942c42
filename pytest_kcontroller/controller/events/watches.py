"""Which event a watch puts into the queue.

Watches only say that something has changed: the event reads it anew, and so sets the watch again.
"""

from __future__ import annotations

from pytest_kcontroller.controller.events.broker_change import BrokerChange
from pytest_kcontroller.controller.events.broker_modifications import BrokerModifications
from pytest_kcontroller.controller.events.controller_change import ControllerChange
from pytest_kcontroller.controller.events.event import Event
from pytest_kcontroller.controller.events.partition_modifications import PartitionModifications
from pytest_kcontroller.controller.events.reelect import Reelect
from pytest_kcontroller.controller.events.topic_change import TopicChange
from pytest_kcontroller.zookeeper.session import WatchEvent, WatchKind
from pytest_kcontroller.zookeeper.znodes import BROKER_IDS, CONTROLLER, TOPICS, broker_of


def event_of(watch: WatchEvent) -> Event | None:
    """None: nothing is to be done."""
    if watch.path == CONTROLLER:
        return Reelect() if watch.kind is WatchKind.DELETED else ControllerChange()
    if watch.path == BROKER_IDS:
        return BrokerChange()
    if watch.path == TOPICS:
        return TopicChange()
    parent, _, name = watch.path.rpartition("/")
    if parent == BROKER_IDS and watch.kind is WatchKind.CHANGED and (broker := broker_of(name)) is not None:
        return BrokerModifications(broker)
    if parent == TOPICS and watch.kind in (WatchKind.CHANGED, WatchKind.DELETED):
        return PartitionModifications(name)
    return None
