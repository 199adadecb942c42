"""What measures the controller runs it: a benchmark that nobody runs stops working unseen."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from pytest_kcontroller.cluster.timing import scaled

ROOT = Path(__file__).parents[3]
BENCHMARK = ROOT / "benchmarks" / "controller.py"


def test_the_benchmark_of_the_controller_measures_every_row() -> None:
    command = [sys.executable, BENCHMARK, "--partitions", "1000", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=scaled(120), check=False)
    assert done.returncode == 0, done.stderr
    (rows,) = json.loads(done.stdout)["now"].values()
    assert {"failover", "broker failure", "controlled shutdown", "one topic created"} <= rows.keys()
    assert rows["failover"]["requests"] == 15


def test_without_maven_the_one_beside_kafka_says_what_it_needs(tmp_path: Path) -> None:
    command = [sys.executable, ROOT / "benchmarks" / "against_kafka.py"]
    without = {**os.environ, "PATH": str(tmp_path), "KCONTROLLER_KAFKA_CACHE": str(tmp_path)}
    without.pop("KCONTROLLER_KAFKA_JARS", None)
    done = subprocess.run(command, env=without, capture_output=True, text=True, timeout=scaled(60), check=False)
    assert (done.returncode, done.stdout) == (6, "")
    assert re.fullmatch(r"Maven is not on the path, .*\n  -> install Maven, or .*\n", done.stderr)


def test_one_that_fails_does_not_keep_make_from_the_others(tmp_path: Path) -> None:
    """Make's part alone: the Python of this environment notes what it shall run, and fails once."""
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin/python"
    python.write_text('#!/bin/sh\ncase "$1" in */mutants.py) exit 6;; esac\n')
    python.chmod(0o755)
    for stamp in ("installed", "workbench"):
        (tmp_path / f".kcontroller-{stamp}").touch()
    done = subprocess.run(
        ["make", "bench", f"VENV={tmp_path}"], cwd=ROOT, capture_output=True, text=True, timeout=scaled(30), check=False
    )
    assert done.returncode == 2
    assert done.stdout.split()[1::2] == sorted(f"benchmarks/{one.name}" for one in (ROOT / "benchmarks").glob("*.py"))
    assert "not measured, for the reasons above: benchmarks/mutants.py\n" in done.stderr
