"""An assignment strategy of a user that is wrong: `striped` decides, and an invariant says so by name."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from pytest_kcontroller.cli import main
from pytest_kcontroller.cluster.timing import scaled

PLUGIN = """
from pytest_kcontroller.hookspecs import hookimpl
from pytest_kcontroller.model.assignment import InvalidReplicationFactorError

class Mine:
    name = "mine"

    def assign(self, request, draw):
        {body}

@hookimpl
def kcontroller_assignment_strategies():
    return [Mine]
"""
CAMPAIGN = """
[campaign]
name = "placed"
duration_s = 2

[cluster]
assignment = "mine"
plugin_limit_s = 0.1

[[topics]]
name = "t"
partitions = 6
replication_factor = 3
"""


def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, body: str) -> int:
    (tmp_path / f"{name}.py").write_text(PLUGIN.format(body=body))
    (tmp_path / "placed.toml").write_text(CAMPAIGN)
    monkeypatch.syspath_prepend(str(tmp_path))
    run = ["campaign", "run", str(tmp_path / "placed.toml"), "--backend", "sim", "--out", str(tmp_path / "runs")]
    return main([*run, "--plugin", name])


@pytest.mark.parametrize(
    ("name", "body", "why"),
    [
        ("kct_one_of_six", "return {0: (0, 1, 2)}", "it placed the partitions 0, not 0, 1, 2, 3, 4, 5"),
        ("kct_thrice", "return dict.fromkeys(range(6), (1, 1, 1))", "partition 0 is twice on one broker: (1, 1, 1)"),
        (
            "kct_nowhere",
            "return dict.fromkeys(range(6), (7, 8, 9))",
            "partition 0 is on broker 7, and there are 0, 1, 2",
        ),
        ("kct_raising", "raise ValueError('no idea')", "it raised ValueError: no idea"),
        ("kct_listing", "return [(0, 1, 2)] * 6", "it gave a list, not partition -> replicas"),
    ],
)
def test_striped_decides_and_strategies_answer_is_violated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, body: str, why: str
) -> None:
    assert play(tmp_path, monkeypatch, name, body) == 1
    (path,) = tmp_path.glob("runs/placed/*/verdicts.json")
    entries = {entry["name"]: entry for entry in json.loads(path.read_text())["invariants"]}
    assert [name for name, entry in entries.items() if entry["verdict"] == "violated"] == ["strategies-answer"]
    seen = f"1 answer of mine could not be used, and striped decided; the first: {why}"
    assert entries["strategies-answer"]["seen"] == seen
    assert entries["strategies-answer"]["witness"]["topic"] == "t"


def test_a_strategy_that_never_answers_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = '[[topics]]\nname = "u"\npartitions = 1\nreplication_factor = 1\n'
    monkeypatch.setattr(sys.modules[__name__], "CAMPAIGN", CAMPAIGN + more)
    assert play(tmp_path, monkeypatch, "kct_hanging", "while True: pass") == 1
    (path,) = tmp_path.glob("runs/placed/*/verdicts.json")
    entries = {entry["name"]: entry for entry in json.loads(path.read_text())["invariants"]}
    assert [name for name, entry in entries.items() if entry["verdict"] == "violated"] == ["strategies-answer"]
    seen = "1 answer of mine could not be used, and striped decided; the first: it gave no answer within"
    assert entries["strategies-answer"]["seen"].startswith(f"{seen} {scaled(0.1):g} s, and stood at")
    assert entries["strategies-answer"]["seen"].endswith("; it is not asked again")


def test_an_assignment_error_refuses_the_topic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where it is one of the campaign's own, that seed cannot be played, and the others are."""
    body = """
        if draw(2):
            raise InvalidReplicationFactorError('not on a Sunday')
        return {partition: (0, 1, 2) for partition in range(request.partitions)}"""
    more = "[thresholds]\nfaults_applied = 0\noperations_ok = 0\n"
    some = CAMPAIGN.replace("duration_s = 2", 'duration_s = 2\nseeds = "1..4"') + more
    monkeypatch.setattr(sys.modules[__name__], "CAMPAIGN", some)
    assert play(tmp_path, monkeypatch, "kct_refusing", body.strip()) == 6
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    verdicts = [json.loads(path.read_text())["overall"] for path in tmp_path.glob("runs/placed/*/verdicts.json")]
    assert len(verdicts) == 4
    assert sorted(set(verdicts)) == ["environment", "held"]
    told = "the topic 't' of the campaign was refused by the assignment strategy mine: not on a Sunday"
    assert told in said.out
    assert f"environment in {verdicts.count('environment')} of 4 runs: {told}" in said.out
