"""Runs of the backend `process`: real processes, their histories in files, ZooKeeper's log as it writes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Self

from kcontroller_chaos.backends.run import ENGINE, RealRun, Run, perform, too_long
from kcontroller_chaos.feed import Feed, Tail
from kcontroller_chaos.history.following import FollowedLog, LogSource
from kcontroller_chaos.history.read import History, read_history, zk_import
from kcontroller_chaos.history.rundir import RunDirectory
from kcontroller_chaos.history.transactions import ZOOKEEPER
from pytest_kcontroller.cluster import java
from pytest_kcontroller.cluster.capabilities import REPORTS
from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.process import proxy_server
from pytest_kcontroller.cluster.process.cluster import ProcessCluster
from pytest_kcontroller.cluster.process.ground import Grounds
from pytest_kcontroller.cluster.process.proxy_choice import chosen
from pytest_kcontroller.cluster.system.cluster import SystemCluster
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.source import check_zookeeper
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.history import HistoryEvent, NodeRespawned, SessionGranted
from pytest_kcontroller.runtime.foreign import freed_when_held_up
from pytest_kcontroller.runtime.nursery import settled
from pytest_kcontroller.runtime.real import RealClock, Recorder, RunStart
from pytest_kcontroller.runtime.timeouts import within

__all__ = ("check", "new_run", "play", "start_of", "versions")


def check(zookeeper_image: str | None) -> None:
    check_zookeeper(zookeeper_image)
    proxy_server.check(chosen())


def versions(zookeeper_image: str | None) -> dict[str, str]:
    return {**java.versions(zookeeper_image), **proxy_server.versions(chosen())}


SESSIONS_S = 0.05
HELD_UP_S = 20.0
"""A fault that lets nobody else go on for so long is given up: it was not applied, observed or healed."""


class ProcessRun(RealRun):
    """`zookeeper_log`: where ZooKeeper writes its transaction log from its start on (default: copied there at the end)."""

    made_of: type[ProcessCluster] = ProcessCluster
    """Grounds are handed on if it is this one: a network is one cluster's, and the proxies of Kafka's brokers depend on
    their names."""
    made_of_programs: type[SystemCluster] = SystemCluster
    """If the settings name a program."""

    def __init__(
        self,
        settings: ClusterSettings,
        directory: Path,
        start: RunStart,
        *,
        zookeeper_log: Path | None = None,
        grounds: Grounds | None = None,
    ) -> None:
        clock = RealClock(start)
        super().__init__(settings, directory, start, clock)
        (directory / "history").mkdir(parents=True, exist_ok=True)
        self._zookeeper_log, self._grounds = zookeeper_log, grounds
        self._recorder = Recorder(directory / "history" / f"{ENGINE}.jsonl", ENGINE, clock)
        self._log = FollowedLog(start, clock, self.record)
        self._following: list[asyncio.Task[None]] = []
        self._cluster: ProcessCluster | None = None

    @classmethod
    def new(cls, settings: ClusterSettings, directory: Path, grounds: Grounds | None = None) -> Self:
        """See BackendModule.new_run."""
        return cls(settings, directory, RunStart.now(), grounds=grounds)

    @classmethod
    async def play(
        cls,
        settings: ClusterSettings,
        directory: RunDirectory,
        work: Callable[[Run], Coroutine[Any, Any, None]],
        limit_s: float,
    ) -> None:
        """See BackendModule.play."""
        run = cls(settings, directory.path, directory.start, zookeeper_log=directory.zookeeper)

        async def limited(opened: Run) -> None:
            run.cluster.end_when_stopped()  # else each wait of the run would wait for it
            await run.cluster.unless_failed(_to_its_end(limit_s, work(opened)))

        try:
            await perform(run, limited)
        finally:
            run.close()

    @property
    def cluster(self) -> ProcessCluster:
        if self._cluster is None:
            raise EnvironmentFailure("the cluster of this run was not started")
        return self._cluster

    @property
    def zookeeper(self) -> str:
        return self.cluster.zookeeper.connect_string

    async def open(self) -> None:
        self._following = [asyncio.create_task(self._log.follow(), name="follow ZooKeeper's log")]
        made_of = self.made_of_programs if self.settings.program is not None else self.made_of
        try:
            self._cluster = await made_of.start(
                self.settings,
                self.directory,
                run_start=self.start,
                on_exit=self.exited,
                zookeeper_log=self._zookeeper_log,
                grounds=self._grounds if made_of is ProcessCluster else None,
            )
        except BaseException:
            await self._follow_no_more()
            raise
        self._log.open(self.cluster.zookeeper.txn_log_directories, self.cluster.log_since)
        if isinstance(self.cluster, SystemCluster):
            self.cluster.on_respawn = lambda node: self.record(NodeRespawned(node=node))
        if not self.cluster.has(REPORTS):
            self._following.append(asyncio.create_task(self._follow_sessions(), name="follow sessions"))

    async def _follow_sessions(self) -> None:
        """What nodes of ours say themselves."""
        seen: set[int] = set()
        while True:
            for node in self.cluster.nodes:
                for session in self.cluster.sessions(node):
                    if session.session_id not in seen:
                        seen.add(session.session_id)
                        name, timeout_ms = hex(session.session_id), session.timeout_ms
                        self.record(SessionGranted(node=node, session=name, timeout_ms=timeout_ms))
            await asyncio.sleep(SESSIONS_S)

    @property
    def lost(self) -> EnvironmentFailure | None:
        return None if self._cluster is None else self._cluster.lost

    @property
    def told(self) -> bool:
        return self.cluster.told

    def record(self, event: HistoryEvent, /) -> None:
        self._recorder(event)

    def feed(self) -> Feed:
        return Feed(Tail(self.directory / "history", skip=(ZOOKEEPER,)), LogSource(self._log))

    def history(self) -> History:
        self.cluster.export_log(self.directory / ZOOKEEPER)
        self.cluster.export_logs()
        zk_import(self.directory, self.start)
        return read_history(self.directory / "history")

    async def stop(self) -> None:
        try:
            if self._cluster is not None:
                await self._cluster.stop(keep_log_in=self.directory / ZOOKEEPER)
        finally:
            await self._follow_no_more()

    async def _follow_no_more(self) -> None:
        if self._following:
            for task in self._following:
                task.cancel()
            await asyncio.gather(*self._following, return_exceptions=True)
            self._following = []
            self._log.settle()

    def close(self) -> None:
        self._recorder.close()


def start_of(now: RunStart) -> RunStart:
    return now


new_run, play = ProcessRun.new, ProcessRun.play


async def _to_its_end(limit_s: float, work: Coroutine[Any, Any, None]) -> None:
    """Raises EnvironmentFailure that names what still goes on after so long; it is cancelled then."""
    task = asyncio.ensure_future(work)
    standing, limit = "", within(limit_s)
    try:
        with freed_when_held_up(scaled(HELD_UP_S)):
            async with limit:
                await asyncio.shield(task)
    except TimeoutError:
        if not limit.expired():
            raise
        names = sorted(each.get_name() for each in asyncio.all_tasks() if each.get_name().startswith("action "))
        standing = f"it still plays {', '.join(names)}" if names else "nothing is played any more"
    finally:
        task.cancel()
        await settled(task)
        _ = task.cancelled() or task.exception()  # it is told that the time was over, not what came of the end
    if standing:
        raise too_long(limit_s, standing)
