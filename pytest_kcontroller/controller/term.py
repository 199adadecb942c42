"""One term: what exists only while this node is the active controller, and ends with it (KAFKA-5310)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pytest_kcontroller.controller.batch import Requests
from pytest_kcontroller.controller.candidacy import Won
from pytest_kcontroller.controller.channels import ChannelManager
from pytest_kcontroller.controller.configs import Configs
from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.controller.decide.leader import Elections
from pytest_kcontroller.controller.machines.partitions import PartitionMachine
from pytest_kcontroller.controller.machines.refusals import Refusals
from pytest_kcontroller.controller.machines.replicas import ReplicaMachine
from pytest_kcontroller.controller.machines.states import StateZnodes
from pytest_kcontroller.model.history import ControllerEventFailed, ControllerResigned, HistoryEvent
from pytest_kcontroller.model.kafka_config import UNCLEAN_LEADER_ELECTION
from pytest_kcontroller.runtime.ports import Runtime
from pytest_kcontroller.zookeeper.store import Store

if TYPE_CHECKING:
    from pytest_kcontroller.controller.events.event import Event


class Term:
    """Its epoch is Kafka's controller epoch, and `context.epoch` here."""

    def __init__(
        self,
        runtime: Runtime,
        node: int,
        won: Won,
        store: Store,
        elections: Elections,
        channels: ChannelManager,
        put: Callable[[Event], None],
        config: Mapping[str, Any],
    ) -> None:
        """`put` gives an event its place at the end of the controller's queue; `config` has Kafka's names."""
        self.runtime, self.store, self.channels, self.put, self.config = runtime, store, channels, put, config
        self._timer: asyncio.TimerHandle | None = None
        self.context = context = Context(won.epoch, won.epoch_version)
        self.requests = Requests(node, context, channels.send)
        self.states = StateZnodes(context, store, runtime.holds, runtime.record)
        refusals = Refusals(context, runtime.record)
        unclean = UNCLEAN_LEADER_ELECTION.of(config)
        self.configs = configs = Configs(store, node, runtime.record, unclean=unclean)
        self.partitions = PartitionMachine(
            context, self.states, elections, self.requests, configs, refusals, runtime.record
        )
        self.replicas = ReplicaMachine(context, self.states, self.requests, refusals)

    def record(self, event: HistoryEvent) -> None:
        self.runtime.record(event)

    def corrupt(self, error: str) -> None:
        """A znode that cannot be understood costs only itself."""
        self.record(ControllerEventFailed(event="load", error=error))

    def put_later(self, seconds: float, event: Event) -> None:
        """Puts it when so much time has passed, unless the term has ended by then. One at a time."""
        self._timer = asyncio.get_running_loop().call_later(seconds, self.put, event)

    def end(self, reason: str) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.channels.close()
        self.record(ControllerResigned(epoch=self.context.epoch, reason=reason))
