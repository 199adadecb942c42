"""A real ZooKeeper server in a JVM of its own: loopback only, free port, dead with its owner."""

from __future__ import annotations

import shlex
import socket
from pathlib import Path
from typing import Self

from pytest_kcontroller.cluster.children.processes import Supervised
from pytest_kcontroller.cluster.java import find_java, zookeeper_classpath
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.server import JVM_OPTIONS, MAX_SESSION_MS, SNAP_COUNT, TICK_MS, ZooKeeper
from pytest_kcontroller.errors import EnvironmentFailure, StartError
from pytest_kcontroller.model.cluster import Address

STOP_S = 5.0
UTF_8 = {"LC_ALL": "C.UTF-8"}
"""A JVM takes the names of files in the encoding of its locale, and shows others as question marks."""
PORT_TRIES = 5

_CONFIG = """\
tickTime={tick_ms}
minSessionTimeout={min_ms}
maxSessionTimeout={max_ms}
dataDir={data}
dataLogDir={log_data}
clientPort={port}
clientPortAddress=127.0.0.1
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=*
snapCount={snap_count}
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


class EmbeddedZooKeeper(ZooKeeper):
    """One server; made by `start`."""

    def __init__(self, directory: Path, log_data: Path, process: Supervised, address: Address) -> None:
        super().__init__(address, log_data / "version-2")
        self.directory, self._process = directory, process

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
                tick_ms=tick_ms,
                min_ms=2 * tick_ms,
                max_ms=MAX_SESSION_MS,
                snap_count=SNAP_COUNT,
                data=_in_properties(directory / "data"),
                log_data=_in_properties(log_data),
                port=port,
            )
            config.write_text(text, encoding="latin-1")
            command = _command(java, classpath, directory, config)
            process = await Supervised.start(
                "ZooKeeper", command, log=log, cwd=directory, env=UTF_8, cleanup=[cleanup or directory]
            )
            server = cls(directory, log_data, process, Address("127.0.0.1", port))
            try:
                await server._ready(log, shlex.join(command))
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

    async def wait_ended(self) -> str:
        return f"the JVM ended with status {await self._process.wait()}"

    def _how_it_ended(self) -> str | None:
        status = self._process.returncode
        return None if status is None else f"the JVM ended with status {status}"

    @property
    def _pid(self) -> int | None:
        return self._process.pid

    async def _is_ours(self) -> bool:
        """Another ZooKeeper may have taken the port before ours, and answer in its place."""
        return f"dataDir={self.directory / 'data' / 'version-2'}\n" in await self.four_letter_word("conf")

    async def stop(self) -> None:
        await self._process.stop(scaled(STOP_S))


def _in_properties(path: Path) -> str:
    """As the value of a Java properties file: Latin-1, with backslash escapes (java.util.Properties.load).

    Raises EnvironmentFailure: the path is no text.
    """
    try:
        units = str(path).encode("utf-16-be")
    except UnicodeEncodeError:
        raise EnvironmentFailure("the path is no UTF-8, which Java cannot name", where=repr(str(path))) from None
    chars = [chr(int.from_bytes(units[at : at + 2])) for at in range(0, len(units), 2)]
    return "".join(char if " " < char < "\x7f" and char != "\\" else f"\\u{ord(char):04x}" for char in chars)


def _command(java: Path, classpath: str, directory: Path, config: Path) -> list[str]:
    return [
        str(java),
        *("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xms64m", "-Xmx256m"),
        *JVM_OPTIONS,
        f"-Dlog4j2.configurationFile={directory / 'log4j2.properties'}",
        f"-Dlog4j.configuration=file:{directory / 'log4j.properties'}",
        *("-cp", classpath, "org.apache.zookeeper.server.quorum.QuorumPeerMain", str(config)),
    ]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
