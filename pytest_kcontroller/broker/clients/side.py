"""What a broker has for its clients, besides what controllers have told it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_kcontroller.broker.clients.refused import NoSessionError
from pytest_kcontroller.broker.metadata import NO_CONTROLLER
from pytest_kcontroller.broker.state import BrokerState
from pytest_kcontroller.model.assignment import AssignableBroker, AssignmentRequest
from pytest_kcontroller.model.cluster import Address, Broker
from pytest_kcontroller.model.history import BrokerAnsweredClient
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.zookeeper.store import Store

Assign = Callable[[str, AssignmentRequest], Mapping[int, tuple[int, ...]]]
"""Places partitions of a topic on brokers. Raises AssignmentError."""


@dataclass(slots=True, kw_only=True)
class ClientSide:
    """`address_of` gives the proxy in front of a node for clients, None: they go to where it is registered. `active`: is
    this node the controller? `draw(n)` is one of n numbers from 0.
    """

    state: BrokerState
    config: Mapping[str, Any]
    address_of: Callable[[int], Address | None]
    active: Callable[[], bool]
    assign: Assign
    draw: Callable[[int], int]
    store: Store | None = None
    """Of the session; None: there is none now."""
    cluster_id: str = ""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def changed(self) -> None:
        """The metadata may have changed."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait_until(self, ready: Callable[[], bool], *, timeout_ms: int) -> bool:
        """Whether the metadata satisfy `ready` within that time (Kafka's purgatory)."""
        try:
            async with within(max(0, timeout_ms) / 1000):
                while not ready():
                    await self._changed.wait()
        except TimeoutError:
            return ready()
        return True

    def answered(self, api: str, znode: str, **holds: object) -> None:
        """A request is answered without an error: this is in the znode by now."""
        self.state.record(BrokerAnsweredClient(api=api, znode=znode, holds=holds))

    def session_store(self) -> Store:
        """Raises NoSessionError."""
        if self.store is None:
            raise NoSessionError
        return self.store

    def assignable(self) -> tuple[AssignableBroker, ...]:
        """The brokers that live, by id; without racks if some have none (Kafka's mode Safe)."""
        brokers = [broker for _, broker in sorted(self.state.metadata.brokers.items())]
        racks = all(broker.rack is not None for broker in brokers)
        return tuple(AssignableBroker(broker.id, broker.rack if racks else None) for broker in brokers)

    def brokers(self) -> list[Broker]:
        """Those that live, by id, with the addresses that clients shall use."""
        known = self.state.metadata.brokers
        return [
            Broker(id=number, address=self.address_of(number) or broker.address, rack=broker.rack)
            for number, broker in sorted(known.items())
        ]

    @property
    def controller(self) -> int:
        """That the newest metadata name, if it lives; -1: none."""
        metadata = self.state.metadata
        return metadata.controller if metadata.live(metadata.controller) else NO_CONTROLLER
