"""What programs print, read as they print it: lines on stdout that are JSON objects become events of the history.

A program writes into a file, not into a pipe: nothing that we do can hold it up, and what it has printed stays when either
of us is killed. A thread of its own looks at the files all the time, however busy the harness's loop is. It looks at how
long all of them are after every piece that it reads of one. So an event says between which two looks its line was printed,
though it may be read much later: a program can print faster than anybody reads.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.history import ProgramEnded, ProgramSaid, encoded, line_of
from pytest_kcontroller.model.text import printable, whole_number
from pytest_kcontroller.runtime.real import RealClock, RunStart

POLL_S = 0.005
PIECE = 1 << 13
"""So much is read of a file before all are looked at again: some milliseconds, if it is objects."""
SETTLE_S = 1.0
"""Who waits for the end of a process waits so long for what it has printed."""
AT_ONCE = 1 << 20
LONGEST_LINE = 1 << 16
"""A longer one is no event; it is in the log, as everything is."""
MOST_SAID = 100_000
MOST_PRINTED = 1 << 29
"""Bytes of stdout and stderr, of one process."""
SHOWN = 200
"""Of a line that should perhaps have been an object, or is among the last."""
LAST = 3
"""Lines that a process printed before it ended."""
KEPT = 1 << 20
"""Of what is longer than that, so much stays of its beginning and of its end."""


class Output:
    """The output of all programs of a cluster. `failed` is called once, in that thread, with a sentence if one prints so
    much that nobody could read it, or that it fills the disk: what it says from then on is not known."""

    def __init__(self, history: Path, start: RunStart, failed: Callable[[str], None]) -> None:
        self._history, self._start, self._failed = history, start, failed
        self._clock = RealClock(start)
        self._streams: dict[str, _Stream] = {}
        self._others: dict[int, _Others] = {}
        self.failure = ""
        """What `failed` was called with, once."""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="output of programs", daemon=True)
        self._thread.start()

    def begin(self, node: int, name: str, stdout: Path, stderr: Path) -> None:
        """A process is about to be started; `name` is what the files of its history and logs are called by."""
        stdout.touch()
        self._streams[name] = _Stream(node, name, stdout, stderr, self._history, self)

    async def settle(self, name: str) -> None:
        """Its process has ended: returns when what is left has been read. If that takes long, it is known how much it is,
        so that none of it is later than the end of the process, and it is read by and by."""
        if (stream := self._streams.get(name)) is None:
            return
        loop = asyncio.get_running_loop()
        stream.ended, ends = True, loop.time() + scaled(SETTLE_S)
        # Looked at again and again: a thread tells no loop.
        while not stream.closed and (loop.time() < ends or (self._thread.is_alive() and not stream.whole)):  # noqa: ASYNC110
            await asyncio.sleep(POLL_S)

    async def catch_up(self, limit_s: float) -> None:
        """Returns when all that is printed by now has been read, or something has failed. Raises EnvironmentFailure: it
        takes longer than that."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + limit_s
        printed = [(stream, stream.size) for stream in list(self._streams.values())]
        while not self.failure and (behind := [one for one in printed if not one[0].has_read(one[1])]):
            if loop.time() > ends:
                raise behind[0][0].too_much(behind[0][1], limit_s)
            await asyncio.sleep(POLL_S)

    def stop(self) -> None:
        """Reads what is left. Idempotent."""
        self._ended.set()
        self._thread.join()
        for stream in self._streams.values():
            stream.ended = True
        self._read_on(lambda: False)

    def no_object(self, node: int, line: bytes) -> None:
        """A line that says nothing to us."""
        if (others := self._others.get(node)) is None:
            others = self._others[node] = _Others()
        others.count += 1
        brace = b"{" in line
        if others.count == 1 or (brace and not others.brace):
            others.shown, others.brace = others.count, brace
            others.text = printable(line[:SHOWN].decode(errors="replace").strip())

    def others(self, node: int) -> str:
        """For people: how many of those the processes of a node have printed; empty: none."""
        if (others := self._others.get(node)) is None:
            return ""
        lines = "1 line was printed that is" if others.count == 1 else f"{others.count:,} lines were printed that are"
        which = "the first" if others.shown == 1 else "the first with a brace"
        return f"{lines} no JSON object; {which}: {others.text}"

    def now_us(self) -> int:
        return self._clock.now_us()

    def run_time_us(self, at_ns: Any, until_us: int) -> int | None:
        """Of a reading of this machine's monotonic clock in this run, until then; None: it is none."""
        if (number := whole_number(at_ns)) is None:
            return None
        at_us = (number - self._start.monotonic_ns) // 1000
        return at_us if 0 <= at_us <= until_us else None

    def fail(self, what: str) -> None:
        if not self.failure:
            self.failure = what
            self._failed(what)

    def _follow(self) -> None:
        while not self._ended.wait(POLL_S):
            self._read_on(self._ended.is_set)

    def _read_on(self, ended: Callable[[], bool]) -> None:
        """Until there is no more, or nobody wants it."""
        try:
            while self._look() and not ended():
                pass
        except OSError as failed:  # the disk is full, say: who waits for what is printed waits in vain
            self.fail(f"what the programs print cannot be recorded: {failed}")

    def _look(self) -> bool:
        """Reads a piece of each; whether there is more already."""
        streams, more = list(self._streams.items()), False
        for _, stream in streams:
            stream.mark()
        for name, stream in streams:
            if stream.read():
                more = True
            elif stream.whole:
                del self._streams[name]
                stream.close()
        return more


