"""What happens, as it happens: the growing history files of all writers and ZooKeeper's growing transaction log.

The engine, the triggers and the observers of faults read only this. Nothing in it comes from an injector except the
engine's own records, which an observer never looks at.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

Event = dict[str, Any]

POLL_S = 0.02
SUFFIX = ".jsonl"


class Tail:
    """The complete lines that a directory's `*.jsonl` files have gained since the last look; a part of a line waits."""

    def __init__(self, directory: Path, skip: tuple[str, ...] = ()) -> None:
        self._directory, self._skip = directory, skip
        self._offsets: dict[str, int] = {}
        """By the file's name."""

    def poll(self) -> list[Event]:
        return [event for name in sorted(self._grown()) for event in self._read(name)]

    def _grown(self) -> list[str]:
        """Most looks find nothing, and must cost next to nothing."""
        with suppress(FileNotFoundError), os.scandir(self._directory) as entries:
            return [
                entry.name
                for entry in entries
                if entry.name.endswith(SUFFIX)
                and entry.name.removesuffix(SUFFIX) not in self._skip
                and entry.stat().st_size > self._offsets.get(entry.name, 0)
            ]
        return []

    def _read(self, name: str) -> list[Event]:
        offset = self._offsets.get(name, 0)
        with (self._directory / name).open("rb") as file:
            file.seek(offset)
            data = file.read()
        whole, newline, _ = data.rpartition(b"\n")
        if not newline:
            return []
        self._offsets[name] = offset + len(whole) + 1
        return [event for line in whole.split(b"\n") if (event := _decode(line)) is not None]


def _decode(line: bytes) -> Event | None:
    """A line that a killed writer cut in half, and another one wrote on, is not an event."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) and "kind" in value else None


class EventSource(Protocol):
    """Something that grows: files, ZooKeeper's log (its transactions as `zk.txn` events), the list of a simulated world."""

    def poll(self) -> list[Event]:
        """What is new since the last look."""
        ...


class Feed:
    """Events in the order in which they were seen. `position` marks a place in it: `wait(..., since=position)`."""

    def __init__(self, tail: EventSource, txns: EventSource) -> None:
        self._tail, self._txns = tail, txns
        self.events: list[Event] = []
        self.ended_sessions: dict[str, None] = {}
        """Those that ZooKeeper has closed or given up, as in events, in their order."""
        self.zxid = 0
        """Of the newest transaction that has been seen."""
        self._changed = asyncio.Event()
        self._waiting, self._awaited = 0, asyncio.Event()

    @property
    def position(self) -> int:
        """Behind all that has happened by now."""
        self.poll()
        return len(self.events)

    async def follow(self) -> None:
        """Reads whenever somebody waits, until cancelled."""
        while True:
            await self._awaited.wait()
            self.poll()
            await asyncio.sleep(POLL_S)

    def poll(self) -> None:
        txns = self._txns.poll()
        if new := [*txns, *self._tail.poll()]:
            self.events.extend(new)
            self.zxid = int(txns[-1]["zxid"]) if txns else self.zxid
            self.ended_sessions |= {txn["session"]: None for txn in txns if txn["type"] == "close-session"}
            self._changed.set()
            self._changed = asyncio.Event()

    def find(self, matches: Callable[[Event], bool], *, since: int = 0) -> Event | None:
        """The first matching event at or after the position `since` that has been seen."""
        return next((event for event in self.events[since:] if matches(event)), None)

    async def wait(self, matches: Callable[[Event], bool], *, since: int = 0) -> Event:
        """The first matching event at or after `since`, now or later; the caller sets the time limit."""
        self._waiting += 1
        self._awaited.set()
        try:
            while True:
                changed, seen = self._changed, len(self.events)
                if (event := self.find(matches, since=since)) is not None:
                    return event
                since = max(since, seen)
                await changed.wait()
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._awaited.clear()


def writer_is(writer: str, node: int) -> bool:
    """Whether a history's writer is a process of this node; a restarted one is `node-1.2`."""
    return writer.partition(".")[0] == f"node-{node}"
