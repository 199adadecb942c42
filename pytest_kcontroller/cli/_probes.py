"""What `kcontroller doctor` looks at. Each probe really tries it; none of them can make the whole fail."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import importlib.util
import os
import re
import resource
import shutil
import socket
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pytest_kcontroller.errors import EnvironmentFailure, UsageError

OK, MISSING, NOTE = "ok", "missing", "note"
"""`note`: it is not what one would wish, and everything works nevertheless."""

DESCRIPTORS = 256
"""A cluster of nine nodes has 90 proxies in one process, each with a listener and two sockets a connection."""
DISK_MB = 200
SPARK_JAVA = 17
"""What Spark 4 runs on."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`found` in words; `how` what to type to get it, or to make it better."""

    name: str
    status: str
    found: str
    how: str = ""


def look(release: str | None = None) -> list[Finding]:
    """All probes at once, in the order of the table, and behind them that of a release of Kafka."""
    probes = dict(PROBES)
    if release is not None:
        probes[f"kafka {release}"] = partial(_kafka_release, release=release)
    with ThreadPoolExecutor(len(probes)) as threads:
        return list(threads.map(_safely, probes.items()))


def _safely(probe: tuple[str, Callable[[str], Finding]]) -> Finding:
    name, work = probe
    try:
        return work(name)
    except (UsageError, EnvironmentFailure) as lacking:
        where = f"{lacking.where}: " if lacking.where else ""
        return Finding(name, MISSING, f"{where}{lacking.what}", lacking.hint)
    except Exception as failed:  # noqa: BLE001 - a doctor that dies helps nobody
        return Finding(name, MISSING, f"it could not be looked at: {failed!r}")


def _python(name: str) -> Finding:
    return Finding(name, OK, f"{sys.version.split()[0]} at {sys.executable}")


def _java(name: str) -> Finding:
    from pytest_kcontroller.cluster.java import find_java, java_version, whence_java

    java = find_java()
    return Finding(name, OK, f"{java_version()} at {java} ({whence_java(java)})")


def _zookeeper(name: str) -> Finding:
    from pytest_kcontroller.cluster.java import ZOOKEEPER_HOME, zookeeper_classpath, zookeeper_version

    home, classpath = os.environ.get(ZOOKEEPER_HOME), zookeeper_classpath()
    folder = Path(classpath.partition(":")[0]).parent
    whence = f"${ZOOKEEPER_HOME}" if home else "of pyspark" if "pyspark" in folder.parts else "of the system"
    return Finding(name, OK, f"jars of version {zookeeper_version()} in {folder} ({whence})")


def _proxies(name: str) -> Finding:
    """What the links between nodes go through: see cluster.links."""
    from pytest_kcontroller.cluster.process.proxy_choice import CHOICE, chosen
    from pytest_kcontroller.cluster.process.proxy_server import lacking, version_of

    try:
        choice = chosen()
    except UsageError as bad:
        return Finding(name, MISSING, bad.what, f"correct ${CHOICE}, or unset it")
    if missing := lacking(choice):
        return _without(name, missing, "toxiproxy")
    if choice.kind == "url":
        return _asked_server(name, choice.what)
    if choice.kind == "path" and shutil.which(choice.what) is None:
        how = f"install it, or set ${CHOICE} to embedded, or unset it"
        return Finding(name, MISSING, f"{choice.what} is not on the path (${CHOICE})", how)
    if choice.kind == "path":
        return Finding(name, OK, f"toxiproxy-server {version_of(choice.what)} at {choice.what} (on the path)")
    if choice.kind == "container":
        return Finding(name, OK, f"toxiproxy in a container of {choice.what} (${CHOICE})")
    real = os.environ.get("KCONTROLLER_TOXIPROXY_SERVER")
    beside = f"; for the conformance tests {real} ({version_of(real)})" if real else "; no real toxiproxy is needed"
    return Finding(name, OK, f"the embedded toxiproxy, aiohttp {_version('aiohttp')}{beside}")


