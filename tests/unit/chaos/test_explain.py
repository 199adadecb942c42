"""A failure in words: what others wrote reaches no terminal raw."""

from __future__ import annotations

from pathlib import Path

from kcontroller_chaos.judge.explain import failures, logs
from pytest_kcontroller.runtime.real import RunStart

ODD = "raw \x1b[31m \u202e\nand more"


def test_what_a_fault_raised_is_one_printable_line() -> None:
    fault = {"id": "f", "kind": "odd", "mode": None, "node": 0, "status": "not-applied", "why": f"not-applied: {ODD}"}
    assert failures({"faults": [fault]}, []) == "fault f (odd): not-applied: raw \\x1b[31m \\u202e\\x0aand more"


def test_the_lines_of_a_log_stay_lines_and_become_printable(tmp_path: Path) -> None:
    (tmp_path / "node-0.log").write_text(f"Traceback\n{ODD}\n", encoding="utf-8")
    ((title, text),) = logs(tmp_path, RunStart.now(), 0, 1)
    assert title == "node-0.log: 3 lines of that time"
    assert text == "Traceback\nraw \\x1b[31m \\u202e\nand more"
