"""What a controller sends to its brokers, kept instead of sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_kcontroller.controller.channels import Answered
from pytest_kcontroller.model.cluster import Broker
from pytest_kcontroller.wire.codec import decode, encode
from pytest_kcontroller.wire.messages import APIS


@dataclass(frozen=True, slots=True)
class Sent:
    """One request as `broker` would have read it."""

    broker: int
    request: Any

    @property
    def kind(self) -> str:
        """`LeaderAndIsr`, `UpdateMetadata` or `StopReplica`."""
        return type(self.request).__name__.removesuffix("Request")

    @property
    def entries(self) -> dict[str, Any]:
        """Partition -> what the request says of it."""
        return {
            f"{topic.topic_name}-{entry.partition_index}": entry
            for topic in self.request.topic_states
            for entry in topic.partition_states
        }


class RecordingChannels:
    """See channels.ChannelManager: what one term sends, kept instead of sent."""

    def __init__(self, answered: Answered, sent: list[Sent]) -> None:
        self.answered, self._sent = answered, sent
        self.brokers: dict[int, Broker] = {}
        self.added: list[int] = []
        """Each time that one was: a channel of its own, with nothing in it."""
        self.unanswered = 0

    def add(self, broker: Broker) -> None:
        self.brokers[broker.id] = broker
        self.added.append(broker.id)

    def move(self, broker: Broker) -> None:
        assert broker.id in self.brokers, f"broker {broker.id} was not added"
        self.brokers[broker.id] = broker

    def remove(self, broker: int) -> None:
        self.brokers.pop(broker, None)

    def close(self) -> None:
        self.brokers.clear()

    def send(self, broker: int, request: Any) -> None:
        if broker not in self.brokers:
            return
        version = APIS[request.API_KEY].max_version
        self._sent.append(Sent(broker, decode(type(request), encode(request, version), version)))
