"""What programs print, read as they print it: lines on stdout that are JSON objects become events of the history.

A program writes into a file, not into a pipe: nothing that we do can hold it up, and what it has printed stays when either
of us is killed. A thread of its own looks at the files all the time, however busy the harness's loop is; an event says when
the line was not there yet, so that whoever compares times knows how late it may have been read.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from pytest_kcontroller.model.history import ProgramSaid
from pytest_kcontroller.model.text import printable
from pytest_kcontroller.runtime.real import RealClock, Recorder, RunStart

POLL_S = 0.005
AT_ONCE = 1 << 20
LONGEST_LINE = 1 << 16
"""A longer one is no event; it is in the log, as everything is."""
MOST_SAID = 100_000
MOST_PRINTED = 1 << 29
"""Bytes of stdout and stderr, of one process."""
SHOWN = 200
"""Bytes of a line that should perhaps have been an object."""
KEPT = 1 << 20
"""Of what is longer than that, so much stays of its beginning and of its end."""


class Output:
    """The output of all programs of a cluster. `failed` is called, in that thread, with a sentence if one prints so much
    that nobody could read it, or that it fills the disk: what it says from then on is not known."""

    def __init__(self, history: Path, start: RunStart, failed: Callable[[str], None]) -> None:
        self._history, self._start, self._failed = history, start, failed
        self._clock = RealClock(start)
        self._streams: dict[str, _Stream] = {}
        self._others: dict[int, tuple[int, str]] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="output of programs", daemon=True)
        self._thread.start()

    def begin(self, node: int, name: str, stdout: Path, stderr: Path) -> None:
        """A process is about to be started; `name` is what the files of its history and logs are called by."""
        stdout.touch()
        with self._lock:
            self._streams[name] = _Stream(node, name, stdout, stderr, self)

    def settle(self, name: str) -> None:
        """Its process has ended: reads what is left."""
        with self._lock:
            if (stream := self._streams.pop(name, None)) is not None:
                stream.end()

    def stop(self) -> None:
        """Idempotent."""
        self._ended.set()
        self._thread.join()
        for name in list(self._streams):
            self.settle(name)

    def no_object(self, node: int, line: bytes) -> None:
        """A line that says nothing to us."""
        count, first = self._others.get(node, (0, ""))
        self._others[node] = count + 1, first or printable(line[:SHOWN].decode(errors="replace").strip())

    def others(self, node: int) -> str:
        """For people: how many of those the processes of a node have printed; empty: none."""
        count, first = self._others.get(node, (0, ""))
        lines = "1 line was" if count == 1 else f"{count:,} lines were"
        return (
            f"{lines} printed that {'is' if count == 1 else 'are'} no JSON object; the first: {first}" if count else ""
        )

    def recorder(self, name: str) -> Recorder:
        return Recorder(self._history / f"{name}.jsonl", name, self._clock)

    def now_us(self) -> int:
        return self._clock.now_us()

    def run_time_us(self, at_ns: Any) -> int | None:
        """Of a reading of this machine's monotonic clock in this run, until now; None: it is none."""
        if type(at_ns) is not int:
            return None
        at_us = (at_ns - self._start.monotonic_ns) // 1000
        return at_us if 0 <= at_us <= self.now_us() else None

    def fail(self, what: str) -> None:
        self._failed(what)

    def _follow(self) -> None:
        while not self._ended.wait(POLL_S):
            with self._lock:
                for stream in self._streams.values():
                    stream.look()


class _Stream:
    def __init__(self, node: int, name: str, stdout: Path, stderr: Path, of: Output) -> None:
        self._node, self._name, self._of, self._stderr = node, name, of, stderr
        self._file = stdout.open("rb", buffering=0)
        self._recorder: Recorder | None = None
        self._rest, self._skipping = b"", False
        self._said, self._given_up, self._floods = 0, False, False
        self._stdout = stdout
        self._since_us = of.now_us()
        """At that time there was nothing more."""

    def look(self) -> bool:
        """Whether there may be more already."""
        if self._given_up:
            return False
        self._check_amount()
        now_us = self._of.now_us()
        data = self._file.read(AT_ONCE) or b""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._line(line)
        if len(self._rest) > LONGEST_LINE:
            self._rest, self._skipping = b"", True
        if len(data) == AT_ONCE:
            return True
        self._since_us = now_us
        return False

    def end(self) -> None:
        while self.look():
            pass
        self._line(self._rest)  # it may have ended without an end of line
        self._file.close()
        if self._floods:
            for path in (self._stdout, self._stderr):
                shorten(path)
        if self._recorder is not None:
            self._recorder.close()

    def _line(self, line: bytes) -> None:
        skipping, self._skipping = self._skipping, False
        if skipping or self._given_up or len(line) > LONGEST_LINE:
            return
        if (said := _object(line)) is None:
            if line.strip():
                self._of.no_object(self._node, line)
            return
        self._said += 1
        if self._said > MOST_SAID:
            self._give_up(f"has printed more than {MOST_SAID:,} JSON objects: print those that say what it believes")
            return
        if self._recorder is None:
            self._recorder = self._of.recorder(self._name)
        at_us = self._of.run_time_us(said.get("at_ns"))
        self._recorder(ProgramSaid(node=self._node, said=said, since_us=self._since_us, at_us=at_us))

    def _check_amount(self) -> None:
        printed = os.fstat(self._file.fileno()).st_size + (self._stderr.stat().st_size if self._stderr.exists() else 0)
        if printed > MOST_PRINTED:
            self._floods = True
            self._give_up(f"has printed more than {MOST_PRINTED >> 20} MiB, which fills the disk: is it in a loop?")

    def _give_up(self, why: str) -> None:
        self._given_up = True
        self._of.fail(f"the program of node {self._node} {why}")


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
        value = json.loads(line, parse_constant=_no_number)
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)
