"""`--json`: stdout is one document of docs/cli.schema.json, and what a person would read is on stderr."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_kcontroller.cluster.timing import scaled
from tests.tools.programs import run_kcontroller

ROOT = Path(__file__).parents[3]
ZOMBIE = ROOT / "chaos/campaigns/zombie.toml"
SCHEMA = json.loads((ROOT / "docs/cli.schema.json").read_text())


def document(*arguments: object, folder: Path) -> dict[str, Any]:
    done = run_kcontroller(*arguments, "--json", cwd=folder, timeout=scaled(120))
    value: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(value, SCHEMA)
    assert value["status"] == done.returncode, done.stderr
    return value


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A campaign of five seeds that stops after the first failure."""
    folder = tmp_path_factory.mktemp("json")
    options = ("--backend", "sim", "--mutant", "KAFKA-6082", "--fail-fast")
    return folder, document("campaign", "run", ZOMBIE, *options, folder=folder)


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"schema": 1, "command": "hunt", "status": 0}, SCHEMA)


def test_a_campaign_says_what_became_of_each_run(played: tuple[Path, dict[str, Any]]) -> None:
    _, value = played
    assert (value["status"], value["planned"], value["stopped"]) == (1, 5, "--fail-fast")
    (run,) = value["runs"]
    assert (run["verdict"], run["parts"]["injected"]["count"], run["parts"]["operations"]["of"]) == ("violated", 3, 1)
    assert "no-stale-epoch-write" in [entry["name"] for entry in run["violated"]]
    (failing,) = value["failing"]
    assert (failing["seeds"], f"--seeds {run['seed']} --backend sim --mutant KAFKA-6082" in failing["again"]) == (
        [1],
        True,
    )
    assert [cause["runs"] for cause in value["causes"]] == [[{"campaign": "zombie", "seed": 1}]]


BROKEN = """
import json
from kcontroller_chaos.play import runner
from pytest_kcontroller.hookspecs import hookimpl

judge = runner.judge

def broken(run, *rest):
    return 1 / (json.loads((run / "run.json").read_text())["seed"] - 2) and judge(run, *rest)

runner.judge = broken

@hookimpl
def kcontroller_mutants():
    return []
"""


@pytest.mark.parametrize(("jobs", "seeds"), [(1, [1]), (2, [1, 3])], ids=["one by one", "two at a time"])
def test_runs_that_ended_are_told_when_another_shows_a_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int, seeds: list[int]
) -> None:
    (tmp_path / "kct_broken.py").write_text(BROKEN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    options = ("--backend", "sim", "--plugin", "kct_broken", "--seeds", "1..3", "--jobs", jobs)
    value = document("campaign", "run", ROOT / "chaos/campaigns/smoke.toml", *options, folder=tmp_path)
    assert (value["status"], value["planned"], [run["seed"] for run in value["runs"]]) == (3, 3, seeds)
    assert value["stopped"].endswith("division by zero")


def test_a_replay_says_how_often_the_verdict_came_back(played: tuple[Path, dict[str, Any]]) -> None:
    folder, value = played
    again = document("replay", value["runs"][0]["directory"], "--times", 2, folder=folder)
    assert (again["came_back"], again["original"]["verdict"], again["differences"]) == (2, "violated", [])


def test_a_hunt_says_what_it_found_and_how_to_go_on(tmp_path: Path) -> None:
    value = document("hunt", ZOMBIE, "--mutant", "KAFKA-6082", "--from-seed", 7, folder=tmp_path)
    assert (value["status"], value["counted"], value["next_seed"]) == (1, {"violated": 1}, 8)
    assert value["mutant"]["fate"] == "found"
    assert value["more"].endswith("zombie.toml --from-seed 8 --mutant KAFKA-6082")


def test_a_report_of_nothing_is_a_document_too(tmp_path: Path) -> None:
    value = document("report", tmp_path, folder=tmp_path)
    assert (value["status"], value["runs"]) == (5, 0)
