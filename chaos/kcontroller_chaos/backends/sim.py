"""A campaign's run in virtual time: the same engine, faults and nodes, in one world of one seed (pytest_kcontroller/sim)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kcontroller_chaos.campaign.schedule import Schedule
from kcontroller_chaos.feed import Event, Feed
from kcontroller_chaos.history.read import ZOOKEEPER, txn_event
from kcontroller_chaos.play.engine import Engine
from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.sim.cluster import SimCluster
from pytest_kcontroller.cluster.timing import unscaled
from pytest_kcontroller.errors import EnvironmentError_
from pytest_kcontroller.model.history import HistoryEvent, MutantCounts, ProcessExited, RunFailed, line_of
from pytest_kcontroller.plugin.manager import Plugins
from pytest_kcontroller.runtime.real import RunStart
from pytest_kcontroller.runtime.scheduler import WALL_START_MS, Scheduler
from pytest_kcontroller.runtime.seams import Mutant, counts, installed
from pytest_kcontroller.sim.world import World
from pytest_kcontroller.zookeeper.txn import Txn

ENGINE = "engine"

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


@dataclass(frozen=True, slots=True)
class Work:
    """What a run was in simulated time: its end in microseconds, and how many callbacks that took."""

    end_us: int
    callbacks: int


def simulate(
    settings: ClusterSettings,
    directory: Path,
    schedule: Schedule,
    *,
    keep: Callable[[list[Event]], None],
    mutant: Mutant | None,
    noop: str | None,
    duration_s: float,
    plugins: Plugins | None = None,
) -> Work:
    """Plays it, and gives its history, ZooKeeper's transactions at the end, to `keep`: in any case.

    Raises EnvironmentError_ as a real cluster does. `directory` is where messages say that there is more;
    `plugins` are those of the settings, if they have been loaded already.
    """
    with Scheduler() as scheduler, unscaled(), installed(mutant):
        world = World(scheduler, settings.seed)
        loop = scheduler.process(ENGINE)
        seq = 0

        def record(event: HistoryEvent | str, /, **fields: object) -> None:
            nonlocal seq
            world.events.append(line_of(event, fields, ENGINE, seq, scheduler.now_us))
            seq += 1

        def exited(node: int, status: int) -> None:
            record(ProcessExited(node=node, status=status))

        async def play() -> None:
            cluster = await SimCluster.start(world, settings, directory, on_exit=exited, loop=loop, plugins=plugins)
            feed = Feed(SeenEvents(world.events), SeenTxns(world.zookeeper.txns))
            try:
                await Engine(cluster, feed, world.clock, record, noop, duration_s=duration_s).play(schedule)
            finally:
                await cluster.stop()

        try:
            scheduler.run_until_complete(loop.create_task(play(), name=ENGINE))
        except EnvironmentError_ as failed:
            record(RunFailed(error=str(failed)))
            raise
        finally:
            if mutant is not None:
                record(MutantCounts(mutant=mutant.name, counts=counts()))
            keep([*world.events, *SeenTxns(world.zookeeper.txns).poll()])
        return Work(scheduler.now_us, scheduler.ran)


def write_history(directory: Path, events: Sequence[Event]) -> None:
    """`directory`/<writer>.jsonl, as the processes of a real run write it."""
    files: dict[str, list[str]] = {}
    for event in events:
        files.setdefault(str(event["writer"]), []).append(json.dumps(event, separators=(",", ":")) + "\n")
    files.setdefault(ZOOKEEPER, [])
    for writer, lines in files.items():
        (directory / f"{writer}.jsonl").write_text("".join(lines), encoding="utf-8")
