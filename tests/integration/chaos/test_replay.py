"""`kcontroller replay`, sharding and budgets of `campaign run`: real runs."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pytest_kcontroller.cluster.timing import scaled
from tests.tools.programs import run_kcontroller

CAMPAIGNS = Path(__file__).parents[3] / "chaos" / "campaigns"

SIM = ("--backend", "sim")
QUIET = '[campaign]\nname = "quiet"\nduration_s = 1\nseeds = "1..4"\n[cluster]\nnodes = 1\n'
QUIET += '[[topics]]\nname = "t"\n[thresholds]\nfaults_applied = 0\noperations_ok = 0\n'


def kcontroller(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "GITHUB_STEP_SUMMARY"}
    return run_kcontroller(*arguments, timeout=scaled(180), cwd=cwd, env=environment)


def test_a_violated_run_is_replayed_from_its_directory_alone(tmp_path: Path) -> None:
    shutil.copy(CAMPAIGNS / "zombie.toml", tmp_path / "zombie.toml")
    first = kcontroller("campaign", "run", "zombie.toml", "--seeds", 3, "--mutant", "KAFKA-6082", cwd=tmp_path)
    assert first.returncode == 1, first.stdout + first.stderr
    (run,) = (tmp_path / "runs").glob("*/*")
    assert f"again: kcontroller replay {run.relative_to(tmp_path)}" in first.stdout
    (tmp_path / "zombie.toml").unlink()
    again = kcontroller("replay", run.relative_to(tmp_path), "--out", "again", cwd=tmp_path)
    assert again.returncode == 1, again.stdout + again.stderr
    assert "the verdict came back 1 of 1 times: violated" in again.stdout
    assert "witness: " in again.stdout
    assert "no-stale-epoch-write" in again.stdout
    (replay,) = (tmp_path / "again").glob("*/*")
    assert (replay / "schedule.jsonl").read_bytes() == (run / "schedule.jsonl").read_bytes()
    assert json.loads((replay / "run.json").read_text())["campaign"]["file"] == "zombie.toml"


def test_a_replay_in_simulated_time_has_the_history_of_the_run_byte_for_byte(tmp_path: Path) -> None:
    smoke = CAMPAIGNS / "smoke.toml"
    assert kcontroller("campaign", "run", smoke, "--seeds", 2, *SIM, cwd=tmp_path).returncode == 0
    (run,) = (tmp_path / "runs").glob("*/*")
    again = kcontroller("replay", run, "--times", 2, "--out", "again", cwd=tmp_path)
    assert "the verdict came back 2 of 2 times: held" in again.stdout
    assert "the first decision that differs" not in again.stdout
    replays = list((tmp_path / "again").glob("*/*"))
    assert len(replays) == 2
    before = {file.name: file.read_bytes() for file in (run / "history").iterdir()}
    for replay in replays:
        assert {file.name: file.read_bytes() for file in (replay / "history").iterdir()} == before
    assert b"/brokers/topics/orders" in before["zookeeper.jsonl"]


def test_replay_plays_the_schedule_of_the_run_and_not_what_its_campaign_gives_today(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(QUIET + '[[faults]]\nid = "f"\nkind = "pause"\nduration_s = 0.1\nat_s = 0.5\n')
    assert kcontroller("campaign", "run", "c.toml", "--seeds", 1, *SIM, cwd=tmp_path).returncode == 0
    (run,) = (tmp_path / "runs").glob("*/*")
    action = json.loads((run / "schedule.jsonl").read_text())
    (run / "schedule.jsonl").write_text(json.dumps({**action, "kind": "kill", "at_us": 1}) + "\n")
    again = kcontroller("replay", run, "--out", "again", cwd=tmp_path)
    (replay,) = (tmp_path / "again").glob("*/*")
    (fault,) = json.loads((replay / "verdicts.json").read_text())["faults"]
    assert fault["kind"] == "kill", again.stdout


def test_a_schedule_that_lost_lines_is_noticed(tmp_path: Path) -> None:
    pause = '[[faults]]\nkind = "pause"\nduration_s = 0.1\nat_s = {}\n'
    (tmp_path / "c.toml").write_text(QUIET + pause.format(0.5) + pause.format(0.9))
    assert kcontroller("campaign", "run", "c.toml", "--seeds", 1, *SIM, cwd=tmp_path).returncode == 0
    (run,) = (tmp_path / "runs").glob("*/*")
    changed = "is not the schedule that was played: "
    assert changed not in kcontroller("replay", run, "--out", "same", cwd=tmp_path).stderr
    first, second = (run / "schedule.jsonl").read_text().splitlines(keepends=True)
    older = first.replace(',"parameters":{}', "") + second
    assert older != first + second
    (run / "schedule.jsonl").write_text(older)
    facts = json.loads((run / "run.json").read_text())
    played = {"actions": 2, "sha256": hashlib.sha256(older.encode()).hexdigest()}
    (run / "run.json").write_text(json.dumps({**facts, "schedule": played}))
    assert changed not in kcontroller("replay", run, "--out", "same", cwd=tmp_path).stderr
    (run / "schedule.jsonl").write_text(first)
    assert f"{changed}it has 1 actions, the run had 2" in kcontroller("replay", run, cwd=tmp_path).stderr
    (run / "schedule.jsonl").write_text(first + second.replace("fault-1", "fault-9"))
    assert f"{changed}its actions are others" in kcontroller("replay", run, cwd=tmp_path).stderr


@pytest.mark.parametrize(
    ("prepare", "arguments", "message"),
    [
        ("", ["none.toml"], "none.toml: cannot be read"),
        ("", ["."], "it has no run.json"),
        ("", [".", "--seed", "1"], "a run has its seed"),
        ("", [".", "--backend", "sim"], "a run has its backend"),
        ("", [".", "--plugin", "odd"], "--plugin: a run has its plugins"),
        ("", ["c.toml", "--times", "0"], "--times: 0 is too small"),
        ("{}", ["."], "this run has no campaign.toml"),
        ("{", ["."], "run.json: cannot be read"),
        ("[]", ["."], "run.json: is no JSON object"),
    ],
)
def test_what_cannot_be_replayed_is_said(tmp_path: Path, prepare: str, arguments: list[str], message: str) -> None:
    (tmp_path / "c.toml").write_text(QUIET)
    if prepare:
        (tmp_path / "run.json").write_text(prepare)
    done = kcontroller("replay", *arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_campaign_file_with_crash_points_is_played_in_simulated_time(tmp_path: Path) -> None:
    done = kcontroller("replay", CAMPAIGNS / "explore.toml", "--seed", 3, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = (tmp_path / "runs").glob("explore/*-seed-3/run.json")
    assert json.loads(run.read_text())["backend"] == "sim"


ODD = """
from dataclasses import dataclass
from kcontroller_chaos.faults import Fault
from pytest_kcontroller.hookspecs import hookimpl

