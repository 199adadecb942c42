"""`kcontroller report` that is told to end while Spark starts: nothing of it is left, neither processes nor directories."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from pytest_kcontroller.cli import main
from pytest_kcontroller.cluster.children.processes import VARIABLE
from pytest_kcontroller.cluster.timing import scaled
from tests.tools.programs import while_it_runs

CAMPAIGN = """
[campaign]
name = "short"
duration_s = 1

[[topics]]
name = "t"
partitions = 1
replication_factor = 1

[thresholds]
faults_applied = 0
operations_ok = 0
"""
PROGRAM = "import sys; from pytest_kcontroller.cli import main; sys.exit(main())"


def jvm_of(process: psutil.Process) -> psutil.Process | None:
    """Spark's, once there is one."""
    for child in process.children(recursive=True):
        try:
            if child.name() == "java" and "org.apache.spark.deploy.SparkSubmit" in child.cmdline():
                return child
        except psutil.Error:
            continue
    return None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(CAMPAIGN)
    runs, temporary = tmp_path / "runs", tmp_path / "temporary"
    temporary.mkdir()
    main(["campaign", "run", str(tmp_path / "short.toml"), "--backend", "sim", "--out", str(runs)])
    command = [sys.executable, "-c", PROGRAM, "report", str(runs), "-o", str(tmp_path / "out")]
    surroundings = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(command, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reporting:
        process = psutil.Process(reporting.pid)
        jvm = while_it_runs(reporting, lambda: jvm_of(process))
        assert VARIABLE in jvm.environ(), "`kcontroller gc` knows it"
        children = process.children(recursive=True)
        reporting.send_signal(number)
        said = reporting.communicate(timeout=scaled(60))
    assert reporting.returncode == (-number if number == signal.SIGKILL else 130), said
    _, alive = psutil.wait_procs(children, timeout=scaled(30))
    assert not alive
    assert list(temporary.iterdir()) == []
