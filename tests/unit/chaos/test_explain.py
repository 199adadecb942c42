"""A failure in words: what others wrote reaches no terminal raw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kcontroller_chaos.history.clocks import WallTimes
from kcontroller_chaos.history.read import History
from kcontroller_chaos.judge.explain import failures, logs, reason
from kcontroller_chaos.judge.timeline import timeline
from kcontroller_chaos.judge.verdict import verdicts
from pytest_kcontroller.runtime.real import RunStart
from tests.tools.histories import GOOD, engine

ODD = "raw \x1b[31m \u202e\nand more"


def test_what_a_fault_raised_is_one_printable_line() -> None:
    fault = {"id": "f", "kind": "odd", "mode": None, "node": 0, "status": "not-applied", "why": f"not-applied: {ODD}"}
    assert failures({"faults": [fault]}, []) == "fault f (odd): not-applied: raw \\x1b[31m \\u202e\\x0aand more"


def test_a_fault_that_nobody_observed_is_told_with_its_window_although_it_was_healed() -> None:
    of_it = {"fault": "f", "fault_kind": "kill", "node": 1}
    steps = ("asked", "applied", "not-observed", "healed")
    why = {"why": "no evidence within 5 s"}
    events = [engine(f"fault.{step}", **of_it, **(why if step == "not-observed" else {})) for step in steps]
    history = History((*GOOD, *events))
    value = verdicts(history)
    assert value["faults"][0]["status"] == "healed"
    text = failures(value, timeline(history, value)["windows"])
    assert text.startswith("fault f (kill): not-observed: no evidence within 5 s\n  what happened around it:\n")
    assert "\n> " in text


def test_a_fault_that_was_skipped_is_no_failure() -> None:
    fault = {"id": "f", "kind": "hold", "mode": None, "node": 0, "status": "skipped", "why": "skipped: nothing to hit"}
    assert failures({"faults": [fault]}, []) == ""


def test_the_lines_of_a_log_stay_lines_and_become_printable(tmp_path: Path) -> None:
    (tmp_path / "node-0.log").write_text(f"Traceback\n{ODD}\n", encoding="utf-8")
    ((title, text),) = logs(tmp_path, WallTimes(RunStart.now()), 0, 1)
    assert title == "node-0.log: 3 lines of that time"
    assert text == "Traceback\nraw \\x1b[31m \\u202e\nand more"


def test_the_lines_of_a_log_are_found_by_the_run_s_own_time_whatever_the_clock_did(tmp_path: Path) -> None:
    start = RunStart(10**18, 0)  # 2001-09-09 01:46:40
    lines = [f"2001-09-09 01:46:{second},000 {text}" for second, text in ((40, "early"), (44, "old"), (42, "new"))]
    (tmp_path / "node-0.log").write_text("\n".join(lines), encoding="utf-8")
    step = {"step_us": -3_000_000, "since_us": 4_000_000, "until_us": 4_050_000, "after_zxid": 1, "until_zxid": 2}
    times = WallTimes(start, [step])
    assert [text for _, text in logs(tmp_path, times, 3_900_000, 4_100_000)] == [lines[1]]
    assert [text for _, text in logs(tmp_path, times, 4_900_000, 5_100_000)] == [lines[2]]


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ({"overall": "held"}, ""),
        (
            {
                "overall": "violated",
                "invariants": [
                    {"name": "a", "verdict": "held"},
                    {"name": "b", "verdict": "violated", "seen": {"epoch": 2}},
                    {"name": "c", "verdict": "violated", "seen": None},
                ],
            },
            "b is violated, seen: epoch 2 (and 1 more)",
        ),
        (
            {
                "overall": "environment",
                "parts": {
                    "injected": {"verdict": "held", "detail": ""},
                    "observed": {"verdict": "environment", "detail": "kill-1: no evidence\nand more"},
                },
            },
            "environment: kill-1: no evidence\\x0aand more",
        ),
        ({"overall": "unknown", "parts": {}}, "unknown"),
        (
            {
                "overall": "violated",
                "unexpected": "violated",
                "expected": [],
                "invariants": [
                    {"name": "a", "verdict": "violated", "known": "ISSUE-1, until 2030-01-01"},
                    {"name": "b", "verdict": "violated", "known": ""},
                ],
            },
            "b is violated (and 1 more)",
        ),
        (
            {
                "overall": "violated",
                "unexpected": "environment",
                "expected": [],
                "invariants": [{"name": "a", "verdict": "violated", "known": "ISSUE-1, until 2030-01-01"}],
                "parts": {"observed": {"verdict": "environment", "detail": "kill-1: no evidence"}},
            },
            "environment: kill-1: no evidence",
        ),
    ],
)
def test_the_reason_of_a_run_is_one_line(verdicts: dict[str, Any], said: str) -> None:
    assert reason(verdicts) == said