@dataclass(frozen=True, kw_only=True)
class Odd(Fault):
    kind = "odd"

    async def inject(self, on):
        pass

    async def observe(self, on):
        return {}

@hookimpl
def kcontroller_faults():
    return [Odd]
"""


def test_a_campaign_file_with_a_plugins_fault_is_played_with_the_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "odd.py").write_text(ODD)
    (tmp_path / "c.toml").write_text(QUIET + '[[faults]]\nkind = "odd"\nat_s = 0.5\n')
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = kcontroller("replay", "c.toml", *SIM, cwd=tmp_path)
    assert done.returncode == 2 and "is a --plugin missing?" in done.stderr, done.stderr
    done = kcontroller("replay", "c.toml", *SIM, "--plugin", "odd", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = (tmp_path / "runs").glob("*/*")
    again = kcontroller("replay", run, cwd=tmp_path)
    assert "the verdict came back 1 of 1 times: held" in again.stdout, again.stderr


def test_a_run_that_lacks_what_a_replay_needs_is_said(tmp_path: Path) -> None:
    (tmp_path / "campaign.toml").write_text(QUIET)
    (tmp_path / "run.json").write_text('{"campaign": {"file": "c.toml"}}')
    done = kcontroller("replay", ".", cwd=tmp_path)
    assert done.returncode == 2
    assert "`schema` is missing" in done.stderr


def test_shards_share_all_runs_and_a_budget_stops_early(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(QUIET)
    for shard, seeds in (("1/3", ["1", "4"]), ("3/3", ["3"])):
        done = kcontroller("campaign", "run", "c.toml", *SIM, "--shard", shard, "--out", shard[0], cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert sorted(run.name.rpartition("-")[2] for run in (tmp_path / shard[0]).glob("*/*")) == seeds
    none = kcontroller("campaign", "run", "c.toml", *SIM, "--shard", "5/5", cwd=tmp_path)
    assert none.returncode == 5
    assert "there are only 4 runs, none for this shard" in none.stderr
    early = kcontroller("campaign", "run", "c.toml", *SIM, "--max-seconds", 0.001, cwd=tmp_path)
    assert early.returncode == 0
    assert "stopped after 1 of 4 runs: --max-seconds 0.001" in early.stdout
