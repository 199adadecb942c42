"""What a program prints: objects become events, everything else does no harm."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_kcontroller.cluster.system import output
from pytest_kcontroller.cluster.system.output import Output, Search
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.runtime.real import RunStart

START = RunStart.now()


class Printing:
    def __init__(self, directory: Path) -> None:
        self.failures: list[str] = []
        self.out, self.err, self._history = directory / "out", directory / "err", directory / "history"
        self._history.mkdir()
        self.reader = Output(self._history, START, self.failures.append)
        self.reader.begin(0, "node-0", self.out, self.err)

    def events(self, printed: bytes) -> list[dict[str, object]]:
        """Of a process that prints this and ends."""
        with self.out.open("ab") as file:
            file.write(printed)
        asyncio.run(self.reader.settle("node-0"))
        return self.found()

    def found(self) -> list[dict[str, object]]:
        """All that it said so far."""
        return [event for event in self.recorded() if event["kind"] == "program.said"]

    def recorded(self) -> list[dict[str, object]]:
        file = self._history / "node-0.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture
def printing(tmp_path: Path) -> Iterator[Printing]:
    made = Printing(tmp_path)
    yield made
    made.reader.stop()


@pytest.mark.parametrize(
    "garbage",
    [
        b"hello\n",
        b"[1, 2]\n",
        b"{not json}\n",
        b'{"a": NaN}\n',
        b'{"a": 1e999}\n',
        b"{" + b'"a":{' * 5000 + b"\n",
        b'{"a": ' + b"9" * 5000 + b"}\n",
        bytes(range(256)) * 10,
        b"\xff\xfe{}\n",
        b"\r\n\r\n",
        b'{"long": "' + b"x" * (1 << 20) + b'"}\n',
        b"y" * (3 << 20) + b"\n",
    ],
    ids=lambda text: repr(text[:12]),
)
def test_garbage_is_no_event_and_hides_none(printing: Printing, garbage: bytes) -> None:
    found = printing.events(b'{"n": 1}\n' + garbage + b'\n{"n": 2}\n')
    assert [event["said"] for event in found] == [{"n": 1}, {"n": 2}]
    assert not printing.failures


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        (b'{"n": 1}\n', ""),
        (b"hello\n\n", "1 line was printed that is no JSON object; the first: hello"),
        (b'INFO {"n": 1}\n{\n', '2 lines were printed that are no JSON object; the first: INFO {"n": 1}'),
        (b"hello\n{\n} {\n", "3 lines were printed that are no JSON object; the first with a brace: {"),
    ],
)
def test_of_lines_that_are_no_objects_the_most_telling_is_shown(printing: Printing, printed: bytes, told: str) -> None:
    printing.events(printed)
    assert printing.reader.others(0) == told


TRACE = b"""\
Exception in thread "main" org.apache.zookeeper.KeeperException$SessionExpiredException
\tat org.apache.zookeeper.KeeperException.create(KeeperException.java:134)
    at my.Service.main(Service.java:7)
