"""The fixture `kafka_release` where something fails, and at its end. That it works is what its neighbours show."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from pytest_kcontroller import KafkaReleases, TestZooKeeper
from pytest_kcontroller.cluster.kafka import broker
from pytest_kcontroller.cluster.timing import VARIABLE, scaled
from pytest_kcontroller.errors import EnvironmentFailure, StartError

pytestmark = pytest.mark.kcontroller(backends=["process"])

RELEASE = "3.9.1"


def test_what_does_not_work_is_shown_in_kafkas_own_words(
    kafka_release: KafkaReleases, zookeeper: TestZooKeeper
) -> None:
    release = kafka_release(RELEASE)
    with pytest.raises(EnvironmentFailure, match=r"(?s)kafka-topics of Kafka 3.9.1 ended with status 1; .*nonsense"):
        release.tool("kafka-topics", "--nonsense")
    with pytest.raises(
        StartError, match=r"(?s)Kafka 3.9.1, broker 2 did not start: it ended.*last lines.*Not a number"
    ):
        release.start_broker(zookeeper, id=2, config={"log.retention.ms": "never"})


def test_no_zookeeper_there_is_said(kafka_release: KafkaReleases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "START_S", 0.5)
    with pytest.raises(EnvironmentFailure, match=r"127\.0\.0\.1:1: Kafka 3.9.1, broker 0 cannot start: .* no session"):
        kafka_release(RELEASE).start_broker("127.0.0.1:1")


def test_a_question_that_zookeeper_does_not_answer_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "ANSWER_S", 0.01)

    async def asked() -> object:
        return await broker._seen(asyncio.get_running_loop().create_future())

    assert asyncio.run(asked()) is None


def test_the_second_broker_maps_the_classes_of_the_first(
    kafka_release: KafkaReleases, zookeeper: TestZooKeeper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = kafka_release(RELEASE)
    monkeypatch.setenv("KCONTROLLER_CACHE", str(tmp_path / "cache"))
    release.start_broker(zookeeper, id=1).stop()
    (kept,) = (tmp_path / "cache" / "classes").iterdir()
    pid = release.start_broker(zookeeper, id=2).pid
    assert pid is not None
    assert str(kept) in [mapped.path for mapped in psutil.Process(pid).memory_maps()]


KILLED = """
import os
import signal

def test_it(kafka_release, zookeeper):
    kafka_release("3.9.1").start_broker(zookeeper, id=1)
    os.kill(os.getpid(), signal.SIGKILL)
"""
ASKED = """
def test_it(kafka_release):
    assert kafka_release("3.9.1").classpath
"""


def run(directory: Path, test: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    (directory / "test_it.py").write_text(test)
    ours = [name for name in os.environ if name.startswith(("PYTEST_", "KC_")) and name != VARIABLE]
    outside = {name: value for name, value in os.environ.items() if name not in ours}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        os.devnull,
        "-p",
        "no:cacheprovider",
        "-ra",
        "test_it.py",
        *arguments,
    ]
    return subprocess.run(
        command, cwd=directory, env=outside | environment, capture_output=True, text=True, timeout=scaled(120)
    )


WORKS = """
def test_it(kafka_release, zookeeper):
    release = kafka_release("3.9.1")
    broker = release.start_broker(zookeeper, id=1)
    release.tool("kafka-topics", "--bootstrap-server", broker.bootstrap_server, "--create", "--topic", "t")
    assert list(broker.log.with_suffix("").glob("**/t-0"))
"""


def test_its_directory_may_have_any_name(kafka_release: KafkaReleases, tmp_path: Path) -> None:
    kafka_release(RELEASE)
    place = tmp_path / "größe \\u0041 50%20"
    place.mkdir()
    ran = run(place, WORKS, f"--basetemp={place / 'base'}", LC_ALL="C")
    assert ran.returncode == 0, ran.stdout


def test_a_killed_pytest_leaves_no_broker(kafka_release: KafkaReleases, tmp_path: Path) -> None:
    kafka_release(RELEASE)  # skipped where it cannot be
    ran = run(tmp_path, KILLED)
    assert ran.returncode == -9
    own = str(tmp_path)
    left = [process for process in psutil.process_iter() if own in _command(process)]
    psutil.wait_procs(left, timeout=scaled(20))
    assert not [process for process in left if process.is_running()]


def _command(process: psutil.Process) -> str:
    try:
        return " ".join([*process.cmdline(), process.cwd()])
    except psutil.Error:
        return ""


def test_where_a_release_cannot_be_had_the_test_is_skipped_or_fails(tmp_path: Path) -> None:
    nowhere = {"KCONTROLLER_KAFKA_JARS": str(tmp_path / "nothing")}
    ran = run(tmp_path, ASKED, **nowhere)
    assert (ran.returncode, "1 skipped" in ran.stdout) == (0, True), ran.stdout
    assert "Kafka 3.9.1 is not there; releases that are: none" in ran.stdout
    ran = run(tmp_path, ASKED, "--kc-require=kafka", **nowhere)
    assert (ran.returncode, "1 failed" in ran.stdout) == (1, True), ran.stdout
    assert "--kc-require=kafka: " in ran.stdout
