"""Nodes in containers: the same fixtures and campaigns, and nothing is left in the engine, however they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kcontroller_chaos.history.read import read_history
from kcontroller_chaos.invariants import check_all
from pytest_kcontroller.cluster.contained import BASE_VARIABLE
from pytest_kcontroller.cluster.docker.containers import engine
from pytest_kcontroller.cluster.docker.leftovers import leftover_containers, leftover_networks, leftover_volumes
from pytest_kcontroller.cluster.timing import scaled

CAMPAIGN = """
[campaign]
name = "contained"
duration_s = 12
seeds = "1"

[cluster]
nodes = 3
session_timeout_ms = 4000

[[topics]]
name = "orders"
partitions = 3
replication_factor = 3

[[faults]]
kind = "pause"
target = "controller"
at_s = 0.2
duration_s = 7

[[faults]]
kind = "kill"
target = "controller"
at_s = 9
duration_s = 0.5
"""


PROGRAM = [sys.executable, "-c", "import sys; from pytest_kcontroller.cli import main; sys.exit(main())"]
PLUGIN = """
from kcontroller_plugins.selectors.offline import OfflineSelector
from pytest_kcontroller.hookspecs import hookimpl


class Mine(OfflineSelector):
    name = "mine"


@hookimpl
def kcontroller_leader_selectors():
    return [Mine]
"""
TEST = """
import os
import signal
import socket
import threading

import psutil
import pytest


@pytest.mark.kcontroller(nodes=3, seed=7, selectors={"offline": "mine"})
def test_a_failover(kcluster, chaos):
    proxies = kcluster.backend.run.cluster.links._process
    assert psutil.Process(proxies.pid).cmdline()[-2:] == ["--seed", "7"]
    kcluster.create_topic("orders", partitions=3, replication_factor=3)
    kcluster.wait_until_converged()
    host, port = kcluster.bootstrap_servers.split(",")[0].split(":")
    assert host == "127.0.0.1"
    socket.create_connection((host, int(port))).close()
    first = kcluster.controller
    kcluster.net.cut(first, "zookeeper")
    second = kcluster.wait_for_controller(other_than=first)
    kcluster.net.heal()
    kcluster.wait_until_converged()
    kcluster.stop(second)
    kcluster.wait_until_online("orders")
    kcluster.restart(second)
    new = kcluster.add_node()
    kcluster.create_topic("more", assignment={0: (new, 0)})
    kcluster.wait_until_converged()
    limit = chaos.inject("memory_limit", mb=64, target="node:0")
    alone = chaos.inject("disconnect", target="controller")
    assert limit.observed()["limit_bytes"] == 64 << 20
    assert alone.observed()["session"]
    kcluster.wait_for_controller(other_than=alone.nodes[0])
    with pytest.raises(Exception, match="cannot be judged"):
        kcluster.check()
    limit.heal()
    alone.heal()
    kcluster.wait_until_converged()
    limit = chaos.inject("memory_limit", mb=64, target="node:0")
    limit.observed()
    node = kcluster.backend.run.cluster.process(0)
    guards = [p for p in psutil.Process().children() if node.name in p.environ().get("KCONTROLLER_CONTAINER", "")]
    killed, (guard,) = node.pid, guards
    guard.suspend()  # nobody sees the end of the node before the healing has begun
    os.kill(killed, signal.SIGKILL)
    threading.Timer(1, guard.resume).start()
    limit.heal()
    assert node.pid not in (None, killed)
    kcluster.wait_until_converged()
    kcluster.check()
"""


def ours(owner: int) -> list[str]:
    """Containers, networks and volumes of that process."""
    found = (*leftover_containers(), *leftover_networks(), *leftover_volumes())
    return [left.name for left in found if left.session.startswith(f"{owner}-")]


def wait(what: str, owner: int, enough: Callable[[list[str]], bool]) -> None:
    deadline = time.monotonic() + scaled(60)  # noqa: TID251  # the time of the test itself
    while not enough(found := ours(owner)):
        if time.monotonic() > deadline:  # noqa: TID251
            pytest.fail(f"not within {scaled(60):g} s: {what}: {found}")
        time.sleep(0.2)  # noqa: TID251


@pytest.fixture
def campaign(tmp_path: Path, in_containers: str) -> list[str]:
    file = tmp_path / "contained.toml"
    file.write_text(CAMPAIGN, encoding="utf-8")
    given = ["--backend", "docker", "--zookeeper-image", in_containers, "--out", str(tmp_path / "runs")]
    return [*PROGRAM, "campaign", "run", str(file), *given]


def test_a_campaign_holds_and_its_files_are_where_they_always_are(campaign: list[str], tmp_path: Path) -> None:
    with subprocess.Popen(campaign, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        said, _ = running.communicate(timeout=scaled(180))
    assert running.returncode == 0, said
    assert ours(running.pid) == []
    (record,) = (tmp_path / "runs").glob("**/run.json")
    run = record.parent
    faults = json.loads((run / "verdicts.json").read_text())["faults"]
    assert all(fault["status"] == "healed" and fault["observed_us"] for fault in faults)
    assert {entry["verdict"] for entry in check_all(read_history(run / "history"))} <= {"held", "never exercised"}
    assert (run / "zookeeper" / "log.1").exists()
    logs = {path.name for path in (run / "logs").iterdir()}
    assert {"node-0.log", "zookeeper.log", "session-relay.log", "toxiproxy.log"} <= logs


def test_kill_9_leaves_nothing_in_the_engine(campaign: list[str]) -> None:
    running = subprocess.Popen(campaign, stdout=subprocess.DEVNULL)
    try:
        wait("a node runs", running.pid, lambda found: any("kcontroller-node-" in name for name in found))
        assert any(name.endswith("-disk-0") for name in ours(running.pid))
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()
    wait("containers, network and volumes are gone", running.pid, lambda found: not found)


def test_a_start_that_fails_says_why_and_leaves_nothing(campaign: list[str]) -> None:
    """ZooKeeper's image has no Python."""
    without = campaign[campaign.index("--zookeeper-image") + 1]
    outside, before = {**os.environ, BASE_VARIABLE: without}, nameless(without)
    with subprocess.Popen(
        campaign, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=outside
    ) as running:
        said, _ = running.communicate(timeout=scaled(120))
    assert running.returncode == 6, said
    assert "the nodes' image cannot be built" in said
    assert f"${BASE_VARIABLE}" in said
    assert ours(running.pid) == []
    assert nameless(without) == before


def nameless(base: str) -> set[str]:
    """The images without a name that were made from it."""
    with engine() as client:
        layers = client.images.get(base).attrs["RootFS"]["Layers"]
        found = client.images.list(filters={"dangling": True})
        return {image.id for image in found if image.attrs["RootFS"]["Layers"][: len(layers)] == layers}


def test_fixtures_are_the_same(pytester: pytest.Pytester, in_containers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The image has the test's own plugin too."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    for name in [name for name in os.environ if name.startswith("PYTEST_XDIST")]:
        monkeypatch.delenv(name)
    pytester.makepyfile(TEST, my_rule=PLUGIN)
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    options = ["--kc-backend=docker", f"--kc-zookeeper-image={in_containers}", "--kc-require=docker"]
    pytester.runpytest_subprocess(*options, "--kc-plugin=my_rule").assert_outcomes(passed=1)
