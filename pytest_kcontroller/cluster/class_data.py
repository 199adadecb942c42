"""A JVM that starts in half the time: it maps the classes that an earlier one has loaded (class-data sharing, JEP 350).

The first JVM of a kind writes them when it ends, which takes it a second or two; all later ones map the file. Of a kind
that takes long to write them it is a later one: where there are only a few it would be for nothing. A JVM to which the
file does not fit (another Java, other jars) starts without it.
"""

from __future__ import annotations

import hashlib
import logging
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pytest_kcontroller.cluster.cache import cache_directory, keep_file

WRITE_S = 60.0
"""So long a JVM may write what it has loaded, which takes it a second or two, on a busy machine more."""
UNUSED_S = 30 * 24 * 3600.0
"""A file that nobody has used for so long is of a Java or of jars that are gone."""

_QUIET = ("-XX:+IgnoreUnrecognizedVMOptions", "-Xlog:disable", "-Xlog:all=error:stderr")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ClassData:
    """`kept` is the file in the cache, None: nothing is kept; `made` is where a JVM that has none writes it."""

    kept: Path | None
    made: Path

    @classmethod
    def of(cls, name: str, java: Path, classpath: str, directory: Path, *, after: int = 0) -> Self:
        """For a JVM called `name` that may write into `directory`, if there were `after` before it."""
        cache = cache_directory()
        kept = None if cache is None else cache / "classes" / f"{name}-{_key(java, classpath)}.jsa"
        if kept is not None and after and not kept.exists() and not _enough_before(after, kept.with_suffix(".before")):
            kept = None
        return cls(kept, directory / f"{name}.jsa")

    @property
    def options(self) -> tuple[str, ...]:
        """For the command line of the JVM. A Java before 13 does not know them, and goes on without."""
        if self.kept is None or self.kept.exists():
            return self.mapping
        return *_QUIET, f"-XX:ArchiveClassesAtExit={self.made}"

    @property
    def mapping(self) -> tuple[str, ...]:
        """The same for a JVM that is not to write anything, for it will be killed or must end at once."""
        if self.kept is None or not self.kept.exists():
            return ()
        with suppress(OSError):
            os.utime(self.kept)  # it is in use
        return *_QUIET, f"-XX:SharedArchiveFile={self.kept}"

    @property
    def writing_s(self) -> float:
        """So much longer the JVM may take to end."""
        return WRITE_S if self.kept is not None and not self.kept.exists() else 0.0

    def keep(self) -> None:
        """To be called when the JVM has ended by itself: what it has written is there for the next ones."""
        if self.kept is None or not self.made.exists():
            return
        try:
            keep_file(self.made, self.kept)
            _forget_unused(self.kept, self.made.stem)
        except OSError as failed:  # no room, a cache that is not ours: nothing is lost but time
            _log.debug("the classes of %s are not kept: %s", self.made.stem, failed)


def _enough_before(count: int, marks: Path) -> bool:
    """Each leaves a byte, until there are enough: whoever takes them away then is the one. False if none can be left."""
    try:
        marks.parent.mkdir(parents=True, exist_ok=True)
        with marks.open("ab") as file:
            file.write(b".")
        if marks.stat().st_size > count:
            marks.unlink()
            return True
    except OSError:  # also: another one has taken them away this moment
        pass
    return False


def _forget_unused(kept: Path, name: str) -> None:
    for other in kept.parent.glob(f"{name}-*"):
        if other != kept and kept.stat().st_mtime - other.stat().st_mtime > UNUSED_S:
            other.unlink()


def _key(java: Path, classpath: str) -> str:
    """Changes with the Java and with the jars."""
    parts = [java.resolve(), *(jar for entry in classpath.split(":") for jar in _jars(entry))]
    text = "\n".join(f"{path} {_stamp(path)}" for path in parts)
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]


def _jars(entry: str) -> list[Path]:
    return sorted(Path(entry[:-2]).glob("*.jar")) if entry.endswith("/*") else [Path(entry)]


def _stamp(path: Path) -> str:
    try:
        stat = path.stat()
    except OSError:
        return "is not there"
    return f"{stat.st_size} {stat.st_mtime_ns}"
