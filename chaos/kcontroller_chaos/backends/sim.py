"""Runs of the backend `sim`: the same engine, faults and nodes in virtual time, in one world of one seed."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kcontroller_chaos.backends.run import ENGINE, Run, perform, too_long
from kcontroller_chaos.catalogue.loading import MUTANTS
from kcontroller_chaos.feed import Event, Feed
from kcontroller_chaos.history.read import History, in_order
from kcontroller_chaos.history.rundir import RunDirectory
from kcontroller_chaos.history.transactions import ZOOKEEPER, txn_event
from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.sim.cluster import SimCluster
from pytest_kcontroller.cluster.timing import unscaled
from pytest_kcontroller.errors import EnvironmentFailure, NotOnThisBackend
from pytest_kcontroller.model.history import HistoryEvent, MutantCounts, RunFailed, encoded, line_of
from pytest_kcontroller.plugin.manager import Plugins, load_plugins
from pytest_kcontroller.runtime.foreign import OwnThread, done_apart, done_whole, setter
from pytest_kcontroller.runtime.real import RunStart
from pytest_kcontroller.runtime.scheduler import WALL_START_MS, Scheduler, SimLoop
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.seams import Mutant, counts, installed
from pytest_kcontroller.sim.world import World
from pytest_kcontroller.zookeeper.txn import Txn

_log = logging.getLogger(__name__)

START = RunStart(WALL_START_MS * 1_000_000, 0)
"""When every simulated run begins: its times are those of its history, whenever it is played."""


class SeenEvents:
    """The world's events that are new since the last look: what Tail is to files."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events, self._seen = events, 0

    def poll(self) -> list[Event]:
        new = list(self._events[self._seen :])
        self._seen += len(new)
        return new


class SeenTxns:
    """ZooKeeper's transactions that are new since the last look: what LogSource is to its files."""

    def __init__(self, txns: Sequence[tuple[int, Txn]]) -> None:
        self._txns, self._seen = txns, 0

    def poll(self) -> list[Event]:
        new = [txn_event(txn, self._seen + n, t_us) for n, (t_us, txn) in enumerate(self._txns[self._seen :])]
        self._seen += len(new)
        return new


class SimRun(Run):
    """In a world that somebody else makes, drives and closes. `loop` is the process of it that the harness's work is done
    in, `plugins` those of the settings, if they have been loaded already."""

    def __init__(
        self, world: World, loop: SimLoop, settings: ClusterSettings, directory: Path, plugins: Plugins | None = None
    ) -> None:
        super().__init__(settings, directory, START, world.clock)
        self._world, self._loop, self._plugins = world, loop, plugins
        self._seq = 0
        self._cluster: SimCluster | None = None

    @property
    def cluster(self) -> SimCluster:
        if self._cluster is None:
            raise EnvironmentFailure("the cluster of this run was not started")
        return self._cluster

    async def open(self) -> None:
        self._cluster = await SimCluster.start(
            self._world, self.settings, self.directory, on_exit=self.exited, loop=self._loop, plugins=self._plugins
        )

    def record(self, event: HistoryEvent, /) -> None:
        self._world.events.append(line_of(event, ENGINE, self._seq, self.clock.now_us()))
        self._seq += 1

    def feed(self) -> Feed:
        return Feed(SeenEvents(self._world.events), SeenTxns(self._world.zookeeper.txns))

    @property
    def events(self) -> list[Event]:
        """All of them, ZooKeeper's transactions at the end."""
        return [*self._world.events, *SeenTxns(self._world.zookeeper.txns).poll()]

    def history(self) -> History:
        return in_order(json.loads(encoded(event)) for event in self.events)  # as lines are read: a tuple is a list

    async def stop(self) -> None:
        if self._cluster is not None:
            await self._cluster.stop()

    def close(self) -> None:
        """Until now its history was in memory alone: it is written to its end, also when somebody presses Ctrl-C."""
        history = self.directory / "history"
        history.mkdir(parents=True, exist_ok=True)
        done_whole(lambda: write_history(history, self.events))


@dataclass(frozen=True, slots=True)
class Work:
    """What a run was in simulated time: its end in microseconds, and how many callbacks that took."""

    end_us: int
    callbacks: int


