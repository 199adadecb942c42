"""What every real ZooKeeper server of ours can be asked, wherever it runs: embedded_zookeeper, container_zookeeper."""

from __future__ import annotations

import asyncio
import re
import shutil
from abc import ABC, abstractmethod
from pathlib import Path

from pytest_kcontroller.cluster.children.patience import Patience
from pytest_kcontroller.cluster.limits import LONGEST_SESSION_MS
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import StartError
from pytest_kcontroller.model.cluster import Address

START_S = 30.0
POLL_S = 0.02
ANSWER_S = 2.0

TICK_MS = 200
"""Sessions may be 2 to 20 ticks by default: with a short tick the shortest is 400 ms; the longest is set apart."""
MAX_SESSION_MS = LONGEST_SESSION_MS
SNAP_COUNT = 1_000_000
"""So many transactions are in one log file: none of a test is cut off by a snapshot."""
SUPERUSER = "super:kcontroller"
"""Whom no ACL stops (scheme `digest`): who cleans up after a test that used ACLs. Our servers listen on loopback only."""
JVM_OPTIONS = (
    "-Duser.timezone=UTC",  # the times in its log
    "-Dzookeeper.forceSync=no",  # a test's data need not survive the machine
    "-Dzookeeper.preAllocSize=1024",  # KiB; the default makes each log file 64 MiB
    "-Dzookeeper.DigestAuthenticationProvider.superDigest=super:7wHxkVTHmACHWinbDtHH7UdNrFA=",  # of SUPERUSER
)


class ZooKeeper(ABC):
    """One server, running. `txn_log_directory` is where its transaction log files (`log.*`) are, while it runs and after."""

    def __init__(self, address: Address, txn_log_directory: Path) -> None:
        self.address, self.txn_log_directory = address, txn_log_directory

    @abstractmethod
    async def stop(self) -> None:
        """Ends the server; its files stay. Idempotent."""

    @abstractmethod
    async def wait_ended(self) -> str:
        """How it ended, once it has."""

    @abstractmethod
    def _how_it_ended(self) -> str | None:
        """None while it runs."""

    @property
    def _pid(self) -> int | None:
        """Of its process; None: it is in a container."""
        return None

    @abstractmethod
    async def _is_ours(self) -> bool:
        """Whether what answers at the address is this server."""

    async def _ready(self, log: Path, command: str) -> None:
        patience = Patience(scaled(START_S), self._pid)
        limit_s = ANSWER_S / 10  # a port may be open before the server is there to answer: ask again soon
        while patience.left_s:
            if (ended := self._how_it_ended()) is not None:
                raise StartError("ZooKeeper", phase=ended, seconds=patience.seconds, log=log, command=command)
            answer = await self.four_letter_word("srvr", limit_s)
            if answer.startswith("Zookeeper version") and await self._is_ours():
                return
            limit_s = min(1.5 * limit_s, ANSWER_S)
            await asyncio.sleep(POLL_S)
        seconds, phase = patience.seconds, "waiting for its answer to srvr"
        await self.stop()
        raise StartError("ZooKeeper", phase=phase, seconds=seconds, log=log, command=command)

    async def four_letter_word(self, word: str, limit_s: float = ANSWER_S) -> str:
        """The server's answer to `srvr`, `cons`, `dump`, ...; empty if it does not answer."""
        return await four_letter_word(self.address, word, limit_s)

    async def version(self) -> str:
        """As the server itself says, `3.9.3`; "unknown" if it does not."""
        matched = re.match(r"Zookeeper version: (\d[\d.]*\d)", await self.four_letter_word("srvr"))
        return matched.group(1) if matched else "unknown"

    async def session_timeouts_ms(self) -> dict[int, int]:
        """Session id -> negotiated time-out of every connected session, as the server itself says (`cons`)."""
        found = {}
        for line in (await self.four_letter_word("cons")).splitlines():
            fields = dict(part.split("=", 1) for part in line.partition("(")[2].rstrip(")").split(",") if "=" in part)
            if "sid" in fields and "to" in fields:
                found[int(fields["sid"], 16)] = int(fields["to"])
        return found

    def export_log(self, to: Path) -> None:
        """Copies the transaction log files into `to`, cut after the last record.

        ZooKeeper fills each file with zeros ahead of its writes; a record ends with the byte 0x42. A file has a header of
        16 bytes, which may end with zeros itself.
        """
        to.mkdir(parents=True, exist_ok=True)
        for file in sorted(self.txn_log_directory.glob("log.*")):
            data = file.read_bytes()
            (to / file.name).write_bytes(data[: max(16, len(data.rstrip(b"\0")))])

    def take_log(self, to: Path) -> None:
        """After the server's end: as export_log, and what it was copied from is removed."""
        self.export_log(to)
        shutil.rmtree(self.txn_log_directory, ignore_errors=True)


async def four_letter_word(address: Address, word: str, limit_s: float = ANSWER_S) -> str:
    """What answers there to `srvr`, `cons`, `dump`, ...; empty if nothing does within `limit_s`, scaled."""
    try:
        async with asyncio.timeout(scaled(limit_s)):
            reader, writer = await asyncio.open_connection(address.host, address.port)
            try:
                writer.write(word.encode())
                return (await reader.read(-1)).decode(errors="replace")
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return ""
