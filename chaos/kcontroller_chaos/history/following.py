"""ZooKeeper's transaction log, read as it grows, with a look at both clocks beside it (clocks.py says what for).

A clock that is set and set back between two looks shows nothing: what was stamped meanwhile is off by as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kcontroller_chaos.history.clocks import WallTimes
from kcontroller_chaos.history.committed import LogReader, reader_of
from kcontroller_chaos.history.transactions import txn_event
from pytest_kcontroller.cluster.zookeeper.server import LogPlace
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.history import ClockStepped, Record
from pytest_kcontroller.runtime.real import RunStart

LOOK_US = 50_000
STEP_US = 2_000
"""So far the clocks may be apart without a word: it is what reading them, and whole milliseconds, cost anyway."""
SETTLE_US = 50_000
"""After so long a transaction that was stamped before a step is in the log."""


class Clocks(Protocol):
    """See runtime.real.RealClock."""

    def now_us(self) -> int: ...
    def wall_ahead_us(self) -> int | None: ...
    async def sleep_us(self, duration_us: int) -> None: ...


@dataclass(slots=True)
class _Look:
    """`zxid` is the newest transaction that was in the log by `at_us`."""

    at_us: int = 0
    zxid: int = 0


@dataclass(frozen=True, slots=True)
class _Step:
    """One that has been seen, and is not noted yet."""

    step_us: int
    before: _Look
    seen_us: int


_NO_STEP: _Step | None = None


class FollowedLog:
    """`events` are its transactions so far, as events. Steps of the wall clock are recorded."""

    def __init__(self, start: RunStart, clock: Clocks, record: Record) -> None:
        self._clock, self._record = clock, record
        self._reader: LogReader | None = None
        self._times = WallTimes(start)
        self._ahead_us, self._newest = 0, 0
        self._last, self._step = _Look(), _NO_STEP
        self.events: list[dict[str, Any]] = []

    def open(self, directories: Sequence[Path], since: LogPlace | None = None) -> None:
        """Where each of ZooKeeper's servers writes its own, once that is known, and from where on it is this run's (of one
        server)."""
        self._reader = reader_of(directories, since)

    async def follow(self) -> None:
        """Looks again and again, until it is cancelled; a log that cannot be read is the affair of whoever needs it."""
        while True:
            try:
                self.look()
            except EnvironmentFailure:
                return
            await self._clock.sleep_us(LOOK_US)

    def look(self) -> None:
        """First the log, then the clocks: what is in the log was stamped before. Raises CorruptLogError."""
        txns = () if self._reader is None else self._reader.poll()
        self._newest = txns[-1].zxid if txns else self._newest
        now_us = self._clock.now_us()
        self._compare(now_us)
        for txn in txns:
            t_us = self._times.of_txn(txn.zxid, txn.time_ms, seen_us=now_us)
            self.events.append(txn_event(txn, len(self.events), t_us))
        if self._step is not None and now_us >= self._step.seen_us + SETTLE_US:
            self.settle()

    def _compare(self, now_us: int) -> None:
        ahead_us = self._clock.wall_ahead_us()
        if ahead_us is None:
            return
        if abs(step_us := ahead_us - self._ahead_us) > STEP_US:
            self.settle()
            self._ahead_us, self._step = ahead_us, _Step(step_us, self._last, now_us)
            self._times.begin(step_us, since_us=self._last.at_us, after_zxid=self._last.zxid)
        self._last = _Look(now_us, self._newest)

    def settle(self) -> None:
        """Notes the step that was seen last, if there is one that is not noted yet."""
        if (step := self._step) is None:
            return
        self._step = _NO_STEP
        until_us, until_zxid = self._clock.now_us(), self._newest
        self._times.settle(until_us=until_us, until_zxid=until_zxid)
        self._record(
            ClockStepped(
                step_us=step.step_us,
                since_us=step.before.at_us,
                until_us=until_us,
                after_zxid=step.before.zxid,
                until_zxid=until_zxid,
            )
        )


class LogSource:
    """What of a followed log is new since the last look of this one: an EventSource."""

    def __init__(self, log: FollowedLog) -> None:
        self._log, self._seen = log, 0

    def poll(self) -> list[dict[str, Any]]:
        self._log.look()
        new = self._log.events[self._seen :]
        self._seen += len(new)
        return new