class Simulation:
    """A run in a world of its own. `go` performs it, in any thread; when that has ended, however it did, `history` has it.

    `directory` is where messages say that there is more.
    """

    def __init__(
        self,
        settings: ClusterSettings,
        directory: Path,
        work: Callable[[Run], Coroutine[Any, Any, None]],
        *,
        mutant: Mutant | None,
        kafkas: Sequence[Mutant] = (),
        plugins: Plugins | None = None,
    ) -> None:
        self.scheduler = Scheduler()
        self._settings, self._directory, self._work = settings, directory, work
        self._mutant, self._kafkas, self._plugins = mutant, kafkas, plugins
        self._run: SimRun | None = None

    def go(self) -> Work:
        """Raises EnvironmentFailure as a real cluster does."""
        with self.scheduler as scheduler, unscaled(), installed(self._mutant, self._kafkas):
            world = World(scheduler, self._settings.seed)
            loop = scheduler.process(ENGINE)
            self._run = SimRun(world, loop, self._settings, self._directory, self._plugins)
            scheduler.run_until_complete(loop.create_task(perform(self._run, self._work), name=ENGINE))
            return Work(scheduler.now_us, scheduler.ran)

    def history(self, late: EnvironmentFailure | None = None) -> list[Event]:
        """`late`: why it was ended from outside."""
        if self._run is None:
            return []
        if self._mutant is not None:
            self._run.record(MutantCounts(mutant=self._mutant.name, counts=counts()))
        if late is not None:
            self._run.record(RunFailed(error=str(late)))
        return self._run.events

    def too_late(self, running: OwnThread[Work], limit_s: float) -> EnvironmentFailure:
        """Ends `running`, which is `go` in a thread: it says where that stood."""
        place = f"it stands at {running.place}, {self.scheduler.now_us / 1e6:g} s after its start"
        self.end(running)
        return too_long(limit_s, place)

    def end(self, running: OwnThread[Work]) -> None:
        if not running.end(self.scheduler.interrupt):
            _log.error("%s does not return; it is left alone", running.place)


def simulate_within(limit_s: float, simulation: Simulation) -> tuple[Work | None, list[Event]]:
    """Performs it, for `limit_s` of real time at most. Its history, and what it was if it came to its end."""
    running = OwnThread(simulation.go)
    running.begin()
    if not running.wait(limit_s):
        return None, simulation.history(simulation.too_late(running, limit_s))
    try:
        return running.answer(), simulation.history()
    except EnvironmentFailure:  # its history says so
        return None, simulation.history()


def mutant_of(settings: ClusterSettings) -> Mutant | None:
    """It is put into this process, as all nodes run in it. Raises UsageError."""
    return load_plugins((*settings.plugins, MUTANTS)).mutant(settings.mutant)


def kafkas_of(settings: ClusterSettings) -> tuple[Mutant, ...]:
    """The same for what Kafka itself does."""
    return load_plugins((*settings.plugins, MUTANTS)).kafkas(settings.kafka_compat)


def write_history(directory: Path, events: Sequence[Event]) -> None:
    """`directory`/<writer>.jsonl, as the processes of a real run write it."""
    files: dict[str, list[str]] = {}
    for event in events:
        files.setdefault(str(event["writer"]), []).append(encoded(event))
    files.setdefault(ZOOKEEPER, [])
    for writer, lines in files.items():
        (directory / f"{writer}.jsonl").write_text("".join(lines), encoding="utf-8")


# --- the backend's functions, see BackendModule


def check(zookeeper_image: str | None) -> None:
    if zookeeper_image is not None:
        raise NotOnThisBackend("simulated time has no containers", hint="leave --zookeeper out, or use another backend")


def versions(zookeeper_image: str | None) -> dict[str, str]:
    return {"zookeeper": "simulated"}


def start_of(now: RunStart) -> RunStart:
    return START


async def play(
    settings: ClusterSettings,
    directory: RunDirectory,
    work: Callable[[Run], Coroutine[Any, Any, None]],
    limit_s: float,
) -> None:
    """It goes on in a thread: simulated time has loops of its own, and runs outside of every other. What has
    happened is written down to the end, whoever is impatient."""
    simulation = Simulation(settings, directory.path, work, mutant=mutant_of(settings), kafkas=kafkas_of(settings))
    late: EnvironmentFailure | None = None
    try:
        late = await _apart(simulation, limit_s)
    finally:
        await done_apart(lambda: write_history(directory.history, simulation.history(late)))
    if late is not None:
        raise late


async def _apart(simulation: Simulation, limit_s: float) -> EnvironmentFailure | None:
    """Why it was ended before its end. Cancelled, it ends it too, also where somebody else's code stands in it."""
    ended = asyncio.Event()
    running = OwnThread(simulation.go, at_end=setter(ended))
    running.begin()
    try:
        async with within(limit_s):
            await ended.wait()
    except TimeoutError:
        return simulation.too_late(running, limit_s)
    except BaseException:
        simulation.end(running)
        raise
    running.answer()
    return None
