"""Topics that are to be deleted, as the context knows them (kafka.controller.ControllerContext, 3.9).

Kafka's names: topicsToBeDeleted, topicsWithDeletionStarted, topicsIneligibleForDeletion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class Deletions:
    """With `delete.topic.enable = false` nothing is ever queued."""

    def __init__(self) -> None:
        self._queued: dict[str, None] = {}
        self._started: dict[str, None] = {}
        self._ineligible: dict[str, None] = {}

    @property
    def queued(self) -> Mapping[str, None]:
        """Those that somebody wants to be deleted, and that are not gone yet."""
        return self._queued

    @property
    def started(self) -> Mapping[str, None]:
        """Those of them whose partitions exist no more: replicas are being deleted."""
        return self._started

    @property
    def ineligible(self) -> Mapping[str, None]:
        """Those of them that wait: for a broker that is away, for a reassignment, for a replica that failed."""
        return self._ineligible

    def queue(self, topics: Iterable[str]) -> None:
        self._queued |= dict.fromkeys(topics)

    def start(self, topics: Iterable[str]) -> None:
        self._started |= dict.fromkeys(topics)

    def hold(self, topics: Iterable[str]) -> list[str]:
        """They are ineligible; those of them that are queued, which this is all about. Ascending."""
        held = sorted(topic for topic in topics if topic in self._queued)
        self._ineligible |= dict.fromkeys(held)
        return held

    def release(self, topics: Iterable[str]) -> None:
        """They are not ineligible any more."""
        for topic in topics:
            self._ineligible.pop(topic, None)

    def forget(self, topic: str) -> None:
        """It is gone."""
        for topics in (self._queued, self._started, self._ineligible):
            topics.pop(topic, None)
