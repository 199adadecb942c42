"""The backend `kafka`: `kcluster` is made of Kafka's own brokers, with the same faults, waits and invariants."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from pytest_kcontroller import KafkaReleases
from pytest_kcontroller.cluster.kafka import RELEASE_VARIABLE
from pytest_kcontroller.cluster.timing import VARIABLE, scaled

HERE = Path(__file__).parents[3]
TESTS = """
import time

import pytest

from kcontroller_chaos import backends
from kcontroller_chaos.catalogue import load_catalogue
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import NotOnThisBackend
from pytest_kcontroller.model.cluster import TopicPartition
from tests.tools.nothing_done import seen_where_nothing_is_done

LACKS = {*backends.backend("kafka").lacks}
STOCK = [one for kind in load_catalogue(installed=False).kinds.values() for one in kind.classes]
HERE = [one for one in STOCK if not LACKS & {*one.needs} and not one.on_zookeeper]


def wait_until_hosted(log, partition):
    # By its own word: a disk that fails before has nothing on it that Kafka would miss.
    deadline = time.monotonic() + scaled(60)
    while f"Leader {partition} with topic id" not in log.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.kcontroller(nodes=3)
def test_a_failover(kcluster, kafka_release, chaos):
    kcluster.create_topic("orders", partitions=3, replication_factor=3)
    kcluster.wait_until_converged()
    first = kcluster.controller
    other = next(node for node in kcluster.nodes if node != first)
    said = kafka_release("3.9.1").tool("kafka-topics", "--bootstrap-server", kcluster.bootstrap_servers, "--describe")
    assert "Topic: orders" in said
    kcluster.net.cut(first, "zookeeper")
    second = kcluster.wait_for_controller(other_than=first)
    kcluster.net.heal()
    kcluster.wait_until_converged()
    with chaos.fault("graceful_stop", target=f"node:{second}") as stopped:
        assert stopped.observed()["status"] == 143  # how a JVM says that SIGTERM has ended it
        kcluster.wait_for_controller(other_than=second)
        kcluster.wait_until_online("orders")
    new = kcluster.add_node()
    kcluster.create_topic("more", assignment={0: (new, 0)})
    kcluster.wait_until_converged()
    wait_until_hosted(kcluster.directory / "logs" / f"node-{new}.log", "more-0")
    with chaos.fault("log_dir_failure", target=f"node:{new}") as fault:  # the only one that it has: it halts
        assert fault.observed()["status"] == 1
    kcluster.wait_until_converged()
    kcluster.stop(new)
    kcluster.check()


@pytest.mark.kcontroller(nodes=2, log_dirs=2, session_timeout_ms=6000)
def test_a_leader_moves_although_its_broker_lives(kcluster, chaos):
    kcluster.create_topic("orders", assignment={0: (1, 0), 1: (1, 0)})
    kcluster.wait_until_converged()
    cluster, call = kcluster.backend.run.cluster, kcluster.backend.driver.call

    def wait_led(*leaders):
        async def check():
            found = tuple([await cluster.leader(TopicPartition("orders", number)) for number in (0, 1)])
            return None if found == leaders else f"leaders {found}"

        call(cluster.wait_until(f"orders is led by {leaders}", check, timeout_s=scaled(30)))

    assert len(HERE) > 10 and seen_where_nothing_is_done(kcluster.backend, HERE) == []
    for number in (0, 1):
        wait_until_hosted(kcluster.directory / "logs" / "node-1.log", f"orders-{number}")
    with chaos.fault("log_dir_failure", target="leader-of:orders-1") as fault:
        assert "zxid" in fault.observed()
        wait_led(1, 0)
        assert cluster.running == (0, 1)
    kcluster.wait_until_converged()
    kcluster.check()


@pytest.mark.kcontroller(nodes=1, selectors={"offline": "noop"})
def test_selectors(kcluster):
    pass


@pytest.mark.kcontroller(nodes=1)
def test_fails(kcluster):
    raise AssertionError
"""


CAMPAIGN = """
[campaign]
name = "one"
duration_s = 1

[cluster]
nodes = 1
session_timeout_ms = 10000

[[workload]]
kind = "admin"
action = "create_topic"
topic = "orders"
at_s = 0.2
"""

PROGRAM = "import sys; from pytest_kcontroller.cli import main; sys.exit(main())"


def test_a_replay_has_the_release_of_its_run(kafka_release: KafkaReleases, tmp_path: Path) -> None:
    """Which is not that of the other test, nor the one without the variable."""
    kafka_release("2.8.2")
    (tmp_path / "one.toml").write_text(CAMPAIGN)
    outside = {name: value for name, value in os.environ.items() if name != RELEASE_VARIABLE}

    def played(*arguments: str, **variables: str) -> Path:
        command = [sys.executable, "-c", PROGRAM, *arguments, "--json"]
        done = subprocess.run(
            command, cwd=tmp_path, env={**outside, **variables}, capture_output=True, text=True, timeout=scaled(120)
        )
        assert done.returncode == 0, done.stderr
        return tmp_path / json.loads(done.stdout)["runs"][0]["directory"]

    run = played("campaign", "run", "one.toml", "--backend", "kafka", **{RELEASE_VARIABLE: "2.8.2"})
    again = played("replay", str(run))
    assert again != run
    assert [json.loads((one / "run.json").read_text())["versions"]["kafka"] for one in (run, again)] == ["2.8.2"] * 2


def test_the_same_tests_run_on_kafkas_brokers(kafka_release: KafkaReleases, tmp_path: Path) -> None:
    kafka_release("3.9.1")  # skipped where it cannot be
    (tmp_path / "test_it.py").write_text(TESTS)
    ours = [name for name in os.environ if name.startswith(("PYTEST_", "KC_")) and name != VARIABLE]
    outside = {name: value for name, value in os.environ.items() if name not in ours} | {"PYTHONPATH": str(HERE)}
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", ".", "-p", "no:cacheprovider", "-ra"]
    ran = subprocess.run(
        [*command, "--kc-backend=kafka", "test_it.py"],
        cwd=tmp_path,
        env={**outside, RELEASE_VARIABLE: "3.9.1"},
        capture_output=True,
        text=True,
        timeout=scaled(300),
    )
    assert "1 failed, 2 passed" in ran.stdout, ran.stdout + ran.stderr
    assert f"\n{RELEASE_VARIABLE}=3.9.1 pytest test_it.py::test_fails --kc-backend=kafka\n" in ran.stdout
    assert "Kafka's own brokers take no leader selectors of others" in ran.stdout
    assert "1 error" in ran.stdout, ran.stdout
