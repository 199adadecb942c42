"""The log directories of a broker: which replica is in which, and what becomes of it when one cannot be read or written.

Sources: kafka.server.ReplicaManager (checkpointHighWatermarks, handleLogDirFailure), OffsetCheckpointFile, and kafka.log.
LogManager (createAndValidateLogDirs, getOrCreateLog, nextLogDirs, handleLogDirFailure: a broker whose log directories have
all failed halts, before it could announce it), all 3.9; KIP-112.

There are no records yet, so all that is known of a log is that it is there: the checkpoint of its directory names it. With
one directory that is written now and then, and never read, as nothing would follow from it. With several it is written
whenever a log comes or goes, too, since a broker that is started with a failed one has to know what is in the others.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NoReturn

from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.model.history import BrokerLogDirFailed, BrokerLogDirOffline, Record
from pytest_kcontroller.model.text import whole_number
from pytest_kcontroller.runtime.ports import Clock, Disk

CHECKPOINT = "replication-offset-checkpoint"
VERSION = 0


class LogDirFailedError(EnvironmentFailure):
    """The broker halts: it hands nothing over, and leaves the end of its session to ZooKeeper (Kafka: Exit.halt(1))."""

    exit_status = 1


def log_dir_names(count: int) -> tuple[str, ...]:
    """Below the broker's own directory; the only one is that itself, and has no name."""
    return ("",) if count == 1 else tuple(f"log-dir-{number}" for number in range(count))


def checkpointed(data: bytes) -> list[TopicPartition]:
    """The logs that a checkpoint names. Of one that is torn, what is left of it: a log that it has lost is not there."""
    rows = (line.split(" ") for line in data.decode("utf-8", "replace").split("\n")[2:])
    named = ((row[0], whole_number(row[1])) for row in rows if len(row) == 3)
    return [TopicPartition(topic, number) for topic, number in named if number is not None]


class LogDir:
    """One of them; see ports.Disk. With its first error, of whichever read or write, it has failed: nothing is there any
    more."""

    def __init__(self, name: str, disk: Disk, fail: Callable[[LogDir, str, OSError], None]) -> None:
        """`fail` is told of that error, and in which file it was."""
        self.name = name
        self.partitions: dict[TopicPartition, str] = {}
        """In the order in which they came, each with its line in the checkpoint: that is written as a whole whenever one
        comes or goes."""
        self.failed = False
        self._disk, self._fail = disk, fail

    def read(self, name: str) -> bytes | None:
        path = self._path(name)
        try:
            return None if self.failed else self._disk.read(path)
        except OSError as failed:
            self._fail(self, path, failed)
            return None

    def write(self, name: str, data: bytes) -> None:
        path = self._path(name)
        try:
            if not self.failed:
                self._disk.write(path, data)
        except OSError as failed:
            self._fail(self, path, failed)

    def _path(self, name: str) -> str:
        return f"{self.name}/{name}" if self.name else name

    def load(self) -> None:
        for tp in checkpointed(self.read(CHECKPOINT) or b""):
            self.add(tp)

    def add(self, tp: TopicPartition) -> None:
        self.partitions[tp] = f"{tp.topic} {tp.partition} 0\n"

    def save(self) -> None:
        lines = self.partitions.values()
        self.write(CHECKPOINT, f"{VERSION}\n{len(lines)}\n{''.join(lines)}".encode())


