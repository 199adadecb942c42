"""What a backend gives to `kcluster`: everything in which they differ. The rest is in kcluster.py, once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pytest_kcontroller.cluster.api import Cluster
from pytest_kcontroller.cluster.base import ClusterSettings
from pytest_kcontroller.driver import Driver
from pytest_kcontroller.runtime.ports import Clock
from pytest_kcontroller.runtime.real import RunStart

if TYPE_CHECKING:
    from kazoo.client import KazooClient

    from kcontroller_chaos.feed import Feed
    from kcontroller_chaos.history import History


class Backend(Protocol):
    """A cluster that runs. `process_backend` and `sim_backend` make them."""

    @property
    def cluster(self) -> Cluster: ...
    @property
    def settings(self) -> ClusterSettings: ...
    @property
    def driver(self) -> Driver:
        """What runs the cluster's coroutines; everything asynchronous here is called through it."""
        ...

    @property
    def clock(self) -> Clock: ...
    @property
    def start(self) -> RunStart:
        """When its run times begin."""
        ...

    @property
    def directory(self) -> Path:
        """Has `history/` at the end, and `logs/` where there are some."""
        ...

    @property
    def ending(self) -> set[int]:
        """Nodes that the test ends itself: their exits are not recorded."""
        ...

    def record(self, kind: str, **fields: Any) -> None:
        """What the test does, as the engine's part of the history. Within the driver only."""
        ...

    def history(self) -> History:
        """Until now, with ZooKeeper's own log."""
        ...

    def feed(self) -> Feed:
        """The same as it grows."""
        ...

    def client(self) -> KazooClient:
        """Started, straight to ZooKeeper: no cut link hits it."""
        ...

    def bootstrap_servers(self) -> str:
        """Raises NotOnThisBackend."""
        ...

    async def session_timeouts_ms(self) -> dict[int, int]:
        """Session id -> negotiated time-out."""
        ...

    def close(self) -> None:
        """Ends everything; the history is in `directory`."""
        ...
