"""One term: what exists only while this node is the active controller, and ends with it (KAFKA-5310)."""

from __future__ import annotations

from pytest_kcontroller.controller.batch import Requests
from pytest_kcontroller.controller.candidacy import Won
from pytest_kcontroller.controller.channels import ChannelManager
from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.controller.decide.leader import Elections
from pytest_kcontroller.controller.machines.partitions import PartitionMachine
from pytest_kcontroller.controller.machines.refusals import Refusals
from pytest_kcontroller.controller.machines.replicas import ReplicaMachine
from pytest_kcontroller.controller.machines.states import StateZnodes
from pytest_kcontroller.model.history import ControllerEventFailed, ControllerResigned, HistoryEvent
from pytest_kcontroller.runtime.ports import Runtime
from pytest_kcontroller.zookeeper.store import Store


class Term:
    """Its epoch is Kafka's controller epoch, and `context.epoch` here."""

    def __init__(
        self, runtime: Runtime, node: int, won: Won, store: Store, elections: Elections, channels: ChannelManager
    ) -> None:
        self.runtime, self.store, self.channels = runtime, store, channels
        self.context = context = Context(won.epoch, won.epoch_version)
        self.requests = Requests(node, context, channels.send)
        self.states = StateZnodes(context, store, runtime.holds, runtime.record)
        refusals = Refusals(context, runtime.record)
        self.partitions = PartitionMachine(context, self.states, elections, self.requests, refusals, runtime.record)
        self.replicas = ReplicaMachine(context, self.states, self.requests, refusals)

    def record(self, event: HistoryEvent) -> None:
        self.runtime.record(event)

    def corrupt(self, error: str) -> None:
        """A znode that cannot be understood costs only itself."""
        self.record(ControllerEventFailed(event="load", error=error))

    def end(self, reason: str) -> None:
        self.channels.close()
        self.record(ControllerResigned(epoch=self.context.epoch, reason=reason))
