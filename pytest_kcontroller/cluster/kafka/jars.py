"""Where the jars of a release are: in a directory that somebody names, or in a cache that Maven fills.

A release is a directory of the cache that appears whole (it is renamed into place), filled by one process at a time, however
many workers ask for it. Which servers Maven asks, and how, is its own configuration's matter.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_kcontroller.cluster.cache import cache_directory
from pytest_kcontroller.cluster.children.directories import temporary_name
from pytest_kcontroller.cluster.children.processes import Supervised
from pytest_kcontroller.cluster.kafka.releases import check_release, pom
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.runtime.timeouts import within

CACHE_VARIABLE = "KCONTROLLER_KAFKA_CACHE"
JARS_VARIABLE = "KCONTROLLER_KAFKA_JARS"
FETCH_S = 900.0
"""For some 50 MB, or for another process that is fetching them."""
POLL_S = 0.2
STOP_S = 5.0
LAST_LINES = 8

GOAL = "dependency:copy-dependencies"


@dataclass(frozen=True, slots=True)
class KafkaPlaces:
    """`jars`: a directory of jars, or one of such directories; then nothing is fetched. `cache`: where Maven puts them."""

    jars: Path | None
    cache: Path

    @classmethod
    def of(cls) -> KafkaPlaces:
        """As the environment says; without a word of it what is kept between runs (cluster/cache.py)."""
        jars = os.environ.get(JARS_VARIABLE)
        kept = cache_directory() or Path("~/.cache/pytest-kcontroller")
        cache = os.environ.get(CACHE_VARIABLE) or str(kept / "kafka")
        return cls(Path(jars).expanduser().absolute() if jars else None, Path(cache).expanduser().absolute())

    def here(self) -> list[str]:
        """The releases that need not be fetched."""
        found = {jar.stem.partition("-")[2] for jar in _brokers(self.jars or self.cache)}
        return sorted(found, key=lambda version: [int(part) if part.isdigit() else 0 for part in version.split(".")])

    def find(self, version: str) -> Path | None:
        """The directory of a release that is here; None: it is not. Raises UsageError: there is no such release."""
        check_release(version)
        return next((jar.parent for jar in _brokers(self.jars or self.cache) if jar.stem.endswith(f"-{version}")), None)


def _brokers(folder: Path) -> Iterator[Path]:
    """The jars of brokers in a directory and those below it; half a release's, and sources, are none."""
    for jar in sorted([*folder.glob("kafka_*-*.jar"), *folder.glob("[!.]*/kafka_*-*.jar")]):
        if jar.stem.count("-") == 1:
            yield jar


def check_places(version: str) -> None:
    """That `release_jars` has a way to it. Raises UsageError, EnvironmentFailure."""
    places = KafkaPlaces.of()
    if places.find(version) is None and places.jars is not None:
        raise _not_there(version, places.jars, places)
    if places.find(version) is None:
        find_maven(version)


def _not_there(version: str, jars: Path, places: KafkaPlaces) -> EnvironmentFailure:
    return EnvironmentFailure(
        f"Kafka {version} is not there; releases that are: {', '.join(places.here()) or 'none'}",
        where=str(jars),
        hint=f"put its jars there, kafka_*-{version}.jar among them, or unset {JARS_VARIABLE}: then Maven gets it",
    )


async def release_jars(version: str, places: KafkaPlaces) -> Path:
    """The directory with the jars of a release; fetched if need be. Raises UsageError: there is no such release;
    EnvironmentFailure: it is not in the directory that was named, Maven is not here, or did not get it."""
    if (found := places.find(version)) is not None:
        return found
    if places.jars is not None:
        raise _not_there(version, places.jars, places)
    maven = find_maven(version)
    async with _alone(places.cache, version):
        return places.find(version) or await _fetch(maven, version, places.cache)


def find_maven(version: str = "") -> str:
    """Raises EnvironmentFailure."""
    if (maven := shutil.which("mvn")) is None:
        what = f"Kafka {version}" if version else "a release of Kafka"
        raise EnvironmentFailure(
            f"Maven is not on the path, which would get {what}",
            hint=f"install Maven, or name a directory with its jars: {JARS_VARIABLE}=DIRECTORY",
        )
    return maven


@contextlib.asynccontextmanager
async def _alone(cache: Path, version: str) -> AsyncIterator[None]:
    """Nobody else fetches that release meanwhile; a lock of somebody who died is free. Raises EnvironmentFailure."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        lock = (cache / f".{version}.lock").open("a")
    except OSError as refused:
        hint = f"name another directory: {CACHE_VARIABLE}=DIRECTORY"
        raise EnvironmentFailure(f"Kafka's releases cannot be kept: {refused}", where=str(cache), hint=hint) from None
    with lock:
        try:
            async with within(scaled(FETCH_S)):
                while not _locked(lock.fileno()):  # noqa: ASYNC110 - a lock of the system tells nobody
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            what = f"another process has been fetching Kafka {version} for {scaled(FETCH_S):g} s"
            raise EnvironmentFailure(what, where=str(cache), hint="end it, and try again") from None
        yield


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def _fetch(maven: str, version: str, cache: Path) -> Path:
    for left in cache.glob(f".{version}.part-*"):  # of somebody who died: nobody else is here
        shutil.rmtree(left, ignore_errors=True)
    part, log = cache / f".{version}.part-{temporary_name()}", cache / f"{version}.log"
    part.mkdir()
    try:
        (part / "pom.xml").write_text(pom(version), encoding="utf-8")
        log.write_bytes(b"")
        jars = part / "jars"
        command: list[str | Path] = [maven, "-B", "-q", "-f", part / "pom.xml", GOAL, f"-DoutputDirectory={jars}"]
        process = await Supervised.start("Maven", command, log=log, cwd=part, cleanup=[part])
        try:
            async with within(scaled(FETCH_S)):
                status = await process.wait()
        except TimeoutError:
            raise _not_fetched(version, f"did not end within {scaled(FETCH_S):g} s", log) from None
        finally:
            await process.stop(STOP_S)
        if status != 0 or not any(_brokers(jars)):
            raise _not_fetched(version, f"ended with status {status}", log)
        jars.rename(cache / f"kafka-{version}")
        log.unlink()
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return cache / f"kafka-{version}"


def _not_fetched(version: str, how: str, log: Path) -> EnvironmentFailure:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()][-LAST_LINES:]
    said = "".join(f"\n    {line[:300]}" for line in lines) or "\n    (it printed nothing)"
    hint = f"whom Maven asks is in its own settings; or name a directory with the jars: {JARS_VARIABLE}=DIRECTORY"
    what = f"Kafka {version} could not be got: Maven {how}; it said:{said}"
    return EnvironmentFailure(what, where=str(log), hint=hint)
