"""A run directory that is damaged: `replay` and `shrink` say what is wrong with which file, and play nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kcontroller_chaos import backends
from kcontroller_chaos.play.runner import Options
from pytest_kcontroller.cli import main
from pytest_kcontroller.cli._original import original_run
from pytest_kcontroller.cli._results import run_line
from pytest_kcontroller.cluster.contained import BASE_VARIABLE
from pytest_kcontroller.cluster.contained.image import BASE, base
from pytest_kcontroller.cluster.kafka import RELEASE_VARIABLE
from pytest_kcontroller.cluster.kafka.cluster import chosen_release

QUIET = """
[campaign]
name = "quiet"
duration_s = 1
seeds = "1"

[cluster]
nodes = 1

[[topics]]
name = "t"

[[faults]]
kind = "pause"
duration_s = 0.1
at_s = 0.5

[thresholds]
operations_ok = 0
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run in simulated time, which held."""
    place = tmp_path_factory.mktemp("played")
    (place / "quiet.toml").write_text(QUIET)
    assert main(["campaign", "run", str(place / "quiet.toml"), "--backend", "sim", "--out", str(place / "runs")]) == 0
    (found,) = (place / "runs").glob("quiet/*")
    return found


@pytest.fixture
def run(played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, beside which nothing is."""
    shutil.copytree(played, tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    return Path("run")


def change(file: Path, **values: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def refused(capsys: pytest.CaptureFixture[str], command: str = "replay") -> str:
    """What a command says that has refused the run."""
    capsys.readouterr()
    assert main([command, "run"]) == 2
    assert [path.name for path in Path().iterdir()] == ["run"], "nothing is played or written"
    said = capsys.readouterr()
    assert said.out == ""
    return said.err.removeprefix("kcontroller: ")


ENTRY = {"seed": 1, "id": "f", "what": "fault", "kind": "pause", "stream": "s", "mode": None, "parameters": {}}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("null", "no action: is no JSON object\n  -> each line is an action; restore it"),
        ("{", "no action: is no JSON object\n"),
        ("{}", "no action: its `seed` is null\n  -> 0 to "),
        ({"seed": -1}, "no action: its `seed` is -1\n"),
        ({"kind": ...}, "no action: the key `kind` is missing\n  -> every action has it\n"),
        ({"durtion_us": 5}, "no action: no action has a key `durtion_us`\n  -> did you mean `duration_us`?\n"),
        ({"at_us": "soon"}, 'no action: its `at_us` is "soon", which no action has\n'),
        ({"what": "wish"}, 'no action: its `what` is "wish"\n  -> fault or admin\n'),
        ({"kind": "puase"}, "no action: there is no fault 'puase'\n"),
    ],
)
def test_a_line_of_the_schedule_that_is_no_action_is_named(
    run: Path, capsys: pytest.CaptureFixture[str], line: str | dict[str, Any], says: str
) -> None:
    if isinstance(line, dict):
        line = json.dumps({name: value for name, value in {**ENTRY, **line}.items() if value is not ...})
    (run / "schedule.jsonl").write_text(f"{json.dumps(ENTRY)}\n{line}\n")
    assert refused(capsys).startswith(f"run/schedule.jsonl:2: {says}")