class LogDirs:
    """All of a broker's. Whatever reads or writes raises LogDirFailedError when the last one has failed."""

    def __init__(self, disk: Disk, record: Record, count: int = 1) -> None:
        self._record = record
        self._all = tuple(LogDir(name, disk, self._fail) for name in log_dir_names(count))
        self.several = count > 1
        self.gone_offline: Callable[[Iterable[TopicPartition]], list[TopicPartition]] = lambda _: []
        """Called with what was in a directory that has failed, while there are others; says which of it is hosted."""
        self._news, self._untold = asyncio.Event(), False
        self._all_failed = asyncio.Event()
        self._halted: LogDirFailedError | None = None

    @property
    def live(self) -> list[LogDir]:
        return [each for each in self._all if not each.failed]

    def load(self) -> None:
        """Which logs are there, at the broker's start. Nobody is told of a directory that fails now: the controller asks
        whoever registers for all that it has."""
        if self.several:
            for each in self._all:
                each.load()
            self._untold = False

    def create(self, wanted: Mapping[TopicPartition, bool]) -> list[TopicPartition]:
        """A log for each that has none; `wanted` says of which replicas that they are new. Returns those that have none now:
        what is not new, and not here, may be in a directory that has failed, and is not made again.

        A new one goes where the fewest are, and to the next one if that fails.
        """
        self._ensure_one_lives()
        while missing := self._missing(wanted):
            for tp in missing:
                min(self.live, key=lambda each: len(each.partitions)).add(tp)
            self._save_those_with(missing)
        return [tp for tp in wanted if self._of(tp) is None]

    def _missing(self, wanted: Mapping[TopicPartition, bool]) -> list[TopicPartition]:
        all_here = len(self.live) == len(self._all)
        return [tp for tp, is_new in wanted.items() if self._of(tp) is None and (is_new or all_here)]

    def delete(self, tps: Iterable[TopicPartition]) -> None:
        """Their logs, if they have any."""
        self._ensure_one_lives()
        changed: dict[str, LogDir] = {}
        for tp in tps:
            if (found := self._of(tp)) is not None:
                del found.partitions[tp]
                changed[found.name] = found
        self._save(changed.values())

    def _of(self, tp: TopicPartition) -> LogDir | None:
        return next((each for each in self._all if tp in each.partitions), None)

    def _save_those_with(self, tps: Iterable[TopicPartition]) -> None:
        found = (self._of(tp) for tp in tps)
        self._save({each.name: each for each in found if each is not None}.values())

    def _save(self, changed: Iterable[LogDir]) -> None:
        if self.several:
            for each in changed:
                each.save()

    async def keep(self, clock: Clock, every_us: int) -> NoReturn:
        """Writes down which logs there are, again and again, until it cannot or is cancelled. Kafka begins with the first
        LeaderAndIsr."""
        while True:
            await clock.sleep_us(every_us)
            for each in self.live:
                each.save()

    async def until_all_failed(self) -> NoReturn:
        """Raises LogDirFailedError when the last one has failed, whoever found it: a handler that does ends its connection
        only, and whoever else waits may wait for somebody who is out of reach."""
        while self._halted is None:
            await self._all_failed.wait()
        raise self._halted

    def _ensure_one_lives(self) -> None:
        """The others are served for some turns still while the broker halts."""
        if self._halted is not None:
            raise self._halted

    async def announce(self, tell: Callable[[], Awaitable[bool]]) -> NoReturn:
        """Calls `tell` when directories have failed; if it cannot, again when we are reminded."""
        while True:
            await self._news.wait()
            self._news.clear()
            if self._untold and self.live:
                self._untold = False
                self._untold = not await tell() or self._untold

    def remind(self) -> None:
        """There is a new session, in which can be told what could not be told in the last one."""
        self._news.set()

    def _fail(self, log_dir: LogDir, file: str, failed: OSError) -> None:
        why, code = failed.strerror or str(failed), errno.errorcode.get(failed.errno or 0, "")
        log_dir.failed = self._untold = True
        held, log_dir.partitions = log_dir.partitions, {}
        if not self.live:
            self._record(BrokerLogDirFailed(file=file, code=code, why=why))
            self._halted = LogDirFailedError(
                f"the log directory has failed, and there is no other one: {why}",
                where=str(failed.filename or file),
                hint="see to the disk, or to the room on it, then start the node again",
            )
            self._all_failed.set()
            raise self._halted from None
        self._news.set()
        offline = [str(tp) for tp in self.gone_offline(held)]
        self._record(BrokerLogDirOffline(directory=log_dir.name, partitions=offline, file=file, code=code, why=why))
