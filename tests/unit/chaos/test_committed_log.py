"""What an ensemble has decided, from logs that are behind, ahead, cut off or have gaps."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from kcontroller_chaos.history.committed import CommittedReader, read_all
from kcontroller_chaos.history.txnlog import CorruptLogError

HEADER = b"ZKLG" + struct.pack(">iq", 2, 0)
CREATE_SESSION = -10
OLD, NEW = 1 << 32, 2 << 32
"""Epochs of two leaders, one after the other."""


def record(zxid: int) -> bytes:
    """A session that is opened, as FileTxnLog writes it."""
    body = struct.pack(">qiqqi", 7, 0, zxid, 0, CREATE_SESSION) + struct.pack(">i", 400)
    return struct.pack(">qi", zlib.adler32(body), len(body)) + body + b"B"


class Server:
    """One server's log: `starts` begins a file, as each start of a server does."""

    def __init__(self, directory: Path) -> None:
        self.directory, self._file = directory, Path()
        directory.mkdir(parents=True)

    def writes(self, *zxids: int) -> None:
        if not self._file.is_file():
            self._file = self.directory / f"log.{zxids[0]:x}"
            self._file.write_bytes(HEADER)
        with self._file.open("ab") as file:
            file.write(b"".join(map(record, zxids)))

    def dies(self) -> None:
        """Zeros stand behind what it has written, since files are made larger ahead."""
        with self._file.open("ab") as file:
            file.write(bytes(64))
        self._file = Path()

    def cuts_off(self, *zxids: int) -> None:
        """The newest, which it was not told that it was decided; then its next write begins a file."""
        (newest,) = self.directory.glob("log.*")
        data = newest.read_bytes().rstrip(b"\0")
        newest.write_bytes(data[: -len(b"".join(map(record, zxids)))])
        self._file = Path()


class Three:
    def __init__(self, directory: Path) -> None:
        places = [directory / f"server-{number}" for number in (1, 2, 3)]
        self.a, self.b, self.c = (Server(place / "version-2") for place in places)
        self._directory, self._reader = directory, CommittedReader(places)

    def polled(self) -> list[int]:
        return [txn.zxid for txn in self._reader.poll()]

    def whole(self) -> list[int]:
        return [txn.zxid for txn in read_all(self._directory)]


@pytest.fixture
def three(tmp_path: Path) -> Three:
    return Three(tmp_path)


def test_what_one_has_is_not_decided_until_another_has_it(three: Three) -> None:
    three.a.writes(OLD + 1, OLD + 2)
    assert three.polled() == []
    three.b.writes(OLD + 1)
    assert three.polled() == [OLD + 1]
    three.c.writes(OLD + 1, OLD + 2)
    assert three.polled() == [OLD + 2]
    three.b.writes(OLD + 2)
    assert three.polled() == []
    assert three.whole() == [OLD + 1, OLD + 2]


def test_what_a_leader_that_ended_had_told_nobody_was_never_decided(three: Three) -> None:
    for server in (three.a, three.b, three.c):
        server.writes(OLD + 1)
    three.a.writes(OLD + 2)
    assert three.polled() == [OLD + 1]
    three.a.dies()
    three.b.writes(NEW + 1)
    three.c.writes(NEW + 1)
    assert three.polled() == [NEW + 1]
    assert three.whole() == [OLD + 1, NEW + 1], "it is in the log of one that did not come back"
    three.a.cuts_off(OLD + 2)
    three.a.writes(NEW + 1, NEW + 2)
    three.b.writes(NEW + 2)
    assert three.polled() == [NEW + 2]
    assert three.whole() == [OLD + 1, NEW + 1, NEW + 2]


def test_one_that_was_away_need_not_have_what_it_got_as_a_snapshot(three: Three) -> None:
    three.a.writes(OLD + 1, OLD + 2, OLD + 3)
    three.b.writes(OLD + 1, OLD + 2, OLD + 3)
    three.c.writes(OLD + 1)
    three.c.dies()
    assert three.polled() == [OLD + 1, OLD + 2, OLD + 3]
    three.c.writes(OLD + 4)
    three.a.writes(OLD + 4)
    three.b.dies()
    assert three.polled() == [OLD + 4]
    assert three.whole() == [OLD + 1, OLD + 2, OLD + 3, OLD + 4]


def test_within_an_epoch_what_came_before_is_decided_too(three: Three) -> None:
    """B got the first as a snapshot, and C is not looked at yet."""
    three.a.writes(OLD + 1, OLD + 2)
    three.b.writes(OLD + 2)
    assert three.polled() == [OLD + 1, OLD + 2]


def test_a_record_that_a_kill_tore_is_the_end_of_its_file(three: Three) -> None:
    three.a.writes(OLD + 1)
    three.b.writes(OLD + 1)
    (file,) = three.a.directory.glob("log.*")
    file.write_bytes(file.read_bytes() + record(OLD + 2)[:20] + bytes(64))
    three.a.dies()
    three.a.writes(NEW + 1)
    three.b.writes(NEW + 1)
    assert three.polled() == three.whole() == [OLD + 1, NEW + 1]


def test_a_wrong_checksum_is_an_error_all_the_same(three: Three) -> None:
    three.a.writes(OLD + 1)
    (file,) = three.a.directory.glob("log.*")
    file.write_bytes(HEADER + bytes(8) + record(OLD + 1)[8:])
    three.a.dies()
    three.a.writes(OLD + 2)
    with pytest.raises(CorruptLogError, match=r"log\.100000001 at byte 16"):
        three.polled()


def test_no_log_at_all_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CorruptLogError, match="there is no log file"):
        read_all(tmp_path)
