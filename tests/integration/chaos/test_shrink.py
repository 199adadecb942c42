"""`kcontroller shrink`: a run with more than it needs, in simulated time and on real nodes."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_kcontroller.cluster.timing import scaled
from tests.tools.programs import run_kcontroller

ROOT = Path(__file__).parents[3]
ZOMBIE = ROOT / "chaos" / "campaigns" / "zombie.toml"
SCHEMA = json.loads((ROOT / "docs/cli.schema.json").read_text())
MORE = """

[[workload]]
kind = "admin"
action = "create_topic"
at_s = 0.5
topic = "for-nothing"

[[faults]]
id = "for-nothing"
kind = "latency"
target = "others"
at_s = 5
duration_s = 1
"""

JOINS = """
[campaign]
name = "joins"
duration_s = 1

[cluster]
nodes = 1

[[topics]]
name = "orders"

[[workload]]
kind = "admin"
action = "create_topic"
at_s = 0.2
topic = "for-nothing"

[[workload]]
kind = "admin"
action = "add_node"
at_s = 0.8

[[invariants]]                       # a node that joins registers itself, and another one is the controller: always violated
kind = "only_owner_writes"
path = "/controller"
written_path = "/brokers/ids/1"
"""


def test_what_a_run_does_not_need_is_left_out_and_what_is_left_is_a_campaign(tmp_path: Path) -> None:
    def kcontroller(*arguments: object) -> tuple[int, str]:
        done = run_kcontroller(*arguments, timeout=scaled(120), cwd=tmp_path)
        return done.returncode, done.stdout + done.stderr

    (tmp_path / "zombie.toml").write_text(ZOMBIE.read_text() + MORE)
    mutant = ("--backend", "sim", "--mutant", "KAFKA-6082")
    status, said = kcontroller("campaign", "run", "zombie.toml", "--seeds", 3, *mutant)
    assert status == 1, said
    (run,) = (tmp_path / "runs").glob("*/*")
    status, said = kcontroller("shrink", run, "--out", "small", "-o", "small.toml")
    assert status == 0, said
    assert "6 faults and actions, which violate no-stale-epoch-write" in said
    assert "4 of 6 violate it" in said
    assert "to play it: kcontroller campaign run small.toml --seeds 3 --backend sim --mutant KAFKA-6082\n" in said
    (small,) = (tmp_path / "small").glob("*/*")
    for left in (small / "schedule.jsonl", tmp_path / "small.toml"):
        assert "depose" in left.read_text() and "for-nothing" not in left.read_text()
    status, said = kcontroller("campaign", "run", "small.toml", *mutant)
    assert status == 1 and "no-stale-epoch-write" in said, said

    for output, trouble in (
        ("small.toml", "is there already"),
        ("none/small.toml", "none: there is no such directory"),
        (f"{'x' * 300}.toml", "cannot be written: File name too long"),
    ):
        status, said = kcontroller("shrink", run, "-o", output)
        assert status == 2 and trouble in said, said
        assert "faults and actions" not in said, "nothing is played before"

    facts = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**facts, "mutant": None}))
    status, said = kcontroller("shrink", run, "-o", "nothing.toml")
    assert status == 4 and "the violation did not come back" in said, said
    assert not (tmp_path / "nothing.toml").exists()


HEAVY = """
from pytest_kcontroller.hookspecs import hookimpl


class Heavy:
    name = "heavy"

    def __init__(self, weight=1):
        self.weight = weight

    def select(self, partition, reason):
        return None


@hookimpl
def kcontroller_leader_selectors():
    return [Heavy]
"""


def test_the_line_that_plays_what_is_left_names_what_is_not_in_the_file(tmp_path: Path) -> None:
    """A table of the file has no form on the command line, and the file has it."""

    def kcontroller(*arguments: object) -> tuple[int, str]:
        surroundings = {**os.environ, "PYTHONPATH": str(tmp_path)}
        done = run_kcontroller(*arguments, timeout=scaled(120), cwd=tmp_path, env=surroundings)
        return done.returncode, done.stdout + done.stderr

    (tmp_path / "heavy.py").write_text(HEAVY)
    table = 'selectors = { preferred = { name = "heavy", weight = 2 } }'
    (tmp_path / "zombie.toml").write_text(ZOMBIE.read_text().replace("nodes = 3\n", f"nodes = 3\n{table}\n"))
    given = ("--backend", "sim", "--mutant", "KAFKA-6082", "--selector", "offline=noop", "--plugin", "heavy")
    status, said = kcontroller("campaign", "run", "zombie.toml", "--seeds", 3, *given)
    assert status == 1, said
    (run,) = (tmp_path / "runs").glob("*/*")
    status, said = kcontroller("shrink", run, "--out", "small", "-o", "small.toml")
    assert status == 0, said
    (line,) = (line.partition("to play it: ")[2] for line in said.splitlines() if "to play it: " in line)
    assert line == f"kcontroller campaign run small.toml --seeds 3 {shlex.join(given)}"
    status, said = kcontroller(*shlex.split(line)[1:])
    assert status == 1 and "no-stale-epoch-write" in said, said

    facts = json.loads((run / "run.json").read_text())
    edited = {**facts["selectors"], "reassigned": {"name": "heavy", "weight": 3}}
    (run / "run.json").write_text(json.dumps({**facts, "selectors": edited}))
    status, said = kcontroller("shrink", run, "--out", "small", "-o", "edited.toml")
    assert status == 0 and "to play it" not in said, said
    assert "no option says the table of 'heavy' that its run had: write it into [cluster] of the file\n" in said


FADING = """
from dataclasses import dataclass
from pathlib import Path
from kcontroller_chaos.checking import SAFETY, Verdict
from kcontroller_chaos.faults import Fault
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.hookspecs import hookimpl

