"""A transaction log as ZooKeeper writes it, for tests of who reads it while it grows."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

CREATE_SESSION = -10


class LogWriter:
    """One file, which gets a create-session per transaction. Source of the format: kcontroller_chaos.history.txnlog."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._path = directory / "log.1"
        self._path.write_bytes(struct.pack(">4siq", b"ZKLG", 2, 0))

    def append(self, zxid: int, time_ms: int) -> None:
        record = struct.pack(">qiqqii", 0x1000, 0, zxid, time_ms, CREATE_SESSION, 3000)
        with self._path.open("ab") as file:
            file.write(struct.pack(">qi", zlib.adler32(record), len(record)) + record + b"B")
