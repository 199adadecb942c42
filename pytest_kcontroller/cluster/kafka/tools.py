"""A release's own command-line tools: `kafka-topics` and others, whose classes have moved from release to release."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pytest_kcontroller.cluster.children.processes import Supervised
from pytest_kcontroller.cluster.java import UTF_8
from pytest_kcontroller.cluster.kafka.broker import JVM
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure, UsageError
from pytest_kcontroller.runtime.timeouts import within

TOOL_S = 120.0
STOP_S = 2.0

TOOLS: Mapping[str, tuple[str, ...]] = {
    "kafka-topics": ("org.apache.kafka.tools.TopicCommand", "kafka.admin.TopicCommand"),
    "kafka-reassign-partitions": (
        "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
        "kafka.admin.ReassignPartitionsCommand",
    ),
    "kafka-leader-election": ("org.apache.kafka.tools.LeaderElectionCommand", "kafka.admin.LeaderElectionCommand"),
    "kafka-preferred-replica-election": ("kafka.admin.PreferredReplicaLeaderElectionCommand",),
    "kafka-configs": ("kafka.admin.ConfigCommand",),
    "kafka-delete-records": ("org.apache.kafka.tools.DeleteRecordsCommand", "kafka.admin.DeleteRecordsCommand"),
    "kafka-broker-api-versions": (
        "org.apache.kafka.tools.BrokerApiVersionsCommand",
        "kafka.admin.BrokerApiVersionsCommand",
    ),
}
"""Name of the script in Kafka's own distribution -> classes, the newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """`name` is a script's, such as `kafka-topics`, or a class; `jars` where those of the release `version` are."""

    name: str
    version: str
    java: Path
    jars: Path

    async def run(self, arguments: Sequence[str], directory: Path, timeout_s: float = TOOL_S) -> str:
        """What it printed; `directory` is its own. Raises UsageError: there is no such tool; EnvironmentFailure: it failed,
        or did not end in time."""
        quiet, printed = directory / "log4j.properties", directory / "output"
        quiet.write_text("log4j.rootLogger=OFF\n", encoding="utf-8")
        jvm = (*JVM, "-Xmx256m", f"-Dlog4j.configuration={quiet.as_uri()}")
        command: list[str | Path] = [
            self.java,
            *jvm,
            "-cp",
            f"{self.jars}/*",
            main_class(self.name, self.jars),
            *arguments,
        ]
        process = await Supervised.start(self.name, command, log=printed, cwd=directory, env=UTF_8, cleanup=[directory])
        try:
            async with within(scaled(timeout_s)):
                status = await process.wait()
            how = f"ended with status {status}"
        except TimeoutError:
            status, how = None, f"did not end within {scaled(timeout_s):g} s"
        finally:
            await process.stop(STOP_S)
        said = printed.read_text(errors="replace")
        if status != 0:
            raise EnvironmentFailure(f"{self.name} of Kafka {self.version} {how}; it said:\n{said}")
        return said


def main_class(tool: str, jars: Path) -> str:
    """Of a tool's script name, or a class itself. Raises UsageError: this release has no such tool."""
    if tool not in TOOLS:
        if "." in tool:
            return tool
        raise UsageError(f"there is no tool {tool!r} of Kafka", hint=f"one of {', '.join(TOOLS)}, or a class's name")
    for name in TOOLS[tool]:
        if f"{name.replace('.', '/')}.class" in _classes(jars):
            return name
    raise UsageError(f"the release in {jars} has no {tool}", hint="a release before or after it may have")


@lru_cache(maxsize=16)
def _classes(jars: Path) -> frozenset[str]:
    found: set[str] = set()
    for jar in jars.glob("kafka*.jar"):
        with zipfile.ZipFile(jar) as archive:
            found.update(name for name in archive.namelist() if name.endswith("Command.class"))
    return frozenset(found)
