"""Where a report may be written and what it may read, for somebody who may not do everything; how it gets there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcontroller_reports.report import _replace, check_output
from kcontroller_reports.scan import find_runs
from pytest_kcontroller.errors import UsageError

PARTS = ("junit.xml", "report.html", "report.md", "summary.json")
NOBODY = 65534


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that is ours, while we are nobody: root may do everything."""
    with tempfile.TemporaryDirectory() as folder:
        root = os.geteuid() == 0
        if root:
            os.chown(folder, NOBODY, -1)
            os.setresuid(NOBODY, NOBODY, 0)
        try:
            yield Path(folder)
        finally:
            if root:
                os.setresuid(0, 0, 0)
            for path, _, _ in os.walk(folder):
                Path(path).chmod(0o700)


def closed(folder: Path, mode: int = 0) -> Path:
    folder.chmod(mode)
    return folder


def run_in(folder: Path) -> Path:
    (folder / "run" / "history").mkdir(parents=True)
    (folder / "run" / "run.json").touch()
    return folder / "run"


# --- to read --------------------------------------------------------------------------------------------------------


def test_a_directory_that_cannot_be_read_is_a_mistake(place: Path) -> None:
    run_in(place / "runs")
    closed(place / "runs")
    for given in (place / "runs", place / "runs" / "run"):
        with pytest.raises(UsageError, match=r"this directory cannot be read \(Permission denied\)") as said:
            find_runs([given])
        assert said.value.where == str(given)


@pytest.mark.parametrize("mode", [0o000, 0o400])
def test_below_the_given_one_it_is_left_out_with_a_sentence(place: Path, mode: int) -> None:
    run_in(place / "runs")
    run_in(place / "runs" / "closed" / "more")
    folder = closed(place / "runs" / "closed", mode)
    found = find_runs([place / "runs"])
    assert [Path(one.shown).name for one in found.places] == ["run"]
    left_out = folder if mode == 0 else folder / "more"
    assert f"{left_out}: cannot be read (Permission denied); it was left out" in found.remarks


@pytest.mark.parametrize("mode", [0o000, 0o300])
def test_a_history_that_cannot_be_read_is_not_called_gone(place: Path, mode: int) -> None:
    closed(run_in(place) / "history", mode)
    found = find_runs([place])
    assert [one.trouble for one in found.places] == ["history cannot be read (Permission denied)"]
    assert found.remarks == ()


# --- to write -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "mode", "why"),
    [
        ("out/report", 0o000, "it cannot be looked into"),
        ("out", 0o300, "it cannot be looked into"),
        ("out", 0o500, "nothing can be written there"),
        ("out/report", 0o500, "nothing can be written there"),
    ],
)
def test_a_place_without_permission_is_a_mistake_before_any_work(place: Path, name: str, mode: int, why: str) -> None:
    (place / "out").mkdir(mode=mode)
    with pytest.raises(UsageError, match=rf"{why} \(Permission denied\)"):
        check_output(place / name)


def test_the_tables_of_somebody_else_are_no_older_report_of_ours(place: Path) -> None:
    (place / "tables").mkdir(mode=0o500)
    with pytest.raises(UsageError, match="tables: this part of an older report is somebody else's"):
        check_output(place)


def test_a_directory_of_ours_in_one_of_somebody_elses_will_do(place: Path) -> None:
    (place / "theirs" / "report").mkdir(parents=True)
    closed(place / "theirs", 0o500)
    check_output(place / "theirs" / "report")


def test_a_link_to_a_directory_will_do_and_one_to_nothing_not(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    check_output(tmp_path / "link")
    (tmp_path / "real").rmdir()
    with pytest.raises(UsageError, match="link: not a directory, nor a link to one"):
        check_output(tmp_path / "link")


# --- the change from the older to the newer one ----------------------------------------------------------------------


def a_report(folder: Path, text: str) -> Path:
    (folder / "tables").mkdir(parents=True)
    for name in (*PARTS, "tables/runs.parquet"):
        (folder / name).write_text(text)
    return folder


def texts(folder: Path) -> set[str]:
    return {(folder / name).read_text() for name in (*PARTS, "tables/runs.parquet")}


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("step", range(10))
def test_an_interrupt_at_any_step_leaves_the_older_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int, moved: bool
) -> None:
    out, new = a_report(tmp_path / "out", "older"), a_report(tmp_path / "out" / ".new", "newer")
    rename, done = Path.rename, list[Path]()

    def interrupted(self: Path, target: Path) -> Path:
        done.append(target)
        if len(done) == step + 1:
            if moved:
                rename(self, target)
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _replace(out, new, tmp_path / "out" / ".older")
    assert texts(out) == {"older"}


def test_a_change_that_is_refused_is_a_sentence_and_leaves_the_older_report(tmp_path: Path) -> None:
    out, new = a_report(tmp_path / "out", "older"), a_report(tmp_path / "out" / ".new", "newer")
    (new / "report.md").unlink()
    with pytest.raises(UsageError, match="out: nothing can be written there"):
        _replace(out, new, tmp_path / "out" / ".older")
    assert texts(out) == {"older"}


def test_the_newer_report_is_all_there_is_afterwards(tmp_path: Path) -> None:
    out, new = tmp_path / "out", a_report(tmp_path / "new", "newer")
    _replace(out, new, tmp_path / "older")
    assert (texts(out), new.exists()) == ({"newer"}, False)
