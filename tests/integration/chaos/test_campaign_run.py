"""`kcontroller campaign run`, as a person runs it: real ZooKeeper, real nodes, real proxies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from kcontroller_chaos.judge.verdict import judge
from pytest_kcontroller.cluster.timing import scaled
from tests.tools.programs import run_kcontroller, while_it_runs

CAMPAIGNS = Path(__file__).parents[3] / "chaos" / "campaigns"
PROGRAM = [sys.executable, "-c", "import sys; from pytest_kcontroller.cli import main; sys.exit(main())"]


def campaign(*arguments: object, out: Path) -> subprocess.CompletedProcess[str]:
    command = ["campaign", "run", *map(str, arguments), "--out", out.name]  # relative, as people type it
    return run_kcontroller(*command, timeout=scaled(120), cwd=out.parent)


def only_run(out: Path) -> Path:
    (run,) = out.glob("*/*")
    return run


def verdicts(run: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((run / "verdicts.json").read_text())
    return value


def fencing(run: Path) -> str:
    root = CAMPAIGNS.parents[1]
    command = [sys.executable, "-m", "tests.tools.zklog", "--fencing", str(run)]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=root, timeout=scaled(60)).stdout


def test_smoke_holds_and_every_fault_was_seen(tmp_path: Path) -> None:
    done = campaign(CAMPAIGNS / "smoke.toml", "--seeds", 1, out=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    value = verdicts(only_run(tmp_path))
    assert [part["verdict"] for part in value["parts"].values()] == ["held"] * 5
    assert sorted(fault["id"] for fault in value["faults"]) == ["expiry-natural", "expiry-server", "kill", "pause"]
    assert all(fault["observed_us"] for fault in value["faults"])
    assert len(value["elections"]) >= 5, "the first one, and one after each fault on the controller"


def test_a_deposed_controller_is_fenced(tmp_path: Path) -> None:
    done = campaign(CAMPAIGNS / "zombie.toml", "--seeds", 1, out=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    said = fencing(only_run(tmp_path))
    assert "refused -103 epoch 1 after 2" in said
    assert "ACCEPTED" not in said


def test_without_the_fence_the_witness_names_the_write(tmp_path: Path) -> None:
    done = campaign(CAMPAIGNS / "zombie.toml", "--seeds", 1, "--mutant", "KAFKA-6082", out=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    run = only_run(tmp_path)
    (violated,) = [i for i in verdicts(run)["invariants"] if i["name"] == "no-stale-epoch-write"]
    witness = violated["witness"]
    assert witness["path"].startswith("/brokers/topics/late/partitions/")
    assert (witness["epoch"], witness["newest_epoch"]) == (1, 2)
    accepted = [line.split()[0] for line in fencing(run).splitlines() if "ACCEPTED" in line]
    assert witness["zxid"] in accepted, "the reader that knows nothing of ours sees the same write"
    assert witness["zxid"] in done.stdout


@pytest.mark.parametrize(
    ("fault", "backend"),
    [("session_expiry:natural", "process"), ("session_expiry:server", "sim"), ("kill", "sim"), ("pause", "sim")],
)
def test_a_fault_that_does_not_happen_is_noticed(fault: str, backend: str, tmp_path: Path) -> None:
    """That none of them is seen by itself in a real cluster: test_every_fault_for_real.py."""
    options = ("--seeds", 1, "--noop-fault", fault, "--backend", backend)
    done = campaign(CAMPAIGNS / "smoke.toml", *options, out=tmp_path)
    assert done.returncode == 6, done.stdout + done.stderr
    assert f"({fault})" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere.toml"], "nowhere.toml"),
        ([CAMPAIGNS / "smoke.toml", "--mutant", "KAFKA-6083"], "KAFKA-6082"),
        ([CAMPAIGNS / "smoke.toml", "--noop-fault", "pause:hard"], "pause"),
        ([CAMPAIGNS / "smoke.toml", "--seeds", "x"], "--seeds"),
        ([CAMPAIGNS / "smoke.toml", "--assignment", "stripes"], "striped"),
    ],
)
def test_what_is_wrong_is_said_before_anything_starts(arguments: list[object], says: str, tmp_path: Path) -> None:
    done = campaign(*arguments, out=tmp_path / "runs")
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.usefixtures("hangups")
def test_a_signal_leaves_a_readable_run_and_nothing_else(number: signal.Signals, tmp_path: Path) -> None:
    """Ctrl-C, SIGTERM and a closed terminal heal first; after SIGKILL the supervisors end what is left."""
    command = [*PROGRAM, "campaign", "run", str(CAMPAIGNS / "smoke.toml"), "--seeds", "1", "--out", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        told = "*/*/history/engine.jsonl"
        while_it_runs(process, lambda: any("fault.applied" in path.read_text() for path in tmp_path.glob(told)))
        children = psutil.Process(process.pid).children(recursive=True)
        os.kill(process.pid, number)
        process.communicate(timeout=scaled(60))
    assert process.returncode == (-number if number == signal.SIGKILL else 130)
    healed = "fault.healed" in (only_run(tmp_path) / "history" / "engine.jsonl").read_text()
    assert healed == (number != signal.SIGKILL)
    assert json.loads((only_run(tmp_path) / "run.json").read_text())["verdict"] == "unknown"
    gone, alive = psutil.wait_procs(children, timeout=scaled(10))
    assert len(gone) >= 5
    assert not alive
    judged = (only_run(tmp_path) / "verdicts.json").exists()
    assert judged == (number != signal.SIGKILL)
    witness = judge(only_run(tmp_path))
    assert witness["overall"] == "unknown"
    by_name = {entry["name"]: entry["verdict"] for entry in witness["invariants"]}
    assert by_name["epochs-grow"] == "held", "ZooKeeper's log is there, also after SIGKILL"


CRASHER = """
import os
from pathlib import Path
from kcontroller_plugins.selectors.offline import OfflineSelector
from pytest_kcontroller.hookspecs import hookimpl

