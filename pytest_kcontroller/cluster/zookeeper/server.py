"""What every real ZooKeeper server of ours can be asked, and done to, wherever it runs: embedded.py, container.py."""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_kcontroller.cluster.children.patience import Patience
from pytest_kcontroller.cluster.limits import LONGEST_SESSION_MS
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.access import PLAIN, Access
from pytest_kcontroller.cluster.zookeeper.words import read_connections
from pytest_kcontroller.errors import StartError
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.runtime.timeouts import within

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


LOG_HEADER = 16
"""Bytes, which may end with zeros; ZooKeeper fills a log file with zeros ahead of its writes. A record ends with 0x42."""


@dataclass(frozen=True, slots=True)
class LogPlace:
    """In the transaction log: the name of a file, and how many of its bytes are before."""

    file: str
    offset: int


class ZooKeeper(ABC):
    """One server, alone or in an ensemble. `txn_log_directory` is where its transaction log files (`log.*`) are, while it
    runs and after; `log` is what it prints."""

    def __init__(self, address: Address, txn_log_directory: Path, log: Path) -> None:
        self.address, self.txn_log_directory, self.log = address, txn_log_directory, log
        self._wanted = asyncio.Event()
        """It runs, as far as we know: nobody has ended it."""

    async def launch(self) -> None:
        """Starts it on its data and its port, also once it has been ended; `wait_serving` waits until it is there."""
        await self._launch()
        self._wanted.set()

    async def stop(self) -> None:
        """Ends the server in good order; its files stay. Idempotent."""
        self._wanted.clear()
        await self._stop()

    async def kill(self) -> None:
        """SIGKILL: it can be launched again."""
        self._wanted.clear()
        await self._kill()

    @abstractmethod
    async def signal(self, number: signal.Signals) -> None:
        """To its process: SIGSTOP, SIGCONT."""

    @abstractmethod
    def process_state(self) -> str | None:
        """The operating system's letter for its process (T: stopped); None: it has ended."""

    async def wait_ended(self) -> str:
        """How it ended, once it has by itself: not what was asked for here."""
        while True:
            ended, how = await self._wait_ended()
            if self._wanted.is_set() and ended is self._process_now:
                return how
            await self._wanted.wait()

    @property
    @abstractmethod
    def _process_now(self) -> object:
        """Its process, or what takes care of it."""

    @abstractmethod
    async def _launch(self) -> None:
        """See launch."""

    @abstractmethod
    async def _stop(self) -> None:
        """See stop."""

    @abstractmethod
    async def _kill(self) -> None:
        """See kill."""

    @abstractmethod
    async def _wait_ended(self) -> tuple[object, str]:
        """Until the process of this moment has ended: that process, and how."""

    @abstractmethod
    def _how_it_ended(self) -> str | None:
        """None while it runs."""

    @property
    @abstractmethod
    def _by_hand(self) -> str:
        """Its start, for a shell."""

    @property
    def _pid(self) -> int | None:
        """Of its process; None: it is in a container."""
        return None

    async def wait_serving(self) -> None:
        """Until it serves clients: alone at once, in an ensemble when that has a leader. Raises StartError, and stops it."""
        patience = Patience(scaled(START_S), self._pid)
        limit_s = ANSWER_S / 10  # a port may be open before the server is there to answer: ask again soon
        while patience.left_s:
            if (ended := self._how_it_ended()) is not None:
                raise self._not_started(ended, patience)
            if await self.mode(limit_s) is not None:
                return
            limit_s = min(1.5 * limit_s, ANSWER_S)
            await asyncio.sleep(POLL_S)
        failed = self._not_started("waiting for its answer to srvr", patience)
        await self.stop()
        raise failed

    def _not_started(self, phase: str, patience: Patience) -> StartError:
        return StartError("ZooKeeper", phase=phase, seconds=patience.seconds, log=self.log, command=self._by_hand)

    async def mode(self, limit_s: float = ANSWER_S) -> str | None:
        """What it says that it is: `standalone`, `leader`, `follower`; None: it does not answer, or serves nobody (one of
        an ensemble without a majority)."""
        return await mode_of(self.address, limit_s)

    async def four_letter_word(self, word: str, limit_s: float = ANSWER_S) -> str:
        """The server's answer to `srvr`, `cons`, `dump`, ...; empty if it does not answer."""
        return await four_letter_word(self.address, word, limit_s)

    async def version(self) -> str:
        """As the server itself says, `3.9.3`; "unknown" if it does not."""
        matched = re.match(r"Zookeeper version: (\d[\d.]*\d)", await self.four_letter_word("srvr"))
        return matched.group(1) if matched else "unknown"

    async def session_timeouts_ms(self) -> dict[int, int]:
        """Session id -> negotiated time-out of every connected session, as the server itself says (`cons`)."""
        connections = read_connections(await self.four_letter_word("cons"))
        return {session: connection.timeout_ms for session, connection in connections.items()}

    def export_log(self, to: Path, since: LogPlace | None = None) -> None:
        """Copies the transaction log files into `to`, cut after the last record, without what was logged before `since`."""
        to.mkdir(parents=True, exist_ok=True)
        for file in self._log_files():
            if since is None or _number(file.name) >= _number(since.file):
                data, skipped = _written(file), since.offset if since and file.name == since.file else LOG_HEADER
                (to / file.name).write_bytes(data[:LOG_HEADER] + data[skipped:])

    def log_end(self, known: LogPlace | None = None) -> LogPlace | None:
        """Where the next transaction is logged. `known` is such a place of before; None: nothing was logged yet."""
        files = self._log_files()
        return LogPlace(files[-1].name, len(_written(files[-1]))) if files else known

    def _log_files(self) -> list[Path]:
        return sorted(self.txn_log_directory.glob("log.*"), key=lambda file: _number(file.name))

    def take_log(self, to: Path) -> None:
        """After the server's end: as export_log, and what it was copied from is removed."""
        self.export_log(to)
        shutil.rmtree(self.txn_log_directory, ignore_errors=True)


