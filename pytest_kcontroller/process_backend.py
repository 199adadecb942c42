"""The backend `process` of `kcluster`: real processes, their histories in files, ZooKeeper's log as it writes it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_kcontroller.cluster.base import ClusterSettings
from pytest_kcontroller.cluster.cluster import ProcessCluster
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.loop_thread import LoopThread
from pytest_kcontroller.runtime.real import RealClock, Recorder, RunStart

if TYPE_CHECKING:
    from kazoo.client import KazooClient

    from kcontroller_chaos.feed import Feed
    from kcontroller_chaos.history import History

__tracebackhide__ = True  # pytest: a failing call is shown where the test makes it

CONNECT_S = 30.0


class ProcessBackend:
    """See Backend. `directory` gets `history/`, `logs/` and `zookeeper/`."""

    def __init__(self, driver: LoopThread, settings: ClusterSettings, directory: Path) -> None:
        """Raises StartError."""
        self.driver, self.settings, self.directory = driver, settings, directory
        self.start, self.ending = RunStart.now(), set[int]()
        self.clock = RealClock(self.start)
        (directory / "history").mkdir(parents=True, exist_ok=True)
        self._recorder = Recorder(directory / "history" / "engine.jsonl", "engine", self.clock)
        try:
            self.cluster = driver.call(self._begin())
        except BaseException:
            self._recorder.close()
            raise

    async def _begin(self) -> ProcessCluster:
        return await ProcessCluster.start(self.settings, self.directory, run_start=self.start, on_exit=self._exited)

    def _exited(self, node: int, status: int) -> None:
        if node not in self.ending:  # by itself, and not by the test
            self.record("process.exited", node=node, status=status)

    def record(self, kind: str, **fields: Any) -> None:
        """In the loop, as the ends of nodes are."""
        self._recorder(kind, **fields)

    def history(self) -> History:
        from kcontroller_chaos.history import read_history, zk_import

        self.cluster.zookeeper.export_log(self.directory / "zookeeper")
        zk_import(self.directory, self.start)
        return read_history(self.directory / "history")

    def feed(self) -> Feed:
        from kcontroller_chaos.feed import Feed, LogSource, Tail

        log = LogSource(self.cluster.zookeeper.txn_log_directory, self.start)
        return Feed(Tail(self.directory / "history", skip=("zookeeper",)), log)

    def client(self) -> KazooClient:
        from kazoo.client import KazooClient

        client = KazooClient(str(self.cluster.zookeeper.address), timeout=30)
        client.start(timeout=scaled(CONNECT_S))
        return client

    def bootstrap_servers(self) -> str:
        brokers = self.driver.call(self.cluster.tree()).brokers
        return ",".join(str(brokers[node].address) for node in self.cluster.running if node in brokers)

    async def session_timeouts_ms(self) -> dict[int, int]:
        return await self.cluster.zookeeper.session_timeouts_ms()

    def close(self) -> None:
        try:
            self.driver.call(self.cluster.stop(keep_log_in=self.directory / "zookeeper"))
        finally:
            self._recorder.close()
