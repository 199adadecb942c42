"""Which run directories a report finds, and what it says of damage, without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcontroller_reports.scan import find_runs
from pytest_kcontroller.errors import UsageError

EVENT = '{"writer":"engine","seq":0,"t_us":5,"kind":"run.started"}\n'


def run_with(root: Path, **history: str) -> Path:
    folder = root / "run" / "history"
    folder.mkdir(parents=True)
    (root / "run" / "run.json").write_text("{}")
    for name, content in history.items():
        (folder / f"{name}.jsonl").write_text(content)
    return folder


def test_a_half_history_line_is_named_with_file_and_line(tmp_path: Path) -> None:
    history = run_with(tmp_path, engine=EVENT, node=f'{EVENT}{{"se')
    found = find_runs([tmp_path])
    assert len(found.places) == 1
    (remark,) = found.remarks
    why = "its writer was killed, or is still writing"
    assert remark == f"{history / 'node.jsonl'}:2: the last line is cut in half ({why}); it counts as not there"


@pytest.mark.parametrize(
    "odd", ["[1,2]", "", "null", '{"writer":"a","seq":0,"t_us":"late","kind":"x"}', '{"seq":0,"t_us":1}', "\ud7ff"]
)
def test_a_line_that_is_no_event_is_named_with_file_and_line(tmp_path: Path, odd: str) -> None:
    history = run_with(tmp_path, engine=f"{EVENT}{odd}\n{EVENT}{odd}\n")
    assert find_runs([tmp_path]).remarks == (
        f"{history / 'engine.jsonl'}:2: is no history event, nor is one more line",
    )


def test_an_event_is_told_however_its_line_is_written(tmp_path: Path) -> None:
    run_with(tmp_path, engine='{"kind": "x", "t_us": 5, "seq": 0, "writer": "a\\u00e9"}\n')
    assert find_runs([tmp_path]).remarks == ()


def test_a_run_without_a_history_is_named(tmp_path: Path) -> None:
    history = run_with(tmp_path)
    (remark,) = find_runs([tmp_path]).remarks
    assert remark.startswith(f"{history}: there is no history in it")


def test_a_file_that_cannot_be_read_is_named_and_the_run_counts(tmp_path: Path) -> None:
    history = run_with(tmp_path, engine=EVENT)
    (history / "node-1.jsonl").mkdir()
    (place,) = find_runs([tmp_path]).places
    assert place.trouble == "history/node-1.jsonl cannot be read (Is a directory)"


@pytest.mark.parametrize(
    ("name", "why"), [("missing", "there is no such directory"), ("file", "this is not a directory")]
)
def test_a_name_of_no_directory_is_a_mistake_whatever_else_is_given(tmp_path: Path, name: str, why: str) -> None:
    run_with(tmp_path, engine=EVENT)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=why):
        find_runs([tmp_path / "run", tmp_path / name])


def test_links_to_directories_are_followed_and_each_run_counts_once_by_its_own_name(tmp_path: Path) -> None:
    top, elsewhere = tmp_path / "all" / "runs", tmp_path / "elsewhere"
    for folder in (top / "here", elsewhere, tmp_path / "all" / "beside"):
        run_with(folder, engine=EVENT)
    (top / "a-latest").symlink_to(top / "here" / "run")
    (top / "shard").symlink_to(elsewhere)
    (elsewhere / "loop").symlink_to(elsewhere)
    (top / "up").symlink_to("..")  # what is beside the given directory was not given
    found = find_runs([top])
    assert [place.shown for place in found.places] == [str(top / "here/run"), str(top / "shard/run")]
    assert found.remarks == ()
