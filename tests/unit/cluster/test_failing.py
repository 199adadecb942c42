"""A directory that fails for real, and what was in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_kcontroller.cluster.process import failing
from pytest_kcontroller.errors import EnvironmentFailure


@pytest.fixture
def failed(tmp_path: Path) -> Path:
    path = tmp_path / "log-dir-0"
    path.mkdir()
    (path / "file").write_text("x")
    failing.fail(path)
    return path


def made_anew(path: Path, monkeypatch: pytest.MonkeyPatch, *, times: int) -> None:
    """A process makes it, and writes there, just before it is put back."""
    clear, seen = failing._clear, []

    def _clear(cleared: Path) -> None:
        clear(cleared)
        seen.append(cleared)
        if len(seen) <= times:
            path.mkdir()
            (path / "other").write_text("y")

    monkeypatch.setattr(failing, "_clear", _clear)


def test_it_is_put_back_although_somebody_writes_there(failed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_anew(failed, monkeypatch, times=3)
    failing.mend(failed)
    assert [file.name for file in failed.iterdir()] == ["file"]
    failing.mend(failed)


def test_who_never_stops_to_write_there_is_named(failed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_anew(failed, monkeypatch, times=failing.TRIES)
    with pytest.raises(EnvironmentFailure, match=r"log-dir-0: cannot be mended: Directory not empty"):
        failing.mend(failed)
