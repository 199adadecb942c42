"""What goes wrong around Spark is one sentence about the environment, whatever its error says of itself."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from kcontroller_reports.session import _check_room, _failures_of_spark
from pytest_kcontroller.errors import EnvironmentFailure, UsageError


class GoneError(Py4JError):  # type: ignore[misc]
    """As Py4JJavaError: its text is asked of the JVM."""

    def __str__(self) -> str:
        raise ConnectionRefusedError("the JVM is gone")


@pytest.mark.parametrize(
    "failed", [GoneError("x"), Py4JError("An error occurred\nat Java"), ConnectionResetError("reset")]
)
def test_a_failure_of_spark_is_one_sentence_of_status_6(tmp_path: Path, failed: Exception) -> None:
    (tmp_path / "spark.log").write_text("java.lang.OutOfMemoryError\n")
    with (
        pytest.raises(EnvironmentFailure, match="Spark failed while it made the report") as said,
        _failures_of_spark(tmp_path / "spark.log"),
    ):
        raise failed
    assert (said.value.exit_status, "OutOfMemoryError" in str(said.value)) == (6, True)
    assert "at Java" not in said.value.what


def test_what_is_not_of_spark_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(UsageError), _failures_of_spark(tmp_path / "spark.log"):
        raise UsageError("x")


def test_without_room_for_temporary_files_spark_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _check_room(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=12 * 1024))
    with pytest.raises(EnvironmentFailure, match="Spark needs 64 MiB for temporary files, and 12 KiB are left"):
        _check_room(tmp_path)
