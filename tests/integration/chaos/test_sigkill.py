"""`kill -9` of a running pytest leaves no process and no temporary directory of ours."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from pytest_kcontroller.cluster.timing import scaled

USES = {
    "zookeeper": "client = zookeeper.client()",
    "kcluster": "kcluster.wait_for_controller()",
}
PROCESSES = {"zookeeper": 2, "kcluster": 4}
"""At least so many of ours run then: each child and its supervisor; for kcluster three nodes and their ZooKeeper."""

TEST = """
import pathlib, time

def test_it({fixture}):
    {use}
    pathlib.Path("up").touch()
    time.sleep(600)
"""


def wait(what: str, check: Callable[[], object], limit_s: float) -> None:
    deadline = time.monotonic() + scaled(limit_s)  # noqa: TID251  # the time of the test itself
    while check():
        if time.monotonic() > deadline:  # noqa: TID251
            pytest.fail(f"not within {scaled(limit_s):g} s: {what}: {check()}")
        time.sleep(0.05)  # noqa: TID251


def ours(mark: str) -> list[str]:
    """Living processes with `mark` in their environment (they inherit it from the killed pytest)."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and process.environ().get("KC_TEST_MARK") == mark:
                found.append(
                    f"{process.pid} {' '.join(process.cmdline())[:100]} {process.environ().get('KCONTROLLER_SESSION')}"
                )
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


@pytest.mark.parametrize("fixture", ["zookeeper", "kcluster"])
def test_kill_9_of_pytest_leaves_nothing(tmp_path: Path, fixture: str) -> None:
    (tmp_path / "test_uses.py").write_text(TEST.format(fixture=fixture, use=USES[fixture]))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    mark = uuid.uuid4().hex
    surroundings = {**os.environ, "KC_TEST_MARK": mark, "TMPDIR": str(temporary)}
    surroundings = {name: value for name, value in surroundings.items() if not name.startswith("PYTEST_")}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--kc-require=java",
        f"--basetemp={tmp_path / 'base'}",
    ]
    log = (tmp_path / "pytest.log").open("w")
    running = subprocess.Popen(command, cwd=tmp_path, env=surroundings, stdout=log, stderr=subprocess.STDOUT)
    try:
        wait(f"{fixture} is up", lambda: not _up(running, tmp_path), 60)
        before = ours(mark)
        assert len(before) > PROCESSES[fixture], before
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()
        log.close()
    wait("every process ends", lambda: ours(mark), 15)
    wait("every temporary directory goes", lambda: sorted(temporary.iterdir()), 15)
    wait("ZooKeeper's data go", lambda: sorted((tmp_path / "base").rglob("version-2")), 15)


def _up(running: subprocess.Popen[bytes], directory: Path) -> bool:
    if running.poll() is not None:
        pytest.fail(f"pytest ended by itself:\n{(directory / 'pytest.log').read_text()}")
    return (directory / "up").exists()
