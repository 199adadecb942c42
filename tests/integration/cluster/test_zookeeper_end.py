"""A ZooKeeper that ends by itself ends what waits for it: an error that says so, and no hang."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from pytest_kcontroller.cluster.timing import scaled

CAMPAIGNS = Path(__file__).parents[3] / "chaos" / "campaigns"
PROGRAM = [sys.executable, "-c", "import sys; from pytest_kcontroller.cli import main; sys.exit(main())"]


def test_a_test_whose_zookeeper_dies_fails_and_says_why(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import os, signal

        def kill(kcluster):
            os.kill(kcluster._cluster.zookeeper._process.pid, signal.SIGKILL)

        def test_create(kcluster):
            kill(kcluster)
            kcluster.create_topic("orders")

        def test_check(kcluster):
            kcluster.create_topic("orders")
            kill(kcluster)
            kcluster.check()

        def test_wait(kcluster):
            kill(kcluster)
            kcluster.wait_until_converged()
        """
    )
    ran = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    ran.assert_outcomes(failed=3)
    ran.stdout.fnmatch_lines(["*ZooKeeper has ended: the JVM ended with status -9*"] * 3)


@pytest.mark.parametrize("moment", ["node.started", "fault.applied"])
def test_a_campaign_whose_zookeeper_dies_is_the_environments_fault(tmp_path: Path, moment: str) -> None:
    command = [*PROGRAM, "campaign", "run", str(CAMPAIGNS / "smoke.toml"), "--seeds", "1", "--out", str(tmp_path)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + scaled(60)  # noqa: TID251  # the time of the test itself
    while not any(moment in path.read_text() for path in tmp_path.glob("*/*/history/*.jsonl")):
        assert time.monotonic() < deadline  # noqa: TID251
        time.sleep(0.1)  # noqa: TID251
    (server,) = [
        process.pid
        for process in psutil.Process(running.pid).children(recursive=True)
        if any("QuorumPeerMain" in word for word in process.cmdline()) and "java" in process.name()
    ]
    os.kill(server, signal.SIGKILL)
    said, _ = running.communicate(timeout=scaled(120))
    assert running.returncode == 6, said
    assert "ZooKeeper has ended: the JVM ended with status -9" in said
