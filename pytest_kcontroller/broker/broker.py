"""The broker half of a node: its state, what it serves, and its own work."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pytest_kcontroller.broker.clients import handlers_of as handlers_of_clients
from pytest_kcontroller.broker.clients.side import ClientSide
from pytest_kcontroller.broker.handlers import handlers_of
from pytest_kcontroller.broker.isr import IsrSender
from pytest_kcontroller.broker.log_dir import LogDirs
from pytest_kcontroller.broker.shutdown import ShutdownLimits, ShutdownResult, controlled_shutdown
from pytest_kcontroller.broker.state import BrokerState
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.model.history import Record
from pytest_kcontroller.runtime.ports import Clock, Transport
from pytest_kcontroller.wire.server import Handler


class BrokerHalf:
    """What a node is besides a candidate controller."""

    def __init__(
        self,
        broker: int,
        *,
        transport: Transport,
        record: Record,
        address_of: Callable[[int], Address | None],
        request_timeout_us: int = 30_000_000,
        log_dirs: LogDirs | None = None,
    ) -> None:
        """`address_of` gives the proxy in front of a node, None: go to where it is registered.

        `request_timeout_us` is how long one AlterPartition may take (Kafka: controller.socket.timeout.ms, 30 s).
        """
        self.state = BrokerState(broker, record, address_of, log_dirs)
        self.clients: ClientSide | None = None
        """None: clients are not served."""
        self._transport = transport
        self._isr = IsrSender(self.state, transport, request_timeout_us=request_timeout_us)
        self.state.on_change = self._changed

    def handlers(self) -> Mapping[int, Handler]:
        """For wire.server.serve."""
        return {**handlers_of(self.state), **({} if self.clients is None else handlers_of_clients(self.clients))}

    def registered(self, broker_epoch: int) -> None:
        """We are in /brokers/ids with this epoch (czxid)."""
        self.state.broker_epoch = broker_epoch
        self._isr.wake()

    def _changed(self) -> None:
        self._isr.wake()
        if self.clients is not None:
            self.clients.changed()

    async def run(self) -> None:
        """The broker's own work, until it is cancelled."""
        await self._isr.run()

    async def ask_for_shutdown(self, clock: Clock, limits: ShutdownLimits) -> ShutdownResult:
        """Asks the controller to move everything off this broker, which is about to stop."""
        return await controlled_shutdown(self.state, limits, transport=self._transport, clock=clock)
