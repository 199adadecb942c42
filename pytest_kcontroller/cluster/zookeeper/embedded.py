"""A real ZooKeeper server in a JVM of its own: loopback only, free port, dead with its owner."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Self

from pytest_kcontroller.cluster.children.processes import Supervised
from pytest_kcontroller.cluster.class_data import ClassData
from pytest_kcontroller.cluster.java import UTF_8, find_java, in_properties, zookeeper_classpath
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.seats import HeldPort, Seat
from pytest_kcontroller.cluster.zookeeper.server import JVM_OPTIONS, MAX_SESSION_MS, SNAP_COUNT, TICK_MS, ZooKeeper
from pytest_kcontroller.model.cluster import Address

STOP_S = 5.0
TERMINATED = 128 + signal.SIGTERM
"""The status of a JVM that a signal has ended in good order."""
HEAP = "256m"
"""A test's znodes are few."""
_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xms64m")

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
    """One server; made and started by `start`, or made for an ensemble and launched with the others."""

    def __init__(
        self,
        directory: Path,
        *,
        log: Path,
        tick_ms: int = TICK_MS,
        cleanup: Path | None = None,
        txn_log: Path | None = None,
        heap: str = HEAP,
        seat: Seat | None = None,
        config: Sequence[str] = (),
        jvm: Sequence[str] = (),
    ) -> None:
        """See start. `seat`: in an ensemble; None: it is alone. Raises what find_java and zookeeper_classpath raise."""
        java, classpath = find_java(), zookeeper_classpath()
        self.directory = directory.absolute()
        log_data = self.directory / "data" if txn_log is None else txn_log.absolute()
        self._port = HeldPort()
        super().__init__(Address("127.0.0.1", self._port.number), log_data / "version-2", log)
        self._cleanup = cleanup or self.directory
        self._process: Supervised | None = None
        self.directory.mkdir(parents=True, exist_ok=True)
        self._classes = ClassData.of("zookeeper", java, classpath, self.directory)
        self._config = self.directory / "zoo.cfg"
        alone = _configuration(self.directory, log_data, self._port.number, tick_ms)
        _write(self._config, alone + "".join(f"{line}\n" for line in config), seat)
        self._java = [str(java), *_JVM, f"-Xmx{heap}", *jvm], _main(classpath, self.directory, self._config)

    @classmethod
    async def start(
        cls,
        directory: Path,
        *,
        log: Path,
        tick_ms: int = TICK_MS,
        cleanup: Path | None = None,
        txn_log: Path | None = None,
        heap: str = HEAP,
        config: Sequence[str] = (),
        jvm: Sequence[str] = (),
    ) -> Self:
        """Returns when the server answers `srvr`. `directory` is made if missing, and removed (or `cleanup` is, if it
        is given) if our process dies. The transaction log is written below `txn_log` if it is given: it outlives both.
        `heap`: what the JVM may use, as -Xmx takes it. `config`: further lines of zoo.cfg, which win; `jvm`: options.

        Raises StartError (phase, seconds, last log lines, command), at once if the JVM ends; what find_java and
        zookeeper_classpath raise.
        """
        made = partial(cls, directory, log=log, tick_ms=tick_ms, cleanup=cleanup, txn_log=txn_log, heap=heap)
        server = made(config=config, jvm=jvm)
        try:
            await server.launch()
            await server.wait_serving()
        except BaseException:
            await server.kill()
            server.close()
            raise
        return server

    @property
    def _command(self) -> list[str]:
        before, after = self._java
        return [*before, *self._classes.options, *after]

    @property
    def _by_hand(self) -> str:
        return shlex.join(self._command)

    async def _launch(self) -> None:
        self._process = await Supervised.start(
            "ZooKeeper", self._command, log=self.log, cwd=self.directory, env=UTF_8, cleanup=[self._cleanup]
        )

    @property
    def _process_now(self) -> object:
        return self._process

    async def _wait_ended(self) -> tuple[object, str]:
        assert self._process is not None
        process = self._process
        return process, f"the JVM ended with status {await process.wait()}"

    def _how_it_ended(self) -> str | None:
        status = None if self._process is None else self._process.returncode
        return None if status is None else f"the JVM ended with status {status}"

    @property
    def _pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    async def signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.signal(number)

    def process_state(self) -> str | None:
        return None if self._process is None else self._process.state()

    async def _stop(self) -> None:
        if self._process is not None:
            status = await self._process.stop(scaled(STOP_S + self._classes.writing_s))
            if status == TERMINATED:
                self._classes.keep()
        self.close()

    async def _kill(self) -> None:
        if self._process is not None:
            await self._process.kill()

    def close(self) -> None:
        """Its port is anybody's again: it is not launched any more. Idempotent."""
        self._port.release()


def _write(config: Path, alone: str, seat: Seat | None) -> None:
    """What the server reads at each start."""
    directory = config.parent
    config.write_text(alone if seat is None else alone + seat.configuration, encoding="latin-1")
    if seat is not None:
        (directory / "data").mkdir(exist_ok=True)
        (directory / "data" / "myid").write_text(f"{seat.number}\n", encoding="ascii")
    (directory / "log4j2.properties").write_text(_LOG4J, encoding="utf-8")
    (directory / "log4j.properties").write_text(_LOG4J_1, encoding="utf-8")  # Debian's ZooKeeper has log4j 1.2


def _configuration(directory: Path, log_data: Path, port: int, tick_ms: int) -> str:
    return _CONFIG.format(
        tick_ms=tick_ms,
        min_ms=2 * tick_ms,
        max_ms=MAX_SESSION_MS,
        snap_count=SNAP_COUNT,
        data=in_properties(directory / "data"),
        log_data=in_properties(log_data),
        port=port,
    )


def _main(classpath: str, directory: Path, config: Path) -> list[str]:
    return [
        *JVM_OPTIONS,
        f"-Dlog4j2.configurationFile={directory / 'log4j2.properties'}",
        f"-Dlog4j.configuration=file:{directory / 'log4j.properties'}",
        *("-cp", classpath, "org.apache.zookeeper.server.quorum.QuorumPeerMain", str(config)),
    ]
