"""One broker of Apache Kafka in ZooKeeper mode: a supervised process on loopback, ready when it is registered."""

from __future__ import annotations

import asyncio
import shlex
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_kcontroller.broker.log_dir import log_dir_names
from pytest_kcontroller.cluster.children.patience import Patience
from pytest_kcontroller.cluster.children.processes import Supervised
from pytest_kcontroller.cluster.class_data import ClassData
from pytest_kcontroller.cluster.java import UTF_8, in_properties
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.embedded import TERMINATED
from pytest_kcontroller.errors import EnvironmentFailure, StartError, UsageError
from pytest_kcontroller.model.cluster import Broker
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.zookeeper.kazoo_session import KazooConnector
from pytest_kcontroller.zookeeper.session import Exists, GetData, Node, SessionEvent, Stat, ZkError, ZkSession
from pytest_kcontroller.zookeeper.znodes import broker_path, decode_broker

START_S = 60.0
"""One alone is registered 2 to 3 s after its start; a busy machine takes longer."""
STOP_S = 15.0
ANSWER_S = 5.0
"""For one question to ZooKeeper, which may be paused."""
POLL_S = 0.05
SESSION_MS = 10_000

JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Djava.awt.headless=true", "-Duser.timezone=UTC")
"""For tests: it starts fast, and is one thread's work less."""
HEAP = "512m"

_LOG4J = """\
log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.logger.org.apache.zookeeper=WARN
log4j.logger.kafka.log=WARN
"""

STARTED = b"started (kafka.server.KafkaServer)"
"""With the logger's name behind it all releases say it so."""

DEFAULTS: Mapping[str, str] = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.enable": "false",
    "controlled.shutdown.retry.backoff.ms": "100",
    "zookeeper.connection.timeout.ms": "30000",
}
"""What one broker of a test needs other than in production; `config` wins over it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """`classpath` and `java` of a release, `zookeeper` HOST:PORT[/chroot], `directory` the broker's own; `config` by
    Kafka's names. It has `log_dirs` log directories. `heap` as -Xmx takes it, `jvm` what else the JVM is told."""

    id: int
    version: str
    java: Path
    classpath: str
    zookeeper: str
    directory: Path
    config: Mapping[str, str] = field(default_factory=dict)
    log_dirs: int = 1
    heap: str = HEAP
    jvm: tuple[str, ...] = JVM

    @property
    def properties(self) -> str:
        """The broker's file. It listens on a free port, which is in its registration. Raises EnvironmentFailure: its
        directory is no text."""
        values = {
            "broker.id": str(self.id),
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "zookeeper.connect": self.zookeeper,
            "zookeeper.session.timeout.ms": str(SESSION_MS),
            "log.dirs": ",".join(str(self.directory / "logs" / name) for name in log_dir_names(self.log_dirs)),
            **DEFAULTS,
            **self.config,
        }
        return "".join(f"{key}={in_properties(value)}\n" for key, value in values.items())

    def write(self) -> None:
        """What `command` reads, into its directory."""
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / "log4j.properties").write_text(_LOG4J, encoding="utf-8")
        (self.directory / "server.properties").write_text(self.properties, encoding="utf-8")

    @staticmethod
    def has_started(log: Path, mark: int) -> bool:
        """Whether a broker has said so, behind the first `mark` bytes of its log. It registers before, and cannot be stopped
        in between."""
        with log.open("rb") as file:
            file.seek(mark)
            return STARTED in file.read()

    @property
    def classes(self) -> ClassData:
        return ClassData.of("kafka-broker", self.java, self.classpath, self.directory)

    @property
    def command(self) -> list[str]:
        """Of a broker that may be killed."""
        return self.command_with(self.classes.mapping)

    def command_with(self, options: Sequence[str]) -> list[str]:
        """`options`: what else the JVM is told."""
        return [
            *(str(self.java), *self.jvm, f"-Xmx{self.heap}", *options),
            f"-Dlog4j.configuration={(self.directory / 'log4j.properties').as_uri()}",
            *("-cp", self.classpath, "kafka.Kafka", str(self.directory / "server.properties")),
        ]