PLAYED = Path(__file__).with_suffix(".played")

@dataclass(frozen=True, kw_only=True)
class Fading(Fault):
    kind = "fading"

    async def inject(self, on):
        with PLAYED.open("a") as plays:
            plays.write("x")

    async def observe(self, on):
        return {}

class Faded(Invariant):
    \"\"\"More than three runs have been played.\"\"\"

    name = "faded"
    kind = SAFETY
    expected = "more"
    source = "a test"

    def check(self, history):
        if any(event["kind"] == "fault.observed" for event in history.events) and PLAYED.stat().st_size <= 3:
            return Verdict.violated(1, seen="few", where="here", witness={"it": "is"})
        return Verdict.of(1)

@hookimpl
def kcontroller_faults():
    return [Fading]

@hookimpl
def kcontroller_invariants():
    return [Faded]
"""


@pytest.mark.parametrize(
    ("most", "plays", "said"),
    [(1, 4, "with 1 seed faded"), (4, 5, "with 2 seeds faded"), (500, 24, "with 21 seeds faded")],
)
def test_after_its_limits_the_file_is_played_once(tmp_path: Path, most: int, plays: int, said: str) -> None:
    """It is violated by the run, by its schedule once more, and by the run that is kept; by the file with no seed."""

    def kcontroller(*arguments: object) -> tuple[int, str]:
        surroundings = {**os.environ, "PYTHONPATH": str(tmp_path)}
        done = run_kcontroller(*arguments, timeout=scaled(120), cwd=tmp_path, env=surroundings)
        return done.returncode, done.stdout + done.stderr

    (tmp_path / "fading.py").write_text(FADING)
    fading = '[campaign]\nname = "fading"\nduration_s = 2\n[[faults]]\nkind = "fading"\nat_s = 1\n'
    (tmp_path / "fading.toml").write_text(fading)
    status, output = kcontroller(
        "campaign", "run", "fading.toml", "--seeds", 30, "--backend", "sim", "--plugin", "fading"
    )
    assert status == 1, output
    (run,) = (tmp_path / "runs").glob("*/*")
    status, output = kcontroller("shrink", run, "--max-runs", most)
    assert status == 0 and said in output, output
    assert (f"not violated (--max-runs {most})" in output) == (most < 500), output
    assert (tmp_path / "fading.played").stat().st_size == plays


def test_on_real_nodes_what_violates_nothing_is_played_more_than_once(tmp_path: Path) -> None:
    def kcontroller(*arguments: object) -> tuple[dict[str, Any], str]:
        done = run_kcontroller(*arguments, "--json", timeout=scaled(300), cwd=tmp_path)
        value: dict[str, Any] = json.loads(done.stdout)
        jsonschema.validate(value, SCHEMA)
        assert value["status"] == done.returncode, done.stderr
        return value, done.stderr

    (tmp_path / "joins.toml").write_text(JOINS)
    value, said = kcontroller("campaign", "run", "joins.toml", "--seeds", 1)
    assert value["status"] == 1, said
    value, said = kcontroller("shrink", value["runs"][0]["directory"], "--plays", 2, "-o", "small.toml")
    assert value["status"] == 0, said
    untested, violated = ["unknown", "unknown"], ["violated"]
    assert [(one["actions"], one["verdicts"]) for one in value["tried"]] == [
        (2, violated),
        (1, violated),
        (0, untested),
    ]
    assert "1 of 2 violate it, in play 1 of 2, after 2 runs  runs/joins/" in said
    assert "0 of 2 do not, in 2 plays (unknown, unknown), after 4 runs\n" in said
    assert [action["kind"] for action in value["left"]] == ["add_node"]
    assert [entry["name"] for entry in value["run"]["violated"]] == [value["invariant"]]
    played = (tmp_path / value["run"]["directory"] / "schedule.jsonl").read_text()
    assert "add_node" in played and "for-nothing" not in played
    assert value["again"] == "kcontroller campaign run small.toml --seeds 1"
    assert "for-nothing" not in (tmp_path / "small.toml").read_text()