"""


@pytest.mark.parametrize(
    ("out", "err", "last"),
    [
        (b"", b"", []),
        (b"one\ntwo\n\nthree\nfour", b"", ["two", "three", "four"]),
        (b"one\n", TRACE, ['Exception in thread "main" org.apache.zookeeper.KeeperException$SessionExpiredException']),
        (b"", b"\x1b[31mno\n" + b"x" * 1000, ["\\x1b[31mno", "x" * 200 + "… (800 more characters)"]),
    ],
)
def test_the_last_words_of_a_process_are_kept(printing: Printing, out: bytes, err: bytes, last: list[str]) -> None:
    printing.out.write_bytes(out)
    printing.err.write_bytes(err)
    os.utime(printing.out, ns=(0, 0))
    asyncio.run(printing.reader.settle("node-0"))
    (ended,) = printing.recorded()
    assert (ended["kind"], ended["seq"], ended["last"]) == ("program.ended", 0, last)


def test_the_last_line_needs_no_end(printing: Printing) -> None:
    assert [event["said"] for event in printing.events(b'{"leads": "/l"}')] == [{"leads": "/l"}]


def test_an_event_says_when_it_was_not_there_yet(printing: Printing) -> None:
    at = RunStart.now()
    (event, as_text) = printing.events(b'{"at_ns": %d}\n{"at_ns": "%d"}\n' % (at.monotonic_ns, at.monotonic_ns))
    assert event["writer"] == "node-0"
    assert event["at_us"] == as_text["at_us"]
    assert event["at_us"] == (at.monotonic_ns - START.monotonic_ns) // 1000
    assert int(str(event["since_us"])) <= int(str(event["t_us"])) >= int(str(event["at_us"]))


@pytest.mark.parametrize(
    "at_ns", ["0", "-5", '"now"', '"0"', '"1795927856169333024"', "true", "1.5", "1795927856169333024", "9" * 30]
)
def test_a_time_that_is_not_of_this_run_is_none(printing: Printing, at_ns: str) -> None:
    (event,) = printing.events(b'{"at_ns": %s}\n' % at_ns.encode())
    assert event["at_us"] is None


@pytest.fixture
def slow(printing: Printing, monkeypatch: pytest.MonkeyPatch) -> Printing:
    """It is read a line or two at a time, and only when the test looks."""
    monkeypatch.setattr(output, "PIECE", 16)
    printing.reader._ended.set()
    printing.reader._thread.join()
    return printing


def test_a_line_has_the_time_at_which_it_was_printed_however_late_it_is_read(slow: Printing) -> None:
    with slow.out.open("ab", buffering=0) as out:
        out.write(b'{"n": 1}\n' * 100)
        slow.reader._look()
        slow.reader._look()
        not_yet_us = slow.reader.now_us()
        slow.reader._look()
        out.write(b'{"leads": "/l"}\n')
        slow.reader._look()
        there_us = slow.reader.now_us()
        assert len(slow.found()) < 10
        while slow.reader._look():
            pass
    *burst, leads = slow.found()
    assert len(burst) == 100
    assert not_yet_us <= int(str(leads["since_us"])) <= int(str(leads["t_us"])) <= there_us
    assert all(int(str(event["t_us"])) < not_yet_us for event in burst)
    assert [event["seq"] for event in burst] == [*range(100)]


def test_what_was_printed_before_somebody_asks_has_been_read(printing: Printing) -> None:
    printing.out.write_bytes(b'{"n": 1}\n' * 5000)
    asyncio.run(printing.reader.catch_up(60))
    assert len(printing.found()) == 5000


def test_who_prints_more_than_can_be_read_is_told(slow: Printing) -> None:
    slow.out.write_bytes(b'{"n": 1}\n' * 5000)
    with pytest.raises(EnvironmentFailure) as told:
        asyncio.run(slow.reader.catch_up(0))
    assert str(told.value) == (
        f"{slow.out}: the program of node 0 prints more than can be read: of what it had printed, 45,000 bytes were not "
        "read within 0 s\n  -> let it print less on stdout: what goes to stderr is kept, and nobody reads it"
    )


def test_what_is_too_much_is_known_although_it_is_read_at_the_very_end(
    slow: Printing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "MOST_SAID", 10)
    slow.out.write_bytes(b'{"n": 1}\n' * 20)
    slow.reader.stop()
    assert slow.failures == [slow.reader.failure]
    assert len(slow.found()) == 10


def test_a_history_that_cannot_be_written_is_told(printing: Printing) -> None:
    (printing.out.parent / "history" / "node-0.jsonl").mkdir()
    with printing.out.open("ab") as out:
        out.write(b'{"n": 1}\n')
    asyncio.run(printing.reader.settle("node-0"))
    (failure,) = printing.failures
    assert failure.startswith("what the programs print cannot be recorded: [Errno 21] Is a directory: ")


def test_who_prints_too_many_objects_is_told(printing: Printing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "MOST_SAID", 10)
    assert len(printing.events(b'{"n": 1}\n' * 20)) == 10
    assert printing.failures == [
        "the program of node 0 has printed more than 10 JSON objects: print those that say what it believes"
    ]


def test_who_fills_the_disk_is_told(printing: Printing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "MOST_PRINTED", 1 << 20)
    monkeypatch.setattr(output, "KEPT", 100)
    printing.err.write_bytes(b"begin" + b"x" * (2 << 20) + b"end")
    printing.events(b"short")
    left = printing.err.read_bytes()
    assert left.startswith(b"beginxx") and left.endswith(b"xxend") and len(left) < 300
    assert b"kcontroller has left out 2096960 bytes here" in left
    assert printing.out.read_bytes() == b"short"
    (failure,) = printing.failures
    assert failure == "the program of node 0 has printed more than 1 MiB, which fills the disk: is it in a loop?"


def test_a_text_is_found_once_all_of_it_is_there_and_nothing_is_read_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "AT_ONCE", 64)
    search = Search(tmp_path / "log", b"is ready")
    assert not search.finds(), "the file is not there"
    with (tmp_path / "log").open("wb", buffering=0) as log:
        for printed in (b"x" * 1000, b"\nit is", b" rea"):
            log.write(printed)
            assert not search.finds()
        log.seek(0)
        log.write(b"is ready")
        assert not search.finds(), "that has been read"
        log.seek(0, os.SEEK_END)
        log.write(b"dy\n")
        assert search.finds()
        other = Search(tmp_path / "log", b"x\nit")
        assert other.finds(), "over the end of a piece"
    (tmp_path / "log").unlink()
    assert search.finds()