def _written(file: Path) -> bytes:
    data = file.read_bytes()
    return data[: max(LOG_HEADER, len(data.rstrip(b"\0")))]


def _number(file: str) -> int:
    """The first zxid that is logged there."""
    return int(file.removeprefix("log."), 16)


async def four_letter_word(address: Address, word: str, limit_s: float = ANSWER_S, access: Access = PLAIN) -> str:
    """What answers there to `srvr`, `cons`, `dump`, ...; empty if nothing does within `limit_s`, scaled."""
    try:
        async with within(scaled(limit_s)):
            reader, writer = await access.open(address)
            try:
                writer.write(word.encode())
                return (await reader.read(-1)).decode(errors="replace")
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return ""


async def mode_of(address: Address, limit_s: float = ANSWER_S, access: Access = PLAIN) -> str | None:
    """See ZooKeeper.mode."""
    answer = await four_letter_word(address, "srvr", limit_s, access)
    found = re.search(r"^Mode: (\w+)$", answer, re.MULTILINE)
    return found.group(1) if found else None


async def modes_of(
    servers: Sequence[Address], limit_s: float = ANSWER_S, access: Access = PLAIN
) -> dict[int, str | None]:
    """Server, from 1 -> see ZooKeeper.mode."""
    return dict(enumerate(await asyncio.gather(*(mode_of(server, limit_s, access) for server in servers)), 1))


async def serving(servers: Sequence[Address], limit_s: float = ANSWER_S, access: Access = PLAIN) -> Address:
    """The first that serves clients, else the first of all, which whoever asks it will find out. One alone is not asked."""
    modes = await modes_of(servers, limit_s, access) if len(servers) > 1 else {1: None}
    return next((server for server, mode in zip(servers, modes.values(), strict=True) if mode is not None), servers[0])


async def answering(servers: Sequence[Address], limit_s: float = ANSWER_S, access: Access = PLAIN) -> bool:
    """Whether one of them says anything; an old server, or one that may not say it, says so."""
    return any(await asyncio.gather(*(four_letter_word(server, "srvr", limit_s, access) for server in servers)))
