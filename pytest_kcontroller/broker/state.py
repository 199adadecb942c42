"""What one broker knows, and what the requests of a controller change of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from pytest_kcontroller.broker.log_dir import LogDirs
from pytest_kcontroller.broker.metadata import MetadataCache
from pytest_kcontroller.broker.replicas import PendingIsr, Replicas
from pytest_kcontroller.model.cluster import UNKNOWN_EPOCH, Address, TopicPartition
from pytest_kcontroller.model.history import Record
from pytest_kcontroller.wire.errors import ErrorCode


class ControllerRequest(Protocol):
    """What each request of a controller says of who sends it to whom."""

    controller_epoch: int
    broker_epoch: int


class BrokerState:
    """Of the broker `broker`."""

    def __init__(
        self, broker: int, record: Record, link: Callable[[int], Address | None], log_dirs: LogDirs | None = None
    ) -> None:
        """`link` gives the proxy in front of a node, None: go to where it is registered. Without `log_dirs` nothing is kept
        of what is hosted."""
        self.broker, self.record, self._link, self.log_dirs = broker, record, link, log_dirs
        if log_dirs is not None:
            log_dirs.gone_offline = self._go_offline
        self.replicas = Replicas(broker)
        self.metadata = MetadataCache()
        self.broker_epoch = UNKNOWN_EPOCH
        """The czxid of our registration; -1 before the first."""
        self.on_change: Callable[[], None] = lambda: None
        """Called when replicas or metadata may have changed."""

    @property
    def several_dirs(self) -> bool:
        """Whether a broker of this cluster may live, and its replica of something not."""
        return self.log_dirs is not None and self.log_dirs.several

    def _go_offline(self, tps: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Those that are hosted (ReplicaManager.handleLogDirFailure). What nobody has asked for yet has no log any more, and
        that is seen then: a new replica is made elsewhere."""
        hosted = [tp for tp in tps if self.replicas.get(tp) is not None]
        self.replicas.go_offline(hosted)
        return hosted

    def pending_isrs(self) -> tuple[PendingIsr, ...]:
        """See Replicas.pending. We fetch no records, so that a live follower counts as caught up; if brokers have several
        log directories, one whose replica the controller does not know to be offline."""
        if not self.several_dirs:
            return self.replicas.pending(self.metadata.live)
        return self.replicas.pending(
            self.metadata.live,
            lambda replica, broker: self.metadata.online(replica.tp, replica.leader_epoch, broker),
            self.metadata.with_offline,
        )

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