def _asked_server(name: str, url: str) -> Finding:
    from pytest_kcontroller.cluster.process.toxiproxy_client import ToxiproxyClient

    client = ToxiproxyClient(url)
    try:
        version = client.call("GET", "/version")["version"]
        return Finding(name, OK, f"toxiproxy {version} at {client.shown} (named by the environment)")
    except EnvironmentFailure as silent:
        how = "start it, or unset KCONTROLLER_TOXIPROXY_URL and KCONTROLLER_TOXIPROXY: then one is started for each cluster"
        return Finding(name, MISSING, silent.what, how)
    finally:
        client.close()


def _toxiproxy_client(name: str) -> Finding:
    return _package(name, "toxiproxy", "toxiproxy-python", "toxiproxy")


def _docker_client(name: str) -> Finding:
    return _package(name, "docker", "docker", "docker")


def _docker_engine(name: str) -> Finding:
    from pytest_kcontroller.cluster.docker.containers import engine

    if importlib.util.find_spec("docker") is None:
        return Finding(name, MISSING, "not looked for: that needs the docker client")
    with engine() as client:
        return Finding(
            name, OK, f"{client.version()['Version']} at {os.environ.get('DOCKER_HOST', 'its usual socket')}"
        )


def _kafka(name: str) -> Finding:
    """Where releases of Kafka come from."""
    from pytest_kcontroller.cluster.kafka.jars import JARS_VARIABLE, KafkaPlaces, find_maven

    places = KafkaPlaces.of()
    here = ", ".join(places.here())
    if places.jars is not None:
        return Finding(name, OK, f"releases in {places.jars} (${JARS_VARIABLE}): {here or 'none'}")
    if here and shutil.which("mvn") is None:
        return Finding(name, OK, f"releases in {places.cache}: {here}; no Maven, which would get others")
    return Finding(name, OK, f"Maven at {find_maven()}; releases in {places.cache}: {here or 'none yet'}")


def _kafka_release(name: str, release: str) -> Finding:
    """A broker of it starts."""
    from pytest_kcontroller.cluster.kafka.trial import try_release

    seconds, jars = asyncio.run(try_release(release))
    return Finding(
        name, OK, f"a broker was registered, and the controller, after {seconds:.1f} s; its jars are in {jars}"
    )


def _spark(name: str) -> Finding:
    """With a Java that it runs on, if there is one."""
    from pytest_kcontroller.cluster.java import find_java, java_version

    found = _package(name, "pyspark", "pyspark", "reports")
    if found.status != OK:
        return found
    with contextlib.suppress(UsageError, EnvironmentFailure):  # which the probe of Java tells
        version = java_version()
        release = re.match(r"(?:1\.)?(\d+)", version)
        if release is not None and int(release[1]) < SPARK_JAVA:
            what = f"{found.found} needs Java {SPARK_JAVA} or newer, and {find_java()} is {version}"
            return Finding(name, MISSING, what, "KCONTROLLER_JAVA=PATH, one that is newer")
    return found


def _jinja2(name: str) -> Finding:
    return _package(name, "jinja2", "jinja2", "reports")


def _matplotlib(name: str) -> Finding:
    return _package(name, "matplotlib", "matplotlib", "reports")


def _loopback(name: str) -> Finding:
    """Each link has an address of its own below 127.1 and 127.2: Linux has them all, other systems only 127.0.0.1."""
    for address in ("127.1.1.1", "127.2.1.250"):
        try:
            with socket.create_server((address, 0)):
                pass
        except OSError as refused:
            words = f"no server can listen on {address}: {refused.strerror}"
            return Finding(name, MISSING, words, f"ip addr add {address}/8 dev lo, or use Linux")
    return Finding(name, OK, "servers can listen on 127.1.1.1 and 127.2.1.250")


