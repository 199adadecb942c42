"""Which run directories a report finds, and what it says of damage, without Spark."""

from __future__ import annotations

from pathlib import Path

from kcontroller_reports.scan import find_runs


def test_a_half_history_line_is_named_with_file_and_line(tmp_path: Path) -> None:
    history = tmp_path / "run" / "history"
    history.mkdir(parents=True)
    (tmp_path / "run" / "run.json").write_text("{}")
    (history / "engine.jsonl").write_text('{"seq":0}\n')
    (history / "node-0.jsonl").write_text('{"seq":0}\n{"se')
    found = find_runs([tmp_path])
    assert len(found.places) == 1
    (remark,) = found.remarks
    assert remark.startswith(f"{history / 'node-0.jsonl'}:2:")