@dataclass(slots=True)
class _Others:
    """Lines that are no objects: how many, and the one that is shown. One with a brace tells more: it should be one perhaps,
    and stands behind a log's prefix."""

    count: int = 0
    shown: int = 0
    brace: bool = False
    text: str = ""


@dataclass(slots=True)
class _Mark:
    """A file was so long at the first and at the last look that found it so."""

    size: int
    first_us: int
    last_us: int


class _Stream:
    """What one process prints. Only the thread of its Output reads."""

    def __init__(self, node: int, name: str, stdout: Path, stderr: Path, history: Path, of: Output) -> None:
        self._node, self._name, self._of = node, name, of
        self._stdout, self._stderr, self._history_file = stdout, stderr, history / f"{name}.jsonl"
        self._file = stdout.open("rb", buffering=0)
        self._history: BinaryIO | None = None
        self._rest, self._skipping = b"", False
        self._said, self._given_up, self._floods = 0, False, False
        self._offset = self._read_to = 0
        """Of what is read, and of what is in the history."""
        now_us = of.now_us()
        self._looked_us = now_us
        self._marks = deque([_Mark(0, now_us, now_us)])
        """From the last one that is shorter than what is read next."""
        self.ended = self.whole = self.closed = False
        """Its process has ended; how much it has printed is known; all of that has been read."""

    @property
    def size(self) -> int:
        return self._stdout.stat().st_size

    def has_read(self, size: int) -> bool:
        return self.closed or self._given_up or self._read_to >= size

    def too_much(self, size: int, limit_s: float) -> EnvironmentFailure:
        return EnvironmentFailure(
            f"the program of node {self._node} prints more than can be read: of what it had printed, "
            f"{size - self._read_to:,} bytes were not read within {limit_s:g} s",
            where=str(self._stdout),
            hint="let it print less on stdout: what goes to stderr is kept, and nobody reads it",
        )

    def mark(self) -> None:
        """How long the file is now."""
        if self.whole:
            return
        ended, before_us = self.ended, self._of.now_us()
        size = os.fstat(self._file.fileno()).st_size
        if size > (last := self._marks[-1]).size:
            self._marks.append(_Mark(size, self._of.now_us(), before_us))
        else:
            last.last_us = before_us
        self.whole, self._looked_us = ended, before_us
        printed = size + (self._stderr.stat().st_size if self._stderr.exists() else 0)
        if printed > MOST_PRINTED and not self._given_up:
            self._floods = True
            self._give_up(f"has printed more than {MOST_PRINTED >> 20} MiB, which fills the disk: is it in a loop?")

    def read(self) -> bool:
        """A piece of what was there at the last look; whether there is more."""
        if self._given_up:
            return False
        data = self._file.read(min(PIECE, self._marks[-1].size - self._offset)) or b""
        end = self._offset - len(self._rest)
        self._offset += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        found = []
        for line in lines:
            end += len(line) + 1
            found.append(self._event(line, end))
        if len(self._rest) > LONGEST_LINE:
            self._rest, self._skipping = b"", True
        self._write("".join(found))
        self._forget(self._offset - len(self._rest) + 1)
        self._read_to = self._offset
        return bool(data) and self._offset < self._marks[-1].size

    def close(self) -> None:
        try:
            self._write(self._event(self._rest, self._offset))  # it may have ended without an end of line
            ended = ProgramEnded(node=self._node, last=last_words(self._stdout, self._stderr))
            self._write(encoded(line_of(ended, self._name, min(self._said, MOST_SAID), self._looked_us)))
            if self._floods:
                for path in (self._stdout, self._stderr):
                    shorten(path)
        finally:
            self._file.close()
            if self._history is not None:
                self._history.close()
            self.closed = True

    def _event(self, line: bytes, end: int) -> str:
        """The line of the history for a line of the program's that ends before `end`; empty: for none."""
        skipping, self._skipping = self._skipping, False
        if skipping or self._given_up or len(line) > LONGEST_LINE:
            return ""
        if (said := _object(line)) is None:
            if line.strip():
                self._of.no_object(self._node, line)
            return ""
        self._forget(end)
        since_us, until_us = self._marks[0].last_us, self._marks[1].first_us
        at_us = self._of.run_time_us(said.get("at_ns"), until_us)
        event = ProgramSaid(node=self._node, said=said, since_us=since_us, at_us=at_us)
        try:
            text = encoded(line_of(event, self._name, self._said, until_us))
        except RecursionError:  # it could be read, and is one brace too deep to be written
            self._of.no_object(self._node, line)
            return ""
        self._said += 1
        if self._said > MOST_SAID:
            self._give_up(f"has printed more than {MOST_SAID:,} JSON objects: print those that say what it believes")
            return ""
        return text

    def _forget(self, end: int) -> None:
        """The looks before the last one that did not find what ends before `end`."""
        while len(self._marks) > 1 and self._marks[1].size < end:
            self._marks.popleft()

    def _write(self, text: str) -> None:
        if text:
            self._history = self._history or self._history_file.open("ab")
            self._history.write(text.encode())
            self._history.flush()

    def _give_up(self, why: str) -> None:
        self._of.fail(f"the program of node {self._node} {why}")
        self._given_up = True


