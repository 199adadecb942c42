"""What a controller counts, by Kafka's names.

Source: kafka.controller.ControllerStats, KafkaController, ControllerEventManager (3.9). Rates are counts here, since whoever
reads them twice has the rate; of times there are how many, all of them, the longest.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.controller.events.event import Event
from pytest_kcontroller.controller.transitions import ReplicaState
from pytest_kcontroller.model.cluster import TopicPartition

QUEUE_TIME = "EventQueueTimeMs"


@dataclass(slots=True)
class Timer:
    """Microseconds."""

    count: int = 0
    total_us: int = 0
    longest_us: int = 0

    def took(self, us: int) -> None:
        self.count, self.total_us, self.longest_us = self.count + 1, self.total_us + us, max(self.longest_us, us)

    def to_json(self) -> dict[str, object]:
        return {"count": self.count, "total_ms": self.total_us / 1000, "longest_ms": self.longest_us / 1000}


@dataclass(slots=True)
class Metrics:
    """Since the node's process began."""

    timers: dict[str, Timer] = field(default_factory=lambda: {QUEUE_TIME: Timer()})

    def waited(self, us: int) -> None:
        """So long an event was in the queue."""
        self.timers[QUEUE_TIME].took(us)

    def handled(self, event: Event, us: int) -> None:
        """Handling it took so long, whatever became of it."""
        if event.metric is not None:
            self.timers.setdefault(event.metric, Timer()).took(us)

    def to_json(self, context: Context | None, waiting: int) -> dict[str, object]:
        """Name -> value. `context` None: not the active controller, which knows of nothing: all are 0, as Kafka's."""
        timers = {name: timer.to_json() for name, timer in sorted(self.timers.items())}
        return {**_gauges(context), "EventQueueSize": waiting, **timers}


def _gauges(context: Context | None) -> dict[str, int]:
    known = Context(0, 0) if context is None else context
    deletions = known.deletions
    doomed = known.replicas_of(deletions.queued)
    deleted = [known.replica_state(tp, broker) for broker, hosted in doomed.items() for tp in hosted]
    return {
        "ActiveControllerCount": int(context is not None),
        "ActiveBrokerCount": len(known.brokers),
        "FencedBrokerCount": 0,  # of KRaft alone
        "GlobalTopicCount": len(known.topics()),
        "GlobalPartitionCount": len(known.leadership),
        "OfflinePartitionsCount": known.offline_partition_count,
        "PreferredReplicaImbalanceCount": sum(_misled(known, tp) for tp in known.leadership),
        "TopicsToDeleteCount": len(deletions.queued),
        "TopicsIneligibleToDeleteCount": len(deletions.ineligible),
        "ReplicasToDeleteCount": sum(state is not ReplicaState.DELETION_SUCCESSFUL for state in deleted),
        "ReplicasIneligibleToDeleteCount": sum(state is ReplicaState.DELETION_INELIGIBLE for state in deleted),
    }


def _misled(context: Context, tp: TopicPartition) -> bool:
    """By another than its first replica. One that is being added does not count before it is in sync."""
    if (assignment := context.assignments.get(tp)) is None or not assignment.replicas or context.to_be_deleted(tp):
        return False
    preferred, state = assignment.replicas[0], context.leadership[tp]
    return preferred in state.isr if preferred in assignment.adding else preferred != state.leader
