"""Runs of the backend `process`: real processes, their histories in files, ZooKeeper's log as it writes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from kcontroller_chaos.backends.run import ENGINE, RealRun, Run, perform, too_long
from kcontroller_chaos.feed import Feed, Tail
from kcontroller_chaos.history.following import FollowedLog, LogSource
from kcontroller_chaos.history.read import History, read_history, zk_import
from kcontroller_chaos.history.rundir import RunDirectory
from kcontroller_chaos.history.transactions import ZOOKEEPER
from pytest_kcontroller.cluster.java import versions
from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.process.cluster import ProcessCluster
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.source import check_zookeeper
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.history import HistoryEvent
from pytest_kcontroller.runtime.foreign import freed_when_held_up
from pytest_kcontroller.runtime.nursery import settled
from pytest_kcontroller.runtime.real import RealClock, Recorder, RunStart

__all__ = ("check", "new_run", "play", "start_of", "versions")

check = check_zookeeper

HELD_UP_S = 20.0
"""A fault that lets nobody else go on for so long is given up: it was not applied, observed or healed."""


class ProcessRun(RealRun):
    """`zookeeper_log`: where ZooKeeper writes its transaction log from its start on (default: copied there at the end)."""

    def __init__(
        self, settings: ClusterSettings, directory: Path, start: RunStart, *, zookeeper_log: Path | None = None
    ) -> None:
        clock = RealClock(start)
        super().__init__(settings, directory, start, clock)
        (directory / "history").mkdir(parents=True, exist_ok=True)
        self._zookeeper_log = zookeeper_log
        self._recorder = Recorder(directory / "history" / f"{ENGINE}.jsonl", ENGINE, clock)
        self._log = FollowedLog(start, clock, self.record)
        self._following: asyncio.Task[None] | None = None
        self._cluster: ProcessCluster | None = None

    @property
    def cluster(self) -> ProcessCluster:
        if self._cluster is None:
            raise EnvironmentFailure("the cluster of this run was not started")
        return self._cluster

    @property
    def zookeeper(self) -> str:
        return str(self.cluster.zookeeper.address)

    async def open(self) -> None:
        self._following = asyncio.create_task(self._log.follow(), name="follow ZooKeeper's log")
        try:
            self._cluster = await ProcessCluster.start(
                self.settings,
                self.directory,
                run_start=self.start,
                on_exit=self.exited,
                zookeeper_log=self._zookeeper_log,
            )
        except BaseException:
            await self._follow_no_more()
            raise
        self._log.open(self.cluster.zookeeper.txn_log_directory)

    def record(self, event: HistoryEvent, /) -> None:
        self._recorder(event)

    def feed(self) -> Feed:
        return Feed(Tail(self.directory / "history", skip=(ZOOKEEPER,)), LogSource(self._log))

    def history(self) -> History:
        self.cluster.zookeeper.export_log(self.directory / ZOOKEEPER)
        zk_import(self.directory, self.start)
        return read_history(self.directory / "history")

    async def stop(self) -> None:
        if self._cluster is not None:
            await self._cluster.stop(keep_log_in=self.directory / ZOOKEEPER)
        await self._follow_no_more()

    async def _follow_no_more(self) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
            self._following = None
            self._log.settle()

    def close(self) -> None:
        self._recorder.close()


def start_of(now: RunStart) -> RunStart:
    return now


def new_run(settings: ClusterSettings, directory: Path) -> ProcessRun:
    return ProcessRun(settings, directory, RunStart.now())


async def play(
    settings: ClusterSettings,
    directory: RunDirectory,
    work: Callable[[Run], Coroutine[Any, Any, None]],
    limit_s: float,
) -> None:
    run = ProcessRun(settings, directory.path, directory.start, zookeeper_log=directory.zookeeper)

    async def limited(opened: Run) -> None:
        await run.cluster.unless_failed(_within(limit_s, work(opened)))

    try:
        await perform(run, limited)
    finally:
        run.close()


async def _within(limit_s: float, work: Coroutine[Any, Any, None]) -> None:
    """Raises EnvironmentFailure that names what still goes on after so long; it is cancelled then."""
    task = asyncio.ensure_future(work)
    standing, limit = "", asyncio.timeout(limit_s)
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
