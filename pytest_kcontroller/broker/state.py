"""What one broker knows, and what the requests of a controller change of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pytest_kcontroller.broker.metadata import MetadataCache
from pytest_kcontroller.broker.replicas import Replicas
from pytest_kcontroller.model.cluster import UNKNOWN_EPOCH, Address
from pytest_kcontroller.model.history import Record
from pytest_kcontroller.wire.errors import ErrorCode


class ControllerRequest(Protocol):
    """What each request of a controller says of who sends it to whom."""

    controller_epoch: int
    broker_epoch: int


class BrokerState:
    """Of the broker `broker`."""

    def __init__(self, broker: int, record: Record, link: Callable[[int], Address | None]) -> None:
        """`link` gives the proxy in front of a node, None: go to where it is registered."""
        self.broker, self.record, self._link = broker, record, link
        self.replicas = Replicas(broker)
        self.metadata = MetadataCache()
        self.broker_epoch = UNKNOWN_EPOCH
        """The czxid of our registration; -1 before the first."""
        self.on_change: Callable[[], None] = lambda: None
        """Called when replicas or metadata may have changed."""

    def admit(self, request: ControllerRequest) -> ErrorCode:
        """The two checks of every request of a controller."""
        return self.replicas.admit(
            controller_epoch=request.controller_epoch,
            broker_epoch=request.broker_epoch,
            own_broker_epoch=self.broker_epoch,
        )

    def address_of(self, broker: int) -> Address | None:
        """None: nobody has told us of it."""
        if (link := self._link(broker)) is not None:
            return link
        known = self.metadata.brokers.get(broker)
        return None if known is None else known.address
