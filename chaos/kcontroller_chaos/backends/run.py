"""A run that is open: a cluster from its start to its end, with the history that it leaves. One shape for every backend.

Campaigns, hunts, replays and fixtures open their runs here: a campaign by `BackendModule.play`, a fixture, which has a
driver of its own, by the Run of its backend. `perform` is the life of one that is played.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from kcontroller_chaos.feed import Feed
from kcontroller_chaos.history.read import History
from kcontroller_chaos.history.rundir import RunDirectory
from pytest_kcontroller.cluster.capabilities import BROKERS, REPORTS
from pytest_kcontroller.cluster.contract import Cluster
from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.process.ground import Grounds
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure, WaitTimeoutError
from pytest_kcontroller.model.history import (
    FALLEN,
    HistoryEvent,
    NodeMetadata,
    NodeReady,
    ProcessExited,
    ProgramPrinted,
    Record,
    RunFailed,
)
from pytest_kcontroller.runtime.ports import Clock
from pytest_kcontroller.runtime.real import RunStart

ENGINE = "engine"
"""The writer of what the harness records."""

LOOKS = 5
SETTLE_S = 2.0
"""The end of a run is looked at so often at most, and each time it may settle for so long."""


class Run(ABC):
    """`directory` has `history/` at the end, and `logs/` and `zookeeper/` where there are some; run times count from
    `start`."""

    def __init__(self, settings: ClusterSettings, directory: Path, start: RunStart, clock: Clock) -> None:
        self.settings, self.directory, self.start, self.clock = settings, directory, start, clock
        self.ending: set[int] = set()
        """Nodes that a test ends itself: their exits are not recorded, but those of programs."""
        self.on_exit: Callable[[int, int], object] = lambda node, status: None
        """Is told of every end of a node, with its status, besides the history."""

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

    @property
    def lost(self) -> EnvironmentFailure | None:
        """What nothing can be done without, and has ended or stands still; None: nothing."""
        return None

    @property
    def told(self) -> bool:
        """Whether somebody who needed it was told so."""
        return False

    def exited(self, node: int, status: int) -> None:
        """A node has ended by itself, or by a fault."""
        if node not in self.ending or self.settings.program is not None:  # what a program believes ends with it
            self.record(ProcessExited(node=node, status=status))
        self.on_exit(node, status)


class RealRun(Run):
    """One whose cluster has sockets, in the time of everybody."""

    @property
    @abstractmethod
    def zookeeper(self) -> str:
        """HOST:PORT of the server itself, of each of an ensemble: no fault of a link hits it."""


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

    def new_run(self, settings: ClusterSettings, directory: Path, grounds: Grounds | None = None) -> RealRun:
        """Of a fixture; not open yet; `grounds` as in ProcessCluster.start. Not where time is simulated: a simulated run
        needs a world (sim.SimRun)."""
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
        if (lost := run.lost) is not None:  # it was found while all was ended
            raise lost
    except EnvironmentFailure as failed:
        run.record(RunFailed(error=str(failed)))
        raise


async def record_state(cluster: Cluster, record: Record) -> None:
    """What ZooKeeper holds now, and nodes report where they do, for the invariants about the end.

    It is read bit by bit. Of a cluster that has converged it is one moment all the same: a controller may act by its own
    timer meanwhile (auto.leader.rebalance.enable), and then everything is read again once that has settled. Nodes that are
    no brokers have nothing there that we know: each is ready, or not, or has ended by itself.
    """
    if not cluster.has(BROKERS):
        for node in cluster.running:
            record(NodeReady(node=node, why=await cluster.unready(node) or ""))
        for node in cluster.fallen:
            record(NodeReady(node=node, why=FALLEN))
        await cluster.hear_out()  # what they printed until then is judged
        for node in cluster.nodes:
            if otherwise := cluster.said_otherwise(node):
                record(ProgramPrinted(node=node, otherwise=otherwise))
        return
    reports, after = list[HistoryEvent](), await cluster.tree()
    for _ in range(LOOKS):
        before = after
        with suppress(WaitTimeoutError):  # then that is what is to be seen
            await cluster.wait_until_converged(timeout_s=scaled(SETTLE_S))
        reports, after = await _reports(cluster), await cluster.tree()
        if after == before:
            break
    for event in (*reports, after.event()):
        record(event)


async def _reports(cluster: Cluster) -> list[HistoryEvent]:
    if not cluster.has(REPORTS):
        return []
    asked, events = cluster.capability(REPORTS), list[HistoryEvent]()
    for node in cluster.running:
        if (status := await asked.status(node)) is not None:
            events.append(status.event())
        if (metadata := await asked.metadata(node)) is not None:
            events.append(NodeMetadata(node=node, metadata=metadata))
    return events
