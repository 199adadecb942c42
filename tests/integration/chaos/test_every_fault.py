"""Every fault of the catalogue: it happens, and what does not happen is not observed (`--noop-fault`).

A kind or a mode that is new is tested by being offered. One that needs something to happen (a write, a request) finds it
in the campaign below; one that is told apart from nothing by its parameters is given them in GIVEN.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from kcontroller_chaos import backends
from kcontroller_chaos.catalogue import load_catalogue
from kcontroller_chaos.faults import Fault
from pytest_kcontroller.cli import main

SIMULATED = backends.simulated()
STOCK = [one for kind in load_catalogue(installed=False).kinds.values() for one in kind.classes]
"""A class for each mode."""
HERE = [one for one in STOCK if not set(one.needs) & set(SIMULATED.lacks)]
GIVEN: Mapping[str, str] = {
    "drop_reply": 'request = "UpdateMetadata"',
    "hold_request": 'request = "UpdateMetadata"\nduration_s = 1',
    "pause": "duration_s = 2.5",
}
"""KIND[:MODE] -> lines of its table, in the place of `duration_s = 1`."""

CAMPAIGN = """
[campaign]
name = "one"
duration_s = 8

[cluster]
nodes = 5
zookeeper = {servers}
session_timeout_ms = 1000

[[topics]]
name = "orders"
partitions = 3
replication_factor = 3

[[workload]]            # the controller writes
kind = "admin"
action = "create_topic"
at_s = 1.5
topic = "late"

[[faults]]
kind = "{kind}"
{mode}
target = "{target}"
at_s = 1
{more}
"""


def name_of(fault: type[Fault]) -> str:
    return fault.kind if fault.mode is None else f"{fault.kind}:{fault.mode}"


def written(fault: type[Fault], directory: Path) -> Path:
    mode = "" if fault.mode is None else f'mode = "{fault.mode}"'
    more = GIVEN.get(name_of(fault), GIVEN.get(fault.kind, "duration_s = 1"))
    target = "zookeeper" if fault.on_zookeeper else "controller"
    servers = 1 if fault.least_zookeepers == 1 else 3
    text = CAMPAIGN.format(kind=fault.kind, mode=mode, target=target, servers=servers, more=more)
    file = directory / "one.toml"
    file.write_text(text)
    return file


def played(fault: type[Fault], directory: Path, *more: str) -> int:
    file = written(fault, directory)
    out = str(directory / "runs")
    return main(["campaign", "run", str(file), "--backend", SIMULATED.name, "--seeds", "1", "--out", out, *more])


@pytest.mark.parametrize("fault", HERE, ids=name_of)
def test_it_is_injected_observed_and_healed(
    fault: type[Fault], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = played(fault, tmp_path)
    said = capsys.readouterr()
    assert status == 0, said.out + said.err
    assert "faults 1 of 1" in said.out


@pytest.mark.parametrize("fault", HERE, ids=name_of)
def test_one_that_does_nothing_is_not_observed_and_named(
    fault: type[Fault], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = played(fault, tmp_path, "--noop-fault", name_of(fault))
    said = capsys.readouterr()
    assert status == 6, said.out + said.err
    assert f"not observed: fault-0 ({name_of(fault)})" in said.out


@pytest.mark.parametrize("fault", [one for one in STOCK if one not in HERE], ids=name_of)
def test_one_that_cannot_be_here_is_refused_before_anything_starts(
    fault: type[Fault], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lacking = next(capability for capability in fault.needs if capability in SIMULATED.lacks)
    assert played(fault, tmp_path) == 2
    assert f"the backend {SIMULATED.name} has no {lacking.name}" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("mode", ["control", "zookeeper"])
def test_jitter_far_above_the_delay_has_the_time_that_it_takes(
    mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jitter = "duration_s = 1\ndelay_ms = 1\njitter_ms = 5000"  # the session is long, so that nothing else happens
    assert played_with("latency", mode, jitter, 30_000, tmp_path) == 0, capsys.readouterr()


@pytest.mark.parametrize(
    ("kind", "mode", "more", "session_ms"),
    [("zombie_session", "", "", 3000), ("flap", "zookeeper", "down_ms = 6000\nup_ms = 6000", 30_000)],
)
def test_who_waits_for_something_longer_than_for_an_answer_is_not_given_up(
    kind: str, mode: str, more: str, session_ms: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert played_with(kind, mode, more, session_ms, tmp_path) == 0, capsys.readouterr()


def played_with(kind: str, mode: str, more: str, session_ms: int, directory: Path) -> int:
    mode = mode and f'mode = "{mode}"'
    text = CAMPAIGN.format(kind=kind, mode=mode, target="controller", servers=1, more=more)
    file = directory / "one.toml"
    file.write_text(text.replace("timeout_ms = 1000", f"timeout_ms = {session_ms}"))
    out = str(directory / "runs")
    return main(["campaign", "run", str(file), "--backend", SIMULATED.name, "--seeds", "1", "--out", out])
