"""A run that is open: a cluster from its start to its end, with the history that it leaves. One shape for every backend.

Campaigns, hunts, replays and fixtures open their runs here: a campaign by `BackendModule.play`, a fixture, which has a
driver of its own, by the Run of its backend. `perform` is the life of one that is played.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Protocol

from kcontroller_chaos.feed import Feed
from kcontroller_chaos.history.read import History
from kcontroller_chaos.history.rundir import RunDirectory
from pytest_kcontroller.cluster.capabilities import REPORTS
from pytest_kcontroller.cluster.contract import Cluster
from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.history import HistoryEvent, NodeMetadata, ProcessExited, Record, RunFailed
from pytest_kcontroller.runtime.ports import Clock
from pytest_kcontroller.runtime.real import RunStart

ENGINE = "engine"
"""The writer of what the harness records."""
MUTANTS = "kcontroller_chaos.mutants"
"""The plugin that has them."""


class Run(ABC):
    """`directory` has `history/` at the end, and `logs/` and `zookeeper/` where there are some; run times count from
    `start`."""

    def __init__(self, settings: ClusterSettings, directory: Path, start: RunStart, clock: Clock) -> None:
        self.settings, self.directory, self.start, self.clock = settings, directory, start, clock
        self.ending: set[int] = set()
        """Nodes that a test ends itself: their exits are not recorded."""

    @property
    @abstractmethod
    def cluster(self) -> Cluster:
        """Once it is open."""

    @abstractmethod
    async def open(self) -> None:
        """Starts the cluster. Raises StartError; then nothing is left running."""

    @abstractmethod
    def record(self, event: HistoryEvent, /) -> None:
        """What the harness does, as its part of the history. Where the cluster's coroutines run only."""

    @abstractmethod
    def feed(self) -> Feed:
        """What happens, as it happens."""

    @abstractmethod
    def history(self) -> History:
        """Until now, with ZooKeeper's own log."""

    @abstractmethod
    async def stop(self) -> None:
        """Ends the cluster. Idempotent."""

    @abstractmethod
    def close(self) -> None:
        """Once it is stopped: the history in `directory` is whole. Idempotent."""

    def exited(self, node: int, status: int) -> None:
        """A node has ended by itself, or by a fault."""
        if node not in self.ending:
            self.record(ProcessExited(node=node, status=status))


class RealRun(Run):
    """One whose cluster has sockets, in the time of everybody."""

    @property
    @abstractmethod
    def zookeeper(self) -> str:
        """HOST:PORT of the server itself: no fault of a link hits it."""


class BackendModule(Protocol):
    """What a module that an entry of the table names has, as functions."""

    def check(self, zookeeper_image: str | None) -> None:
        """That there is on this machine what a start needs. Raises UsageError, EnvironmentFailure."""
        ...

    def versions(self, zookeeper_image: str | None) -> dict[str, str]:
        """Of what is not ours, for run.json."""
        ...

    def start_of(self, now: RunStart) -> RunStart:
        """What the run times of a run count from that begins `now`."""
        ...

    def new_run(self, settings: ClusterSettings, directory: Path) -> RealRun:
        """Of a fixture; not open yet. Not where time is simulated: a simulated run needs a world (sim.SimRun)."""
        ...

    async def play(
        self,
        settings: ClusterSettings,
        directory: RunDirectory,
        work: Callable[[Run], Coroutine[Any, Any, None]],
        limit_s: float,
    ) -> None:
        """Opens a run, lets `work` have it for `limit_s` of real time at most, and ends it; `directory` has its history
        then, in any case.

        Raises EnvironmentFailure after `run.failed` was recorded.
        """
        ...


def too_long(limit_s: float, standing: str) -> EnvironmentFailure:
    """`standing`: where or with what the run was when its time was over."""
    hint = "duration_s and overtime_s of the campaign are its limit"
    return EnvironmentFailure(f"the run did not end within {limit_s:g} s: {standing}", hint=hint)


async def perform(run: Run, work: Callable[[Run], Coroutine[Any, Any, None]]) -> None:
    """The life of a run that is played: it is opened, and stopped whatever happens; why it failed is recorded."""
    try:
        await run.open()
        try:
            await work(run)
        finally:
            await run.stop()
    except EnvironmentFailure as failed:
        run.record(RunFailed(error=str(failed)))
        raise


async def record_state(cluster: Cluster, record: Record) -> None:
    """What ZooKeeper holds now, and nodes report where they do, for the invariants about the end."""
    if cluster.has(REPORTS):
        reports = cluster.capability(REPORTS)
        for node in cluster.running:
            if (status := await reports.status(node)) is not None:
                record(status.event())
            if (metadata := await reports.metadata(node)) is not None:
                record(NodeMetadata(node=node, metadata=metadata))
    record((await cluster.tree()).event())
