"""A node in a container has a disk of its own: full for it alone, there again when it is, and as new when it was wiped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

HERE = Path(__file__).parents[3]
TEST = """
import pytest

from kcontroller_chaos.faults.disconnect import Disconnect
from kcontroller_chaos.faults.disk_full import DiskFull
from kcontroller_chaos.faults.memory_limit import MemoryLimit
from pytest_kcontroller.broker.log_dir import CHECKPOINT
from pytest_kcontroller.cluster.capabilities import DISKS
from pytest_kcontroller.cluster.timing import scaled
from tests.tools.nothing_done import seen_where_nothing_is_done

OFTEN = {"replica.high.watermark.checkpoint.interval.ms": 200}


@pytest.mark.kcontroller(nodes=2, session_timeout_ms=3000, config=OFTEN)
def test_disks(kcluster, chaos):
    run = kcluster.backend.run
    disks = run.cluster.capability(DISKS)

    def wait(what, enough):
        async def check():
            return None if enough() else str(dict(disks.files(1)))

        kcluster.backend.driver.call(run.cluster.wait_until(what, check, timeout_s=scaled(30)))

    kcluster.create_topic("orders", partitions=1, replication_factor=2)
    kcluster.wait_until_converged()
    wait("it was written down", lambda: CHECKPOINT in disks.files(1))
    assert seen_where_nothing_is_done(kcluster.backend, [DiskFull, Disconnect, MemoryLimit]) == []

    had = dict(disks.files(1))
    with chaos.fault("disk_full", target="node:1") as full:
        assert full.observed()["code"] == "ENOSPC"
        assert had.items() <= disks.files(1).items()
        kcluster.restart(1)
        wait("it halts again", lambda: 1 not in run.cluster.running)
        assert had.items() <= disks.files(1).items()
        before = disks.files(0)[CHECKPOINT]
        kcluster.create_topic("others-have-room", assignment={0: (0,)})
        wait("the other has room", lambda: disks.files(0)[CHECKPOINT] > before)
        assert run.cluster.running == (0,)
    kcluster.wait_until_converged()
    assert had.keys() <= disks.files(1).keys()

    with chaos.fault("log_dir_failure", target="node:1") as failed:
        assert failed.observed()["code"] == "ENOTDIR"
        assert had.items() <= disks.files(1).items()
        disks.wipe(1)
        assert disks.files(1) == {}
    wait("a new disk is written to", lambda: CHECKPOINT in disks.files(1))

    with chaos.fault("disk_wipe", target="node:1") as wiped:
        assert wiped.observed()["files"] == 0
    kcluster.wait_until_converged()
    joined = kcluster.add_node()
    kcluster.create_topic("more", assignment={0: (joined,)})
    wait("one that joins has a disk too", lambda: CHECKPOINT in disks.files(joined))
    with chaos.fault("disk_full", target=f"node:{joined}") as full:
        assert full.observed()["code"] == "ENOSPC"
    kcluster.check()


@pytest.mark.kcontroller(nodes=2, log_dirs=2, session_timeout_ms=6000, zookeeper=3, config=OFTEN)
def test_log_dirs_and_an_ensemble(kcluster, chaos):
    disks = kcluster.backend.run.cluster.capability(DISKS)
    kcluster.create_topic("orders", assignment={0: (1, 0), 1: (1, 0)})
    kcluster.wait_until_converged()
    assert disks.log_dirs_of(1) == {"log-dir-0": ["orders-0"], "log-dir-1": ["orders-1"]}
    had = dict(disks.files(1))
    with chaos.fault("log_dir_failure", target="leader-of:orders-1") as failed:
        assert failed.observed()["partitions"] == ["orders-1"]
        assert had.keys() <= disks.files(1).keys()
        assert list(disks.log_dirs_of(1)) == ["log-dir-0"]
        assert kcluster.backend.run.cluster.running == (0, 1)
    kcluster.wait_until_converged()
    with chaos.fault("zookeeper_kill_leader") as killed:
        assert killed.observed()["leader"] in (1, 2, 3)
        kcluster.create_topic("meanwhile", partitions=1, replication_factor=2)
    kcluster.wait_until_converged()
    kcluster.check()
"""


def test_a_full_disk_is_one_nodes_and_what_was_kept_is_there_again(
    pytester: pytest.Pytester, in_containers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    for name in [name for name in os.environ if name.startswith("PYTEST_XDIST")]:
        monkeypatch.delenv(name)
    pytester.makepyfile(TEST)
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    options = ["--kc-backend=docker", f"--kc-zookeeper-image={in_containers}", "--kc-require=docker"]
    pytester.runpytest_subprocess(*options).assert_outcomes(passed=2)