def _descriptors(name: str) -> Finding:
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    words = "no limit" if limit == resource.RLIM_INFINITY else f"{limit} for a process"
    if limit != resource.RLIM_INFINITY and limit < DESCRIPTORS:
        return Finding(name, MISSING, f"{words}, at least {DESCRIPTORS} are needed", "ulimit -n 4096")
    return Finding(name, OK, words)


def _temporary(name: str) -> Finding:
    """A directory, a file and a Unix socket can be made: a node's directory has all three."""
    from pytest_kcontroller.cluster.children.directories import temporary_name
    from pytest_kcontroller.cluster.process.node import short_temporary

    place = short_temporary()
    try:
        directory = place / temporary_name()
        directory.mkdir(mode=0o700)
        try:
            (directory / "file").write_bytes(b"x")
            with socket.socket(socket.AF_UNIX) as unix:
                unix.bind(f"{directory}/socket")
        finally:
            shutil.rmtree(directory)
    except OSError as refused:
        return Finding(name, MISSING, f"{place}: {refused}", "export TMPDIR=DIRECTORY, one that you may write to")
    free = shutil.disk_usage(place).free // 2**20
    if free < DISK_MB:
        return Finding(name, NOTE, f"{place}, only {free} MiB free", "make room, or export TMPDIR=DIRECTORY")
    return Finding(name, OK, f"{place}, {free} MiB free")


def _plugins(name: str) -> Finding:
    from pytest_kcontroller.plugin.manager import load_plugins

    try:
        plugins = load_plugins()
    except UsageError as broken:
        return Finding(name, MISSING, broken.what, "kcontroller plugins list")
    return Finding(
        name, OK, f"{len(plugins.selectors.names)} leader selectors, {len(plugins.assignments.names)} assignments"
    )


def _settings(name: str) -> Finding:
    from pytest_kcontroller.cluster.timing import VARIABLE, scaled

    try:
        return Finding(name, OK, f"every time limit is multiplied by {scaled(1):g} (${VARIABLE})")
    except UsageError as bad:
        return Finding(name, MISSING, f"{bad.where}: {bad.what}", f"unset {VARIABLE}, or export {VARIABLE}=3")


def _processors(name: str) -> Finding:
    from pytest_kcontroller.cluster.timing import VARIABLE

    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if count < 2 and not os.environ.get(VARIABLE):
        return Finding(name, NOTE, f"{count}: starts will be slow", f"export {VARIABLE}=3")
    return Finding(name, OK, f"{count}")


def _leftovers(name: str) -> Finding:
    from pytest_kcontroller.cli._leftovers import survey

    dead = [item for found in survey() for item in found.items if not item.kept]
    if dead:
        return Finding(name, NOTE, f"{len(dead)} of sessions that have ended", "kcontroller gc")
    return Finding(name, OK, "none")


def _package(name: str, module: str, distribution: str, extra: str) -> Finding:
    if importlib.util.find_spec(module) is None:
        return _without(name, [distribution], extra)
    return Finding(name, OK, f"{distribution} {_version(distribution)}")


def _without(name: str, packages: Sequence[str], extra: str) -> Finding:
    verb = "is" if len(packages) == 1 else "are"
    return Finding(
        name, MISSING, f"{' and '.join(packages)} {verb} not installed", f'pip install "pytest-kcontroller[{extra}]"'
    )


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "of unknown version"


PROBES: dict[str, Callable[[str], Finding]] = {
    "python": _python,
    "java": _java,
    "zookeeper": _zookeeper,
    "proxies": _proxies,
    "toxiproxy client": _toxiproxy_client,
    "docker client": _docker_client,
    "docker engine": _docker_engine,
    "kafka": _kafka,
    "spark": _spark,
    "jinja2": _jinja2,
    "matplotlib": _matplotlib,
    "loopback": _loopback,
    "descriptors": _descriptors,
    "temporary": _temporary,
    "plugins": _plugins,
    "settings": _settings,
    "processors": _processors,
    "leftovers": _leftovers,
}