@pytest.mark.parametrize("command", ["replay", "shrink"])
def test_a_schedule_that_is_lost_is_not_blamed_on_the_campaign(
    run: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    instead = "  -> restore it, or play the campaign file: kcontroller replay FILE --seed N\n"
    (run / "schedule.jsonl").write_text("")
    said = refused(capsys, command)
    assert said == f"run/schedule.jsonl: is empty, and the run had 1 actions\n{instead}"
    (run / "schedule.jsonl").unlink()
    assert refused(capsys, command) == f"run/schedule.jsonl: cannot be read: No such file or directory\n{instead}"


def test_what_the_run_says_of_its_options_is_not_called_an_option(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for changed, says in [
        ({"mutant": "KAFKA-0"}, "run/run.json: `mutant`: there is no mutant 'KAFKA-0'"),
        ({"noop_fault": "kill"}, "run/run.json: `noop_fault`: "),
        ({"selectors": {"offline": "oflfine"}}, "run/run.json: selectors.offline: there is no leader selector"),
        ({"assignment": "stripped"}, "run/run.json: `assignment`: there is no assignment strategy 'stripped'"),
        ({"zookeeper_image": "zookeeper:3.9"}, "run/run.json: `zookeeper_image`: simulated time has no containers\n"),
        ({"backend": "real"}, "run/run.json: `backend`: there is no backend 'real'\n"),
        ({"seed": -1}, "run/run.json: `seed` is -1, which no run writes\n"),
        ({"mutant": []}, "run/run.json: `mutant` is [], which no run writes\n"),
        ({"assignment": None}, "run/run.json: `assignment` is null, which no run writes\n"),
        ({"plugins": [3]}, "run/run.json: `plugins` is [3], which no run writes\n"),
    ]:
        before = (run / "run.json").read_text()
        change(run / "run.json", **changed)
        said = refused(capsys)
        (run / "run.json").write_text(before)
        assert said.startswith(says)
        assert "--" not in said


@pytest.mark.parametrize("command", ["replay", "shrink"])
def test_a_path_that_cannot_be_looked_at_is_named(capsys: pytest.CaptureFixture[str], command: str) -> None:
    """So is one in a folder that must not be entered."""
    assert main([command, "x" * 300]) == 2
    assert "cannot be read: File name too long" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["replay", "shrink"])
def test_another_release_than_the_runs_is_refused(
    run: Path, capsys: pytest.CaptureFixture[str], command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RELEASE_VARIABLE, "3.9.1")
    change(run / "run.json", backend="kafka", versions={"kafka": "2.0.1"})
    assert refused(capsys, command) == (
        f"run/run.json: `versions.kafka`: the run had 2.0.1, and ${RELEASE_VARIABLE} is 3.9.1\n"
        f"  -> unset {RELEASE_VARIABLE}, or play the campaign file with it: kcontroller campaign run FILE\n"
    )
    change(run / "run.json", versions={})
    assert refused(capsys, command) == "run/run.json: `versions.kafka`: is missing\n"


def test_what_its_nodes_image_is_made_from_is_chosen_too(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another base may have another Python, C library or zlib."""
    change(run / "run.json", backend="docker", versions={"node base": "one:1"})
    monkeypatch.setenv(BASE_VARIABLE, "two:2")
    assert f"`versions.node base`: the run had one:1, and ${BASE_VARIABLE} is two:2" in refused(capsys)
    monkeypatch.delenv(BASE_VARIABLE)
    _, options, _ = original_run(run, Path("out"))
    assert base() == "one:1"
    monkeypatch.delenv(BASE_VARIABLE)
    change(run / "run.json", versions={"node base": "python:3.99-slim"})
    original_run(run, Path("out"))
    assert base() == BASE, "the default goes with the Python that plays"
    monkeypatch.setenv(BASE_VARIABLE, "one:1")
    assert run_line("f.toml", [1], options, backend=backends.DEFAULT).startswith(f"{BASE_VARIABLE}=one:1 kcontroller ")


def test_a_program_is_started_where_it_was_started_then(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There may be another one of that name where we are now."""
    for there in ("then", "run"):
        (tmp_path / there).mkdir(exist_ok=True)
        (tmp_path / there / "serve.py").write_text("")
    system = '[system]\ncommand = "{python} serve.py {zk}"\ndirectory = "run"\n'
    text = QUIET.replace('[[topics]]\nname = "t"\n', system).replace(
        'kind = "pause"', 'kind = "pause"\ntarget = "random"'
    )
    (run / "campaign.toml").write_text(text)
    change(run / "run.json", backend="process", versions={"toxiproxy": "embedded"})
    planned, _, _ = original_run(run, Path("out"))
    assert planned.campaign.program is not None
    assert planned.campaign.program.cwd == run.absolute(), "as before runs said it"
    change(run / "run.json", system={"directory": str(tmp_path / "then")})
    planned, options, _ = original_run(run, Path("out"))
    assert planned.campaign.program is not None
    assert planned.campaign.program.cwd == tmp_path / "then"
    assert options.assignment is None, "which is for nodes of ours"
    change(run / "run.json", system={"directory": str(tmp_path / "gone")})
    capsys.readouterr()
    planned, _, _ = original_run(run, Path("out"))
    assert planned.campaign.program is not None
    assert planned.campaign.program.cwd == run.absolute(), "it is a run of another machine"
    assert (
        f"run/run.json: the program was started in {tmp_path / 'gone'}, which is not here\n" in capsys.readouterr().err
    )


@pytest.mark.parametrize("now", ["", "2.0.1"])
def test_the_release_of_the_run_is_chosen_and_said_in_what_is_to_be_typed(
    run: Path, now: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RELEASE_VARIABLE, now)
    change(run / "run.json", backend="kafka", versions={"kafka": "2.0.1"})
    _, options, _ = original_run(run, Path("out"))
    assert chosen_release() == "2.0.1"
    play = "kcontroller campaign run f.toml --seeds 1,2"
    line = run_line("f.toml", [1, 2], options, backend=backends.DEFAULT)
    assert line == f"{RELEASE_VARIABLE}=2.0.1 {play} --backend kafka --assignment striped"
    assert run_line("f.toml", [1, 2], Options(), backend=backends.DEFAULT) == play, "no nodes of it there"


@pytest.mark.parametrize(
    ("verdicts", "says"),
    [
        ("{}", "schema null is not known here\n"),
        ('{"schema": 2, "overall": "violated", "invariants": []}', "schema 2 is not known here\n"),
        ('{"schema": 1, "overall": "violated"}', "is not what a judged run has\n"),
        ('{"schema": 1, "overall": "violated", "invariants": [{}]}', "is not what a judged run has\n"),
        ('{"schema": 1, "overall": "violated", "invariants": []}', "is not what a judged run has\n"),
        ('{"schema": 1, "overall": "fine", "invariants": []}', "is not what a judged run has\n"),
        ("", "cannot be read: it is no JSON: Expecting value: line 1 column 1 (char 0)\n"),
    ],
)
@pytest.mark.parametrize("command", ["replay", "shrink"])
def test_verdicts_that_say_nothing_are_compared_with_nothing(
    run: Path, capsys: pytest.CaptureFixture[str], command: str, verdicts: str, says: str
) -> None:
    (run / "verdicts.json").write_text(verdicts)
    hint = "  -> replay the run without this file: nothing is compared then\n"
    assert refused(capsys, command) == f"run/verdicts.json: {says}{hint}"


def test_a_run_without_verdicts_is_replayed_and_not_shrunk(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "verdicts.json").unlink()
    change(run / "run.json", verdict="violated")
    assert refused(capsys, "shrink") == (
        "run: it has no verdicts.json: nobody knows what it violates\n"
        "  -> replay it first, and shrink that run: kcontroller replay run\n"
    )
    assert main(["replay", "run"]) == 0
    said = capsys.readouterr()
    assert "run: it has no verdicts.json: what comes of a replay is compared with nothing\n" in said.err
    assert "came back" not in said.out and "differs" not in said.out
    assert main(["replay", "run", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert (value["original"], value["came_back"], value["differences"]) == (None, None, [])
