"""The wall clock is set while a campaign runs: what holds is held, and what is broken is found all the same."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from pytest_kcontroller.cluster.timing import scaled
from tests.tools.programs import while_it_runs

SHIFT = Path(__file__).parents[2] / "data" / "wall_clock" / "shift.c"
PROGRAM = [sys.executable, "-c", "import sys; from pytest_kcontroller.cli import main; sys.exit(main())"]
CAMPAIGN = """
[campaign]
name = "clock"
duration_s = 18
seeds = "1"
[cluster]
session_timeout_ms = 6000
[[topics]]
name = "orders"
partitions = 3
replication_factor = 3
[[faults]]
kind = "kill"
target = "controller"
at_s = 0.2
duration_s = 15
"""


@pytest.fixture(scope="module")
def shift(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler (cc): the wall clock of a process cannot be moved")
    library = tmp_path_factory.mktemp("wall-clock") / "shift.so"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, SHIFT], check=True, timeout=scaled(60))
    return library


@pytest.mark.parametrize(("step_us", "mutant", "status"), [(1_000_000, None, 0), (-1_000_000, "KAFKA-3143", 1)])
def test_a_clock_that_is_set_changes_no_verdict(
    shift: Path, tmp_path: Path, step_us: int, mutant: str | None, status: int
) -> None:
    """It is set while the session of the killed controller goes on: its expiry and the election come after it, and the node
    itself only when its successor has seen that it is not there."""
    (tmp_path / "clock.toml").write_text(CAMPAIGN)
    (tmp_path / "shift").write_bytes(struct.pack("=q", 0))
    command = [*PROGRAM, "campaign", "run", "clock.toml", *(["--mutant", mutant] if mutant else [])]
    environment = os.environ | {"LD_PRELOAD": str(shift), "WALL_CLOCK_SHIFT": str(tmp_path / "shift")}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        told = "runs/*/*/history/engine.jsonl"
        while_it_runs(process, lambda: any("fault.applied" in path.read_text() for path in tmp_path.glob(told)))
        with (tmp_path / "shift").open("r+b") as file:
            file.write(struct.pack("=q", step_us))
        said, _ = process.communicate(timeout=scaled(120))
    assert process.returncode == status, said
    (run,) = tmp_path.glob("runs/*/*")
    events = [json.loads(line) for line in (run / "history" / "zookeeper.jsonl").read_text().splitlines()]
    (noted,) = json.loads((run / "verdicts.json").read_text())["notes"]
    assert noted.startswith(f"the wall clock was set 1.000 s {'ahead' if step_us > 0 else 'back'}, ")
    assert noted in said
    kill, *_ = json.loads((run / "verdicts.json").read_text())["faults"]
    expired = next(event for event in events if event["zxid"] == kill["evidence"]["zxid"])
    lived_us = expired["t_us"] - kill["applied_us"]
    assert 0 < lived_us < kill["observed_us"] - kill["applied_us"], "by the run's own time it came before it was seen"
    about = json.loads((run / "run.json").read_text())
    began, ended = (datetime.fromisoformat(about[name]) for name in ("started", "ended"))
    last_us = json.loads((run / "history" / "engine.jsonl").read_text().splitlines()[-1])["t_us"]
    assert (ended - began).total_seconds() * 1e6 > last_us
    if mutant:
        assert "dead-leave-isr-at-failover" in said
