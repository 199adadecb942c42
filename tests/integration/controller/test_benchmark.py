"""What measures the controller runs it: a benchmark that nobody runs stops working unseen."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from pytest_kcontroller.cluster.timing import scaled

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "controller.py"


def test_the_benchmark_of_the_controller_measures_every_row() -> None:
    command = [sys.executable, BENCHMARK, "--partitions", "1000", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=scaled(120), check=False)
    assert done.returncode == 0, done.stderr
    (rows,) = json.loads(done.stdout)["now"].values()
    assert {"failover", "broker failure", "controlled shutdown", "one topic created"} <= rows.keys()
    assert rows["failover"]["requests"] == 15
