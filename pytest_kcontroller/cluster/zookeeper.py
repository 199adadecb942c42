"""A real ZooKeeper server in a JVM of its own: loopback only, free port, dead with its owner."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import socket
from pathlib import Path
from typing import Self

from pytest_kcontroller.cluster.java import find_java, zookeeper_classpath
from pytest_kcontroller.cluster.processes import Supervised
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import StartError
from pytest_kcontroller.model.cluster import Address

START_S = 30.0
STOP_S = 5.0
POLL_S = 0.02
PORT_TRIES = 5

TICK_MS = 200
"""Sessions may be 2 to 20 ticks by default: with a short tick the shortest is 400 ms; the longest is set apart."""

_CONFIG = """\
tickTime={tick_ms}
minSessionTimeout={min_ms}
maxSessionTimeout=60000
dataDir={data}
dataLogDir={log_data}
clientPort={port}
clientPortAddress=127.0.0.1
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=*
snapCount=1000000
"""

_LOG4J = """\
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{ISO8601} %-5p %c{1} - %m%n
"""

_LOG4J_1 = """\
log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{ISO8601} %-5p %c{1} - %m%n
"""


class ZooKeeper:
    """One server; made by `start`, ended by `stop`."""

    def __init__(self, directory: Path, log_data: Path, process: Supervised, address: Address) -> None:
        self.directory, self.address = directory, address
        self._log_data, self._process = log_data, process

    @property
    def txn_log_directory(self) -> Path:
        """Where the transaction log files (`log.*`) are."""
        return self._log_data / "version-2"

    @classmethod
    async def start(
        cls,
        directory: Path,
        *,
        log: Path,
        tick_ms: int = TICK_MS,
        cleanup: Path | None = None,
        txn_log: Path | None = None,
    ) -> Self:
        """Returns when the server answers `srvr`. `directory` is made if missing, and removed (or `cleanup` is, if it
        is given) if our process dies. The transaction log is written below `txn_log` if it is given: it outlives both.

        Raises StartError (phase, seconds, last log lines, command), at once if the JVM ends; what find_java and
        zookeeper_classpath raise.
        """
        java, classpath = find_java(), zookeeper_classpath()
        directory = directory.absolute()
        log_data = directory / "data" if txn_log is None else txn_log.absolute()
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "log4j2.properties").write_text(_LOG4J, encoding="utf-8")
        (directory / "log4j.properties").write_text(_LOG4J_1, encoding="utf-8")  # Debian's ZooKeeper has log4j 1.2
        for attempt in range(PORT_TRIES):
            mark = log.stat().st_size if log.exists() else 0
            port = _free_port()
            config = directory / "zoo.cfg"
            text = _CONFIG.format(
                tick_ms=tick_ms, min_ms=2 * tick_ms, data=directory / "data", log_data=log_data, port=port
            )
            config.write_text(text, encoding="utf-8")
            command = _command(java, classpath, directory, config)
            process = await Supervised.start(
                "ZooKeeper", command, log=log, cwd=directory, cleanup=[cleanup or directory]
            )
            server = cls(directory, log_data, process, Address("127.0.0.1", port))
            try:
                await server._ready(log, command)
            except StartError:
                # A port that was free when we looked can be taken when the JVM binds it.
                if attempt + 1 < PORT_TRIES and b"Address already in use" in log.read_bytes()[mark:]:
                    continue
                raise
            except BaseException:
                await process.kill()
                raise
            return server
        raise AssertionError("the last attempt returns or raises")

    async def _ready(self, log: Path, command: list[str]) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        shown = shlex.join(command)
        while (seconds := loop.time() - began) < scaled(START_S):
            if self._process.returncode is not None:
                phase = f"the JVM ended with status {self._process.returncode}"
                raise StartError("ZooKeeper", phase=phase, seconds=seconds, log=log, command=shown)
            if (await self.four_letter_word("srvr")).startswith("Zookeeper version") and await self._is_ours():
                return
            await asyncio.sleep(POLL_S)
        await self._process.kill()
        raise StartError("ZooKeeper", phase="waiting for its answer to srvr", seconds=seconds, log=log, command=shown)

    async def _is_ours(self) -> bool:
        """Another ZooKeeper may have taken the port before ours, and answer in its place."""
        return f"dataDir={self.directory / 'data' / 'version-2'}" in (await self.four_letter_word("conf")).splitlines()

    async def four_letter_word(self, word: str) -> str:
        """The server's answer to `srvr`, `cons`, `dump`, ...; empty if it does not answer."""
        try:
            async with asyncio.timeout(scaled(2)):
                reader, writer = await asyncio.open_connection(self.address.host, self.address.port)
                try:
                    writer.write(word.encode())
                    return (await reader.read(-1)).decode(errors="replace")
                finally:
                    writer.close()
        except (OSError, TimeoutError):
            return ""

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

    async def stop(self) -> None:
        """Ends the server; its files stay. Idempotent."""
        await self._process.stop(scaled(STOP_S))


def _command(java: Path, classpath: str, directory: Path, config: Path) -> list[str]:
    return [
        str(java),
        *("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xms64m", "-Xmx256m"),
        "-Dzookeeper.forceSync=no",  # a test's data need not survive the machine
        "-Dzookeeper.preAllocSize=1024",  # KiB; the default makes each log file 64 MiB
        f"-Dlog4j2.configurationFile={directory / 'log4j2.properties'}",
        f"-Dlog4j.configuration=file:{directory / 'log4j.properties'}",
        *("-cp", classpath, "org.apache.zookeeper.server.quorum.QuorumPeerMain", str(config)),
    ]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
