"""`kcontroller report` that is told to end while Spark starts, or cannot start it: nothing of it is left, neither processes
nor directories, and `--json` has its document."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema
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
SCHEMA = json.loads((Path(__file__).parents[3] / "docs/cli.schema.json").read_text())
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


def reporting_of(folder: Path) -> list[str]:
    """The command, for one run that there is then."""
    (folder / "short.toml").write_text(CAMPAIGN)
    main(["campaign", "run", str(folder / "short.toml"), "--backend", "sim", "--out", str(folder / "runs")])
    return [sys.executable, "-c", PROGRAM, "report", str(folder / "runs"), "-o", str(folder / "out"), "--json"]


def check_document(said: bytes, status: int, runs: int = 1) -> None:
    """Of a report of so many runs that was not written."""
    document = json.loads(said)
    jsonschema.validate(document, SCHEMA)
    assert (document["status"], document["runs"], document["files"]) == (status, runs, {})


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left(number: signal.Signals, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    surroundings = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(
        reporting_of(tmp_path), env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as reporting:
        process = psutil.Process(reporting.pid)
        jvm = while_it_runs(reporting, lambda: jvm_of(process))
        assert VARIABLE in jvm.environ(), "`kcontroller gc` knows it"
        children = process.children(recursive=True)
        reporting.send_signal(number)
        said, complaints = reporting.communicate(timeout=scaled(60))
    if number == signal.SIGKILL:
        assert (reporting.returncode, said) == (-number, b""), complaints
    else:
        assert reporting.returncode == 130, complaints
        check_document(said, 130)
    _, alive = psutil.wait_procs(children, timeout=scaled(30))
    assert not alive
    assert list(temporary.iterdir()) == []


def test_where_spark_cannot_start_there_is_a_document_too(tmp_path: Path) -> None:
    (java := tmp_path / "java").write_text("#!/bin/sh\necho no virtual machine >&2\nexit 1\n")
    java.chmod(0o755)
    surroundings = {**os.environ, "KCONTROLLER_JAVA": str(java)}
    done = subprocess.run(reporting_of(tmp_path), env=surroundings, capture_output=True, check=False)
    assert done.returncode == 6
    assert b"a java is here, and does not run" in done.stderr
    check_document(done.stdout, 6)


def test_while_runs_are_looked_for_there_is_a_document_too(tmp_path: Path) -> None:
    (history := tmp_path / "run" / "history").mkdir(parents=True)
    (tmp_path / "run" / "run.json").touch()
    os.mkfifo(history / "engine.jsonl")  # nobody writes to it: whoever reads it waits
    words = [sys.executable, "-c", PROGRAM, "report", str(tmp_path), "-o", str(tmp_path / "out"), "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reporting:
        assert reporting.stderr is not None
        assert reporting.stderr.readline() == b"... looking for runs\n"
        reporting.send_signal(signal.SIGINT)
        said, complaints = reporting.communicate(timeout=scaled(60))
    assert reporting.returncode == 130, complaints
    check_document(said, 130, runs=0)
