"""A fault that need not happen waits for the one that has its node: drawn ones follow each other, and to see and to heal one
takes longer than was planned for it. Campaigns in simulated time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytest_kcontroller.cluster.timing import scaled
from tests.tools.programs import run_kcontroller

PATIENCE_S = 10
"""Simulated time is not stretched."""
HOLD = 'kind = "hold"\npoint = "controller.before-state-write"'
KILL, LATENCY = 'kind = "kill"', 'kind = "latency"\nmode = "zookeeper"'


def played(folder: Path, *faults: str, duration_s: float, first: str = LATENCY) -> list[dict[str, Any]]:
    """What was said of faults, in its order. Each is of node 1, and all but the `first` are latencies."""
    head = f'[campaign]\nname = "c"\nduration_s = {duration_s}\n[[topics]]\nname = "orders"\nreplication_factor = 3\n'
    tables = [
        f'[[faults]]\n{first if number == 0 else LATENCY}\ntarget = "node:1"\nif_possible = true\n{fault}\n'
        for number, fault in enumerate(faults)
    ]
    (folder / "c.toml").write_text(head + "".join(tables))
    done = run_kcontroller("campaign", "run", "c.toml", "--backend", "sim", cwd=folder, timeout=scaled(120))
    assert done.returncode == 0, done.stdout + done.stderr
    (history,) = folder.glob("runs/c/*/history/engine.jsonl")
    events = [json.loads(line) for line in history.read_text().splitlines()]
    return [event for event in events if event["kind"].startswith("fault.")]


def steps(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["fault"], event["kind"].removeprefix("fault.")) for event in events]


def test_the_second_comes_when_the_first_is_healed(tmp_path: Path) -> None:
    events = played(tmp_path, "at_s = 1\nduration_s = 2", "at_s = 1.5\nduration_s = 0.5", duration_s=6)
    each = ["asked", "applied", "observed", "healed"]
    assert steps(events) == [(fault, step) for fault in ("fault-0", "fault-1") for step in each]


def test_the_second_comes_when_its_node_is_back(tmp_path: Path) -> None:
    """While it is down nobody could say what is in whose hands: it has no session."""
    events = played(tmp_path, "at_s = 1\nduration_s = 2", "at_s = 2\nduration_s = 0.5", duration_s=8, first=KILL)
    each = ["asked", "applied", "observed", "healed"]
    assert steps(events) == [(fault, step) for fault in ("fault-0", "fault-1") for step in each]


def test_one_whose_turn_does_not_come_is_skipped_and_says_how_long_it_waited(tmp_path: Path) -> None:
    long_s = PATIENCE_S + 5
    events = played(tmp_path, f"at_s = 1\nduration_s = {long_s}", "at_s = 2\nduration_s = 1", duration_s=long_s + 3)
    (skipped,) = (event for event in events if event["kind"] == "fault.skipped")
    assert skipped["fault"] == "fault-1"
    assert skipped["why"] == f"node 1 is in the hands of fault-0 (it waited {PATIENCE_S:g} s)"


def test_one_that_lies_in_wait_is_skipped_when_it_is_taken_back(tmp_path: Path) -> None:
    """Nobody has come to it in the time that its observation has; until it is over somebody still could."""
    events = played(tmp_path, "at_s = 1\nduration_s = 8", "at_s = 2\nduration_s = 1", duration_s=10, first=HOLD)
    assert steps([event for event in events if event["fault"] == "fault-0"]) == [
        ("fault-0", step) for step in ("asked", "applied", "skipped")
    ]
    (skipped,) = (event for event in events if event["kind"] == "fault.skipped")
    assert skipped["why"] == "no evidence within 5 s"
    assert skipped["t_us"] >= 9_000_000


def test_one_that_was_to_come_at_a_moment_does_not_wait_until_it_is_over(tmp_path: Path) -> None:
    events = played(tmp_path, "at_s = 1\nduration_s = 4", 'when = "observed:fault-0"\nduration_s = 1', duration_s=7)
    (skipped,) = (event for event in events if event["kind"] == "fault.skipped")
    (healed,) = (event for event in events if event["kind"] == "fault.healed")
    assert (skipped["fault"], skipped["why"]) == ("fault-1", "node 1 is in the hands of fault-0")
    assert skipped["t_us"] < healed["t_us"]