def written_last(*logs: Path) -> Path | None:
    """Of these, if there is anything in one."""
    written = [path for path in logs if path.exists() and path.stat().st_size]
    return max(written, key=lambda path: path.stat().st_mtime_ns, default=None)


def last_words(*logs: Path) -> list[str]:
    """The last lines of the one that was written last, without those that begin with white space, as in stack traces."""
    if (log := written_last(*logs)) is None:
        return []
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - LONGEST_LINE))
        lines = file.read().decode(errors="replace").splitlines()
    telling = [line for line in lines if line.strip() and not line[0].isspace()]
    return [printable(line, SHOWN) for line in telling[-LAST:]]


def shorten(path: Path) -> None:
    """To its beginning and its end, if it is long; nobody writes it any more."""
    with path.open("r+b") as file:
        left_out = file.seek(0, os.SEEK_END) - 2 * KEPT
        if left_out <= 0:
            return
        file.seek(-KEPT, os.SEEK_END)
        end = file.read()
        file.seek(KEPT)
        file.write(b"\n... (kcontroller has left out %d bytes here) ...\n" % left_out + end)
        file.truncate()


class Search:
    """Whether a file that grows has a text: each look reads only what is new."""

    def __init__(self, path: Path, text: bytes) -> None:
        self._path, self._text = path, text
        self._offset, self._found = 0, False

    def finds(self) -> bool:
        if self._found or not self._path.exists():
            return self._found
        with self._path.open("rb") as file:
            file.seek(self._offset)
            rest = b""
            while not self._found and (data := file.read(AT_ONCE)):
                self._found = self._text in rest + data
                rest = (rest + data)[-len(self._text) :]
            self._offset = max(0, file.tell() - len(self._text))  # its beginning may be there already
        return self._found


def _object(line: bytes) -> dict[str, Any] | None:
    """None: it is no JSON object, or none that can be written down again (NaN, a number without end)."""
    if not line.startswith(b"{"):
        return None
    try:
        value = _decoder.decode(line.decode())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _finite(text: str) -> float:
    if math.isfinite(number := float(text)):
        return number
    raise ValueError(text)


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)


_decoder = json.JSONDecoder(parse_float=_finite, parse_constant=_no_number)
"""One for all lines: to make one takes as long as a line."""