def property_text(value: object) -> str:
    """As a properties file has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class KafkaBroker:
    """One broker, running or not; made by `start`. `registered` is its registration, of the last start."""

    def __init__(self, settings: BrokerSettings, log: Path) -> None:
        self.settings, self.log = settings, log
        self.registered: Broker | None = None
        self._process: Supervised | None = None
        self._classes = settings.classes

    @property
    def id(self) -> int:
        return self.settings.id

    @property
    def name(self) -> str:
        return f"Kafka {self.settings.version}, broker {self.id}"

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self.running else None

    async def start(self) -> None:
        """Returns when it is registered in ZooKeeper, and has started. A registration that a killed predecessor has left is
        waited for first: a broker that finds one gives up.

        Raises UsageError: it runs; EnvironmentFailure: there is no ZooKeeper; StartError: with the last lines of its log.
        """
        if self.running:
            raise UsageError(f"{self.name} runs already", hint="stop it first")
        self.settings.write()
        zookeeper = await self._session()
        try:
            path = broker_path(self.id)
            patience = Patience(scaled(START_S), None)
            while isinstance(await _seen(zookeeper.submit(Exists(path))), Stat):
                if not patience.left_s:
                    what = f"{self.name} cannot start: another broker of that id is registered"
                    raise EnvironmentFailure(what, where=path, hint="give it another id, or stop the other one")
                await asyncio.sleep(POLL_S)
            mark = self.log.stat().st_size if self.log.exists() else 0
            self._process = await Supervised.start(
                self.name,
                self.settings.command_with(self._classes.options),
                log=self.log,
                cwd=self.settings.directory,
                env=UTF_8,
                cleanup=[self.settings.directory],
            )
            patience = Patience(scaled(START_S), self._process.pid)
            while self.running:
                node = await _seen(zookeeper.submit(GetData(path)))
                if isinstance(node, Node) and self.settings.has_started(self.log, mark):
                    self.registered = decode_broker(self.id, node.data, node.stat.czxid)
                    return
                if not patience.left_s:
                    await self._process.kill()
                    raise self._not_started("it did not register", patience)
                await asyncio.sleep(POLL_S)
            raise self._not_started(f"it ended with status {self._process.returncode}", patience)
        finally:
            await zookeeper.close()

    async def _session(self) -> ZkSession:
        """Raises EnvironmentFailure."""
        limit_s = scaled(START_S)
        connector = KazooConnector(self.settings.zookeeper, timeout_ms=SESSION_MS, makes_chroot=True)
        try:
            async with within(limit_s):
                return await connector.open(_ignore)
        except TimeoutError:
            raise EnvironmentFailure(
                f"{self.name} cannot start: ZooKeeper has given no session within {limit_s:g} s",
                where=self.settings.zookeeper,
                hint="does one run there, and is it neither paused nor cut off?",
            ) from None

    def _not_started(self, phase: str, patience: Patience) -> StartError:
        command = shlex.join(self.settings.command)
        return StartError(self.name, phase=phase, seconds=patience.seconds, log=self.log, command=command)

    async def stop(self) -> None:
        """SIGTERM, with its controlled shutdown; killed if that takes too long. Idempotent."""
        if self._process is not None:
            status = await self._process.stop(scaled(STOP_S + self._classes.writing_s))
            if status == TERMINATED:
                self._classes.keep()

    async def kill(self) -> None:
        """SIGKILL: its session stays until ZooKeeper gives it up. Idempotent."""
        if self._process is not None:
            await self._process.kill()

    def signal(self, number: signal.Signals) -> None:
        """SIGSTOP and SIGCONT pause and resume it. Raises UsageError: it does not run."""
        if self._process is None or not self.running:
            raise UsageError(f"{self.name} does not run, so it cannot get {number.name}", hint="start it first")
        self._process.signal(number)


async def _seen(answer: asyncio.Future[object]) -> object:
    """None: there is no such znode, or the server could not be asked."""
    try:
        async with within(scaled(ANSWER_S)):
            return await answer
    except (ZkError, TimeoutError):
        return None


def _ignore(event: SessionEvent) -> None:
    """Nobody watches."""
