"""Fixtures and campaigns with ZooKeeper in a container: the same promises, the same witness."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kcontroller_chaos.history.read import read_history
from kcontroller_chaos.invariants import check_all
from pytest_kcontroller.cluster.docker.leftovers import leftover_containers
from pytest_kcontroller.cluster.timing import scaled
from tests.tools.programs import run_in

CAMPAIGNS = Path(__file__).parents[3] / "chaos" / "campaigns"


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    for name in list(os.environ):
        if name.startswith("PYTEST_XDIST"):
            monkeypatch.delenv(name)


@pytest.fixture
def options(zookeeper_image: str) -> list[str]:
    return ["--kc-zookeeper=container", f"--kc-zookeeper-image={zookeeper_image}", "--kc-require=docker"]


def test_fixtures_run_on_a_container(pytester: pytest.Pytester, options: list[str]) -> None:
    pytester.makepyfile(
        """
        import os
        from pytest_kcontroller.cluster.docker.containers import SESSION_LABEL, engine
        from pytest_kcontroller.cluster.children.processes import session_id

        def count():
            with engine() as client:
                return len(client.api.containers(filters={"label": f"{SESSION_LABEL}={session_id()}"}))

        def test_zookeeper(zookeeper):
            client = zookeeper.client(timeout_s=4)
            client.create("/mine", ephemeral=True)
            zookeeper.expire(client, mode="natural")
            assert client.retry(client.exists, "/mine") is None
            assert count() == 1

        def test_failover(kcluster):
            kcluster.create_topic("orders", partitions=3, replication_factor=3)
            old = kcluster.controller
            kcluster.kill(old)
            assert kcluster.wait_for_controller(other_than=old) != old
            kcluster.restart(old)
            kcluster.wait_until_converged()
            kcluster.check()
            assert count() == 2
        """
    )
    run_in(pytester, *options).assert_outcomes(passed=2)


def test_a_campaign_item_runs_on_a_container_and_its_witness_speaks(
    pytester: pytest.Pytester, options: list[str]
) -> None:
    pytester.makeini(f"[pytest]\nkc_campaigns = {os.path.relpath(CAMPAIGNS / 'smoke.toml', pytester.path)}\n")
    ran = run_in(pytester, *options, "--kc-seed=1", "--kc-keep=always")
    ran.assert_outcomes(passed=1)
    (record,) = pytester.path.glob("runs/**/run.json")
    run = record.parent
    assert (run / "zookeeper" / "log.1").exists()
    entries = check_all(read_history(run / "history"))
    verdicts = {entry["verdict"] for entry in entries}
    assert "held" in verdicts <= {"held", "never exercised"}
    assert '"zookeeper": "' + options[1].partition("=")[2] in (run / "run.json").read_text()


def test_kill_9_of_a_campaign_leaves_no_container(zookeeper_image: str, tmp_path: Path) -> None:
    program = "import sys; from pytest_kcontroller.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "campaign", "run", str(CAMPAIGNS / "smoke.toml"), "--seeds", "1"]
    command += ["--zookeeper", "container", "--zookeeper-image", zookeeper_image, "--out", str(tmp_path)]
    running = subprocess.Popen(command)

    def ours() -> list[str]:
        mine = f"{running.pid}-"
        return [found.name for found in leftover_containers() if found.session.startswith(mine)]

    def wait(what: str, there: bool) -> None:
        deadline = time.monotonic() + scaled(60)  # noqa: TID251  # the time of the test itself
        while bool(ours()) != there:
            if time.monotonic() > deadline:  # noqa: TID251
                pytest.fail(f"not within {scaled(60):g} s: {what}")
            time.sleep(0.1)  # noqa: TID251

    try:
        wait("its container runs", True)
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()
    wait("its container is gone", False)
