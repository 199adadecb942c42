"""ZooKeeper's transaction log, the independent witness: what really was written, in which order, by which session.

A file is a header (magic ZKLG, version, dbid), then per transaction: Adler-32 of its bytes (8 bytes), their length (4),
header (session, cxid, zxid, time, type), record, from ZooKeeper 3.6 on a digest, and then the byte 'B'. Zeros follow,
because files are preallocated. Source: org.apache.zookeeper.server.persistence.FileTxnLog, zookeeper.jute.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pytest_kcontroller.cluster.zookeeper.server import LogPlace
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.zookeeper.txn import Op, Txn

MAGIC = b"ZKLG"
HEADER_BYTES = 16
_FRAME = struct.Struct(">qi")
_TXN = struct.Struct(">qiqqi")
_CREATES = {1: "create", 15: "create2", 19: "create-container", 21: "create-ttl"}
_NAMES = {**_CREATES, 2: "delete", 5: "set", 13: "check", 14: "multi", -1: "error", -10: "create-session"}
_NAMES |= {-11: "close-session", 20: "delete-container"}


class CorruptLogError(EnvironmentFailure):
    """A log cannot be understood; `where` is file and byte offset."""

    def __init__(self, path: Path, offset: int, why: str) -> None:
        super().__init__(f"ZooKeeper's transaction log: {why}", where=f"{path} at byte {offset}")


class _Bytes:
    """Jute, ZooKeeper's encoding: big-endian numbers, texts and buffers with their length before them."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, count: int) -> bytes:
        if count < 0 or self._at + count > len(self._data):
            raise ValueError("a record is shorter than it says")
        self._at += count
        return self._data[self._at - count : self._at]

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def int32(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def buffer(self) -> bytes | None:
        length = self.int32()
        return None if length < 0 else self.take(length)

    def text(self) -> str:
        return (self.buffer() or b"").decode()

    def flag(self) -> bool:
        return self.take(1) != b"\0"


def decode_txn(data: bytes) -> Txn:
    """One transaction's bytes. Raises ValueError."""
    if len(data) < _TXN.size:
        raise ValueError("a transaction is shorter than its header")
    session, cxid, zxid, time_ms, number = _TXN.unpack_from(data)
    name = _NAMES.get(number, str(number))
    txn = Txn(zxid=zxid, session=session, cxid=cxid, time_ms=time_ms, type=name)
    body = _Bytes(data[_TXN.size :])
    if name == "create-session":
        return replace(txn, timeout_ms=body.int32())
    if name == "close-session":
        return replace(txn, closed=_closed(body))
    if name == "error":
        return replace(txn, error=body.int32())
    if name == "multi":
        return replace(txn, ops=tuple(_part(body) for _ in range(body.int32())))
    op = _op(number, body)
    return txn if op is None else replace(txn, ops=(op,))


def _closed(body: _Bytes) -> tuple[str, ...]:
    """Paths, from ZooKeeper 3.6 on. With the setting off there are none, and only a digest (12 bytes) may follow."""
    if body.left <= 12:
        return ()
    return tuple(body.text() for _ in range(max(0, body.int32())))


def _part(body: _Bytes) -> Op:
    number = body.int32()
    record = _Bytes(body.buffer() or b"")
    return _op(number, record) or Op(type=_NAMES.get(number, str(number)))


def _op(number: int, body: _Bytes) -> Op | None:
    name = _NAMES.get(number)
    if number in _CREATES:
        path, data = body.text(), body.buffer()
        for _ in range(body.int32()):  # the ACL: permissions, scheme, id
            body.int32()
            body.text()
            body.text()
        ephemeral = body.flag() if number in (1, 15) else False
        return Op(type=_CREATES[number], path=path, data=data, version=0, ephemeral=ephemeral)
    if name in ("delete", "delete-container"):
        return Op(type="delete", path=body.text())
    if name == "set":
        return Op(type=name, path=body.text(), data=body.buffer(), version=body.int32())
    if name == "check":
        return Op(type=name, path=body.text(), version=body.int32())
    if name == "error":
        return Op(type=name, code=body.int32())
    return None


class TxnLogReader:
    """Reads a directory of log files from `since` on, also while ZooKeeper writes it."""

    def __init__(self, directory: Path, since: LogPlace | None = None) -> None:
        self._directory = directory
        self._path = None if since is None else directory / since.file
        self._offset = 0 if since is None else since.offset
        self.torn: str | None = None
        """Where the newest file ends inside a transaction, as seen by the last poll; None: it ends cleanly."""

    def poll(self) -> tuple[Txn, ...]:
        """New transactions since the last poll, in zxid order. Raises CorruptLogError: a bad checksum before the end."""
        found: list[Txn] = []
        files = log_files(self._directory)
        for path in files:
            if self._path is not None and _first_zxid(path) < _first_zxid(self._path):
                continue
            if path != self._path:
                self._path, self._offset = path, 0
            for txn, end in self._read(path, last=path == files[-1]):
                found.append(txn)
                self._offset = end
        return tuple(found)

    def _read(self, path: Path, *, last: bool) -> Iterator[tuple[Txn, int]]:
        self.torn = None
        with path.open("rb") as file:
            start = self._offset
            file.seek(start)
            if not file.read(_FRAME.size).strip(b"\0"):  # most looks: a megabyte of preallocated zeros is not read
                return
            file.seek(start)
            data = file.read()
        at = 0
        if start == 0:
            if len(data) < HEADER_BYTES or data[:4] == b"\0\0\0\0":
                return  # just created
            if data[:4] != MAGIC:
                raise CorruptLogError(path, 0, "the file does not begin with ZKLG")
            at = HEADER_BYTES
        while (end := self._whole(path, data, at, start, last)) is not None:
            try:
                yield decode_txn(data[at + _FRAME.size : end - 1]), start + end
            except (ValueError, UnicodeDecodeError) as bad:
                raise CorruptLogError(path, start + at, str(bad)) from None
            at = end

    def _whole(self, path: Path, data: bytes, at: int, start: int, last: bool) -> int | None:
        """The end of the transaction at `at`, or None: there is no further one, or not all of it yet."""
        body = at + _FRAME.size
        if not data[at:body].strip(b"\0"):
            return None
        if len(data) >= body:
            checksum, length = _FRAME.unpack_from(data, at)
            end: int = body + length
            whole = length > 0 and data[end : end + 1] == b"B"
            if whole and zlib.adler32(data[body:end]) == checksum:
                return end + 1
            if whole and (not last or data[end + 1 :].strip(b"\0")):
                raise CorruptLogError(path, start + at, "the checksum of a transaction is wrong")
        self.torn = f"{path} at byte {start + at}"
        return None


def log_files(directory: Path) -> list[Path]:
    """Log files below `directory` (ZooKeeper puts them into version-2/), by the zxid in their name."""
    found = [Path(folder, name) for folder, _, names in os.walk(directory) for name in names if name.startswith("log.")]
    return sorted(filter(_is_log, found), key=_first_zxid)


def _is_log(path: Path) -> bool:
    try:
        _first_zxid(path)
    except ValueError:
        return False
    return True


def _first_zxid(path: Path) -> int:
    return int(path.name.removeprefix("log."), 16)
