"""The cache of releases, with a program in Maven's place that writes a jar: asked once, whole or not there."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_kcontroller.cluster.kafka.jars import KafkaPlaces, release_jars
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure, UsageError

ASK = """
import asyncio
from pytest_kcontroller.cluster.kafka.jars import KafkaPlaces, release_jars
print(asyncio.run(release_jars("3.9.1", KafkaPlaces.of())))
"""


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A shell script: what is in it goes on with `$out`, the directory that it was told."""
    program = tmp_path / "bin" / "mvn"
    program.parent.mkdir()
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("KCONTROLLER_KAFKA_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("KCONTROLLER_KAFKA_JARS", raising=False)
    return program


def does(program: Path, *lines: str) -> None:
    told = 'for word; do case $word in -DoutputDirectory=*) out=${word#*=};; esac; done; mkdir "$out"'
    program.write_text("\n".join(["#!/bin/sh", told, *lines]) + "\n")
    program.chmod(0o755)


def get(version: str = "3.9.1") -> Path:
    return asyncio.run(release_jars(version, KafkaPlaces.of()))


def test_many_who_ask_at_once_get_what_one_fetches(maven: Path, tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    own = 'touch "$out/kafka_2.13-3.9.1.jar"'
    does(maven, f"echo asked >> {asked}", 'touch "$out/zookeeper-3.8.4.jar"', "sleep 0.5", own)
    others = [subprocess.Popen([sys.executable, "-c", ASK], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    printed = {other.communicate(timeout=scaled(60))[0].strip() for other in others}
    assert printed == {str(get())} == {str(tmp_path / "cache" / "kafka-3.9.1")}
    assert asked.read_text() == "asked\n"
    assert KafkaPlaces.of().here() == ["3.9.1"]
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == [".3.9.1.lock", "kafka-3.9.1"]


def test_what_did_not_become_whole_is_not_there(maven: Path, tmp_path: Path) -> None:
    does(maven, 'touch "$out/kafka_2.13-3.9.1.jar"', "echo '[ERROR] no such artifact'", "exit 1")
    with pytest.raises(
        EnvironmentFailure, match=r"(?s)Maven ended with status 1; it said:\n +\[ERROR\] no such artifact"
    ):
        get()
    assert KafkaPlaces.of().here() == []
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    does(maven, 'touch "$out/kafka_2.13-3.9.1.jar"', f"echo > {begun}", "exec sleep 600")
    killed = subprocess.Popen([sys.executable, "-c", ASK])
    begun.read_bytes()  # waits for it
    killed.kill()
    killed.wait()
    assert KafkaPlaces.of().here() == []
    does(maven, 'touch "$out/kafka_2.13-3.9.1.jar"')
    assert get().name == "kafka-3.9.1"


def test_a_directory_that_is_named_is_all_that_there_is(
    maven: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    does(maven, "exit 1")
    for version in ("2.8.2", "0.10.2.2"):
        (tmp_path / "jars" / version).mkdir(parents=True)
        (tmp_path / "jars" / version / f"kafka_2.13-{version}.jar").touch()
        (tmp_path / "jars" / version / f"kafka_2.13-{version}-sources.jar").touch()
    monkeypatch.setenv("KCONTROLLER_KAFKA_JARS", str(tmp_path / "jars"))
    assert get("2.8.2") == tmp_path / "jars" / "2.8.2"
    assert KafkaPlaces.of().here() == ["0.10.2.2", "2.8.2"]
    with pytest.raises(EnvironmentFailure, match=r"Kafka 3.9.1 is not there; releases that are: 0.10.2.2, 2.8.2"):
        get()
    monkeypatch.setenv("KCONTROLLER_KAFKA_JARS", str(tmp_path / "jars" / "2.8.2"))
    assert get("2.8.2") == tmp_path / "jars" / "2.8.2"


def test_without_maven_it_is_said_how_else(maven: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(maven.parent))
    with pytest.raises(EnvironmentFailure, match=r"Maven is not on the path, .* Kafka 3.9.1\n.*KCONTROLLER_KAFKA_JARS"):
        get()
    with pytest.raises(UsageError, match="has no ZooKeeper mode"):
        get("4.1.0")
    (tmp_path / "cache").write_text("a file")
    does(maven, "exit 1")
    with pytest.raises(EnvironmentFailure, match="cannot be kept"):
        get()
