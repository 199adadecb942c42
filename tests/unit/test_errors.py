"""What can be raised: by whose fault, with which exit status, and under which names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_kcontroller import errors


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (errors.KControllerError, 3),
        (errors.UsageError, 2),
        (errors.MissingExtraError, 2),
        (errors.NotOnThisBackend, 2),
        (errors.EnvironmentFailure, 6),
        (errors.StartError, 6),
    ],
)
def test_an_error_has_the_exit_status_of_whose_fault_it_is(kind: type[errors.KControllerError], status: int) -> None:
    assert kind.exit_status == status


def test_what_a_process_has_printed_is_no_advice(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("no licence\n")
    told: dict[str, Any] = {"phase": "it ended", "seconds": 1, "log": log}
    said = str(errors.StartError("node 1", command="", **told))
    assert said == f"node 1 did not start: it ended (after 1.0 s)\nlast lines of {log}:\n    no licence"
    assert "\n  -> start it by hand: ./it\nlast lines" in str(errors.StartError("node 1", command="./it", **told))


def test_a_failure_says_where_it_is_and_what_to_do() -> None:
    failure = errors.EnvironmentFailure("it did not end", where="node 1", hint="look at its log")
    assert str(failure) == "node 1: it did not end\n  -> look at its log"
