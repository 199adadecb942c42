"""What has to be asked of Maven for a release of Kafka: its own jars, and what mends them on a Java of today.

Each row was tried with the releases that it names, as brokers and as controllers on Java 17.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_kcontroller.errors import NotOnThisBackend, UsageError

OLDEST, NEWEST = (0, 10, 2), (3, 9)
"""The newest is the last with a ZooKeeper mode; controllers before the oldest send requests in versions of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """Of the releases from `first` to `last`, both with all their patches. Jars are `group:artifact:version`, `{version}`
    being the release's own; `instead` are of artifacts that the release depends on in another version."""

    first: tuple[int, ...]
    last: tuple[int, ...]
    tried: tuple[str, ...]
    scala: str
    binding: str
    extra: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    why: str = ""


OUTLIVES_A_LOG_DIR = (1, 0)
"""KIP-112: brokers of before halt with the first log directory that fails, and tell no controller of it."""

_LOG4J, _RELOAD4J = "org.slf4j:slf4j-log4j12:1.7.25", "org.slf4j:slf4j-reload4j:1.7.36"

TABLE = (
    Needs(
        first=(0, 10, 2),
        last=(0, 11, 0),
        tried=("0.10.2.2", "0.11.0.3"),
        scala="2.12",
        binding=_LOG4J,
        extra=("javax.xml.bind:jaxb-api:2.3.1",),
        why="Java has had no javax.xml.bind since 11",
    ),
    Needs(first=(1, 0), last=(1, 1), tried=("1.0.2", "1.1.1"), scala="2.12", binding=_LOG4J),
    Needs(
        first=(2, 0),
        last=(2, 3),
        tried=("2.0.1", "2.1.1", "2.2.2", "2.3.1"),
        scala="2.12",
        binding=_LOG4J,
        instead=("org.apache.zookeeper:zookeeper:3.4.10",),
        why="their ZooKeeper client reads the text of an address, which has another form since Java 14",
    ),
    Needs(first=(2, 4), last=(2, 8), tried=("2.4.1", "2.8.2"), scala="2.13", binding=_LOG4J),
    Needs(
        first=(3, 0),
        last=(3, 9),
        tried=("3.0.2", "3.9.1", "3.9.2"),
        scala="2.13",
        binding=_RELOAD4J,
        extra=("org.apache.kafka:kafka-tools:{version}",),
        why="the classes of kafka-topics and others have a jar of their own there, on which the broker does not depend",
    ),
)


def check_release(version: str) -> Needs:
    """Raises UsageError: there is no such release, or it has no ZooKeeper mode."""
    numbers = tuple(map(int, version.split("."))) if re.fullmatch(r"\d{1,3}(\.\d{1,3}){2,3}", version) else ()
    for needs in TABLE:
        if needs.first <= numbers[: len(needs.first)] and numbers[: len(needs.last)] <= needs.last:
            return needs
    why = "is no release of Kafka" if not numbers else "has no ZooKeeper mode" if numbers >= (4,) else "is too old"
    raise UsageError(f"{version!r} {why}", hint="one of 0.10.2.0 to 3.9.x, such as 3.9.1")


def check_log_dirs(version: str, count: int) -> None:
    """Raises NotOnThisBackend: of so many log directories, brokers of this release do not outlive one."""
    if count > 1 and check_release(version).first < OUTLIVES_A_LOG_DIR:
        raise NotOnThisBackend(
            f"brokers of Kafka {version} halt with the first log directory that fails, so log_dirs = {count} is no use",
            hint="choose a release from 1.0 on (KIP-112), or leave log_dirs out",
        )


def artifacts(version: str) -> tuple[str, ...]:
    """All that is asked for by name, the broker's own first; what these depend on comes with them. Raises UsageError."""
    needs = check_release(version)
    own = f"org.apache.kafka:kafka_{needs.scala}:{{version}}"
    named = (own, needs.binding, *needs.extra, *needs.instead)
    return tuple(jar.replace("{version}", version) for jar in named)


def pom(version: str) -> str:
    """A project of Maven that depends on these. What it names itself wins over what a dependency asks for.

    Raises UsageError.
    """
    tags = ("groupId", "artifactId", "version")
    named = (zip(tags, jar.split(":"), strict=True) for jar in artifacts(version))
    parts = ("".join(f"<{tag}>{text}</{tag}>" for tag, text in jar) for jar in named)
    rows = "".join(f"    <dependency>{part}</dependency>\n" for part in parts)
    return (
        "<project>\n  <modelVersion>4.0.0</modelVersion>\n"
        f"  <groupId>kcontroller</groupId><artifactId>kafka</artifactId><version>{version}</version>\n"
        f"  <packaging>pom</packaging>\n  <dependencies>\n{rows}  </dependencies>\n</project>\n"
    )


def docs_table() -> str:
    """The table in Markdown."""
    lines = ["| releases | tried | Scala | besides | instead | why |", "|---|---|---|---|---|---|"]
    for needs in TABLE:
        first, last = (".".join(map(str, numbers)) for numbers in (needs.first, needs.last))
        besides, instead = (
            ", ".join(f"`{jar}`" for jar in jars) for jars in ((needs.binding, *needs.extra), needs.instead)
        )
        cells = (f"{first} to {last}", ", ".join(needs.tried), needs.scala, besides, instead, needs.why)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
