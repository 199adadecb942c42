"""A ZooKeeper that ends by itself ends what waits for it: an error that says so, and no hang."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from pytest_kcontroller.cluster import admin
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure
from tests.tools.programs import run_in

CAMPAIGNS = Path(__file__).parents[3] / "chaos" / "campaigns"
PROGRAM = [sys.executable, "-c", "import sys; from pytest_kcontroller.cli import main; sys.exit(main())"]


def test_a_test_whose_zookeeper_dies_fails_and_says_why(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import os, signal

        def kill(kcluster):
            os.kill(kcluster._cluster.zookeeper.servers[1]._pid, signal.SIGKILL)

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
    ran = run_in(pytester, "-p", "no:cacheprovider")
    ran.assert_outcomes(failed=3)
    ran.stdout.fnmatch_lines(["*ZooKeeper has ended: the JVM ended with status -9*"] * 3)


@pytest.mark.parametrize(
    ("sent", "says"),
    [("SIGSTOP", "*ZooKeeper was stopped, and stands still"), ("SIGKILL", "*ZooKeeper has ended*")],
)
def test_one_that_is_gone_at_the_end_of_a_test_is_its_error_and_not_waited_for(
    pytester: pytest.Pytester, sent: str, says: str
) -> None:
    """kazoo would wait 20 s for an answer, and the test would pass."""
    pytester.makepyfile(
        f"""
        import os, signal
        import pytest

        @pytest.mark.kcontroller(nodes=1)
        def test_it(kcluster):
            kcluster.zk.create("/a")
            server = kcluster._cluster.zookeeper.servers[1]
            os.kill(server._pid, signal.{sent})
            while server.process_state() not in ("T", None):
                pass
        """
    )
    ran = run_in(pytester, "-p", "no:cacheprovider", "--durations=3")
    ran.assert_outcomes(passed=1, errors=1)
    ran.stdout.fnmatch_lines([says])


def test_a_zookeeper_that_dies_in_a_test_is_that_tests_error_and_the_next_one_has_another(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        import psutil

        def test_it(zk):
            for child in psutil.Process().children(recursive=True):
                if child.name() == "java":
                    child.kill()
                    child.wait()

        def test_the_next_one(zk):
            zk.create("/a")
        """
    )
    ran = run_in(pytester, "-p", "no:cacheprovider")
    ran.assert_outcomes(passed=2, errors=1)
    ran.stdout.fnmatch_lines(["*ZooKeeper does not answer any more: what this test has left there stays"])


def test_a_server_that_gives_no_session_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "OPEN_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(
            EnvironmentFailure, match=rf"{server}: ZooKeeper gave no session within .*\n.*was it stopped"
        ):
            asyncio.run(admin.AdminSession.open(server))


@pytest.mark.parametrize(
    ("moment", "victim", "sent", "says"),
    [
        ("node.started", "QuorumPeerMain", signal.SIGKILL, "ZooKeeper has ended: the JVM ended with status -9"),
        ("fault.applied", "QuorumPeerMain", signal.SIGKILL, "ZooKeeper has ended: the JVM ended with status -9"),
        ("fault.applied", "QuorumPeerMain", signal.SIGSTOP, "ZooKeeper was stopped: it has stood still for"),
        (
            *("fault.applied", "session_relay", signal.SIGKILL),
            "the relays to ZooKeeper have ended: their process ended with status -9",
        ),
    ],
)
def test_a_campaign_that_loses_what_it_stands_on_is_the_environments_fault(
    tmp_path: Path, moment: str, victim: str, sent: signal.Signals, says: str
) -> None:
    command = [*PROGRAM, "campaign", "run", str(CAMPAIGNS / "smoke.toml"), "--seeds", "1", "--out", str(tmp_path)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + scaled(60)  # noqa: TID251  # the time of the test itself
    while not any(moment in path.read_text() for path in tmp_path.glob("*/*/history/*.jsonl")):
        assert time.monotonic() < deadline  # noqa: TID251
        time.sleep(0.1)  # noqa: TID251
    (server,) = [
        process.pid
        for process in psutil.Process(running.pid).children(recursive=True)
        if any(victim in word for word in process.cmdline()) and not any("supervisor" in w for w in process.cmdline())
    ]
    os.kill(server, sent)
    said, _ = running.communicate(timeout=scaled(120))
    assert running.returncode == 6, said
    assert says in said
