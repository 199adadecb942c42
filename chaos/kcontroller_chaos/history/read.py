"""Histories: what happened in a run, read from its files. Checkers order by zxid or seq; time is for display."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kcontroller_chaos.history.clocks import WallTimes, steps_in
from kcontroller_chaos.history.committed import read_all
from kcontroller_chaos.history.transactions import ZOOKEEPER, ZkTxn, txn_event
from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.model.history import NodeMetadata, NodeStatus, ZkTree, encoded
from pytest_kcontroller.model.history.event import HistoryEvent, rows
from pytest_kcontroller.runtime.real import RunStart

Event = Mapping[str, Any]
Kind = str | type[HistoryEvent]


@dataclass(frozen=True, eq=False)
class History:
    """All events by (t_us, writer, seq). Nobody changes them, so what was looked up once is kept.

    `cut` names lines that a killed writer left half, as FILE:LINE.

    `log_error` says why ZooKeeper's log could not be read; then nothing that is proven by it is known.
    """

    events: tuple[Event, ...]
    cut: tuple[str, ...] = ()
    log_error: str | None = None

    def of(self, *kinds: Kind) -> tuple[Event, ...]:
        """The events of these kinds, named or by their classes."""
        names = [kind if isinstance(kind, str) else kind.kind for kind in kinds]
        if len(names) == 1:
            return self._by_kind.get(names[0], ())
        return tuple(event for event in self.events if event["kind"] in names)

    def rows(self, *kinds: Kind) -> Iterator[Event]:
        """The same, a batch (`leader.elected` ...) partition by partition: each with its `topic`, `partition` and so on."""
        for event in self.of(*kinds):
            yield from rows(event)

    @cached_property
    def _by_kind(self) -> dict[str, tuple[Event, ...]]:
        found: dict[str, list[Event]] = {}
        for event in self.events:
            found.setdefault(event["kind"], []).append(event)
        return {kind: tuple(events) for kind, events in found.items()}

    @cached_property
    def txns(self) -> tuple[Event, ...]:
        """ZooKeeper's transactions in zxid order."""
        return tuple(sorted(self.of(ZkTxn), key=lambda event: int(event["zxid"])))

    @property
    def tree(self) -> Event | None:
        """What ZooKeeper held at the end; None: the run did not get there."""
        return next(reversed(self.of(ZkTree)), None)

    @cached_property
    def statuses(self) -> dict[int, Event]:
        """Node -> what it said of itself at the end, of those that ran then."""
        return self._at_the_end(NodeStatus)

    @cached_property
    def metadata(self) -> dict[int, Event]:
        """Node -> what it had been told at the end, of those that ran then."""
        return self._at_the_end(NodeMetadata)

    def _at_the_end(self, kind: type[HistoryEvent]) -> dict[int, Event]:
        """Since the look before, which ended with its tree: a test may look often, and a node that it has ended since then
        says nothing any more."""
        events = self.of(kind, ZkTree)
        trees = [at for at, event in enumerate(events) if event["kind"] == ZkTree.kind]
        since = trees[-2] if len(trees) > 1 else 0
        return {int(event["node"]): event for event in events[since:] if event["kind"] == kind.kind}


def read_history(directory: Path, *, log_error: str | None = None) -> History:
    """Reads `history/*.jsonl`. A half line at a file's end is left out and named; another broken line is a UsageError."""
    events: list[Event] = []
    cut: list[str] = []
    for path in sorted(directory.glob("*.jsonl")):
        lines = path.read_bytes().split(b"\n")
        if lines[-1] == b"":
            lines.pop()
            whole = True
        else:
            whole = False
        for number, line in enumerate(lines, start=1):
            event = _event(line)
            if event is not None:
                events.append(event)
            elif number == len(lines) and not whole:
                cut.append(f"{path}:{number}")
            else:
                raise UsageError(
                    "is no history event", where=f"{path}:{number}", hint="was the file edited? restore it"
                )
    return in_order(events, tuple(cut), log_error)


def in_order(events: Iterable[Event], cut: tuple[str, ...] = (), log_error: str | None = None) -> History:
    """The history of these events, as their lines would be read."""
    whole = sorted(events, key=lambda event: (event["t_us"], event["writer"], event["seq"]))
    return History(tuple(whole), cut, log_error)


def _event(line: bytes) -> Event | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    if isinstance(value, dict) and {"writer", "seq", "t_us", "kind"} <= value.keys():
        return value
    return None


def zk_import(run: Path, start: RunStart) -> int:
    """Writes history/zookeeper.jsonl from zookeeper/log.*; returns the number of transactions. Raises CorruptLogError."""
    txns, times = read_all(run / "zookeeper"), WallTimes(start, steps_in(run / "history"))
    lines = [txn_event(txn, seq, times.of_txn(txn.zxid, txn.time_ms)) for seq, txn in enumerate(txns)]
    text = "".join(encoded(line) for line in lines)
    (run / "history").mkdir(exist_ok=True)
    (run / "history" / f"{ZOOKEEPER}.jsonl").write_text(text, encoding="utf-8")
    return len(txns)