class Crasher(OfflineSelector):
    name = "crasher"
    def select(self, partition, reason):
        try:
            if partition.topic == "orders":  # not when it is tried at the start
                Path(__file__).with_name("crashed").touch(exist_ok=False)
                os._exit(3)
        except FileExistsError:  # one node of all, so that the others, and who is started again, live
            pass
        return super().select(partition, reason)

@hookimpl
def kcontroller_leader_selectors():
    return [Crasher()]
"""

CRASH = """
[campaign]
name = "crash"
duration_s = 5
seeds = "1"
[cluster]
session_timeout_ms = 1000
[[topics]]
name = "orders"
partitions = 3
replication_factor = 3
[[faults]]
kind = "kill"
target = "leader-of:orders-0"
at_s = 0.5
duration_s = 2
"""


def test_a_node_that_ends_by_itself_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "crasher_plugin.py").write_text(CRASHER)
    (tmp_path / "crash.toml").write_text(CRASH)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    plugin = ("--plugin", "crasher_plugin", "--selector", "offline=crasher")
    done = campaign(tmp_path / "crash.toml", *plugin, out=tmp_path / "runs")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "ended with status 3" in done.stdout
    assert "overloaded" not in done.stdout


def test_a_fault_whose_trigger_never_comes_is_named(tmp_path: Path) -> None:
    never = (
        '[campaign]\nname = "never"\nduration_s = 1\nseeds = "1"\n[[faults]]\nkind = "kill"\nwhen = "epoch.changed"\n'
    )
    (tmp_path / "never.toml").write_text(never)
    done = campaign(tmp_path / "never.toml", out=tmp_path / "runs")
    assert done.returncode == 6, done.stdout + done.stderr
    assert "epoch.changed" in done.stdout


def test_without_java_nothing_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KCONTROLLER_JAVA", "/nonexistent")
    done = campaign(CAMPAIGNS / "smoke.toml", out=tmp_path / "runs")
    assert done.returncode == 2
    assert "KCONTROLLER_JAVA" in done.stderr
    assert not (tmp_path / "runs").exists()
