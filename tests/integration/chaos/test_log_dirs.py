"""Campaigns in simulated time on nodes with several log directories: one fails and its node lives, all fail and it halts."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from kcontroller_chaos import backends
from kcontroller_chaos.faults.pause import Pause
from kcontroller_chaos.history.read import History, read_history
from pytest_kcontroller.broker.log_dir import LogDirFailedError, LogDirs
from pytest_kcontroller.cli import main
from pytest_kcontroller.cluster.capabilities import REPORTS
from pytest_kcontroller.cluster.sim.cluster import SimCluster
from pytest_kcontroller.zookeeper.znodes import parse_state_path

SIMULATED = backends.simulated()
CAMPAIGN = """
[campaign]
name = "jbod"
duration_s = 8

[cluster]
nodes = 3
log_dirs = 2
session_timeout_ms = 1000
config = { "replica.high.watermark.checkpoint.interval.ms" = 300 }

[[topics]]
name = "orders"
partitions = 6
replication_factor = 3
"""
FAULT = """
[[faults]]
kind = "log_dir_failure"
target = "leader-of:orders-0"
at_s = 1
duration_s = 2
"""
BOTH = """
[[faults]]
id = "first"
kind = "log_dir_failure"
target = "node:1"
directory = 1
at_s = 1
duration_s = 4

[[faults]]
id = "last"
kind = "log_dir_failure"
target = "node:1"
when = "observed:first"
after_ms = 500
duration_s = 2
"""


def play(directory: Path, faults: str, *more: str, campaign: str = CAMPAIGN) -> int:
    file = directory / "jbod.toml"
    file.write_text(campaign + faults)
    out = str(directory / "runs")
    return main(["campaign", "run", str(file), "--backend", SIMULATED.name, "--seeds", "1", "--out", out, *more])


def history_of(directory: Path) -> History:
    (run,) = (directory / "runs").glob("*/*/run.json")
    return read_history(run.parent / "history")


def evidence(history: History) -> dict[str, Any]:
    """Of each fault that was observed."""
    return {event["fault"]: event["evidence"] for event in history.events if event["kind"] == "fault.observed"}


def leaders(history: History) -> list[int]:
    """Of orders-0, one after the other."""
    states = [
        json.loads(op["data"])["leader"]
        for txn in history.txns
        for op in txn.get("ops") or ()
        if op.get("data") and str(parse_state_path(op.get("path", ""))) == "orders-0"
    ]
    return [leader for before, leader in zip([None, *states], states, strict=False) if leader != before]


def test_a_leader_moves_although_its_broker_lives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert play(tmp_path, FAULT) == 0, capsys.readouterr()
    history = history_of(tmp_path)
    (asked,) = [event for event in history.events if event["kind"] == "fault.asked"]
    seen = evidence(history)["fault-0"]
    assert seen["directory"] == "log-dir-0"
    assert "orders-0" in seen["partitions"]
    first, second, *_ = leaders(history)
    assert first == asked["node"] != second
    (exited,) = [event for event in history.events if event["kind"] == "process.exited" and event["t_us"] < 9_000_000]
    assert (exited["node"], exited["status"]) == (first, 0)  # by the healing
    assert exited["t_us"] >= asked["t_us"] + 2_000_000
    (last,) = [event for event in history.events if event["kind"] == "zk.tree"]
    assert {len(partition["isr"]) for partition in last["partitions"]} == {3}


def test_what_does_not_happen_is_not_observed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert play(tmp_path, FAULT, "--noop-fault", "log_dir_failure") == 6
    assert "not observed: fault-0 (log_dir_failure)" in capsys.readouterr().out


def test_with_its_last_log_directory_a_node_halts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert play(tmp_path, BOTH) == 0, capsys.readouterr()
    seen = evidence(history_of(tmp_path))
    assert seen["first"]["directory"] == "log-dir-1"
    assert seen["last"]["status"] == 1
    assert seen["last"]["file"].startswith("log-dir-0/")


def halts_with_one_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug: the broker halts although another log directory is good, once it has told of the one that has failed."""
    announce = LogDirs.announce

    async def announced(self: LogDirs, tell: Callable[[], Awaitable[bool]]) -> NoReturn:
        async def tell_and_halt() -> bool:
            assert await tell()
            raise LogDirFailedError("it has a log directory left")

        await announce(self, tell_and_halt)

    monkeypatch.setattr(LogDirs, "announce", announced)


def test_a_broker_that_halts_with_a_log_directory_left_does_not_stay_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    halts_with_one_left(monkeypatch)
    assert play(tmp_path, FAULT.replace("leader-of:orders-0", "node:1")) == 1
    assert "nodes-stay-up: node 1 ended with status 1" in capsys.readouterr().out


def test_of_one_that_records_nothing_it_is_seen_at_the_end_of_the_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    halts_with_one_left(monkeypatch)
    monkeypatch.setattr(SimCluster, "offers", tuple(one for one in SimCluster.offers if one is not REPORTS))
    assert play(tmp_path, FAULT.replace("leader-of:orders-0", "node:1")) == 6
    assert "not-lasting: node 1 has halted, although log-dir-1 has not failed" in capsys.readouterr().out


def test_a_session_that_ends_while_the_node_lives_is_not_the_faults(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node that stands still for longer than its session lives, on a machine that is too busy for it."""
    monkeypatch.setattr(Pause, "ends_session", False)
    failure = FAULT.replace("leader-of:orders-0", "node:1").replace("duration_s = 2", "duration_s = 5")
    pause = failure.replace("log_dir_failure", "pause").replace("at_s = 1", "at_s = 2").replace("= 5", "= 2.5")
    assert play(tmp_path, failure + pause) == 6
    assert "the host was overloaded: ZooKeeper gave up" in capsys.readouterr().out


TWO_OF_THREE = """
[[faults]]
id = "first"
kind = "log_dir_failure"
target = "node:1"
directory = 0
at_s = 1
duration_s = 5

[[faults]]
id = "second"
kind = "log_dir_failure"
target = "node:1"
directory = 1
at_s = 1.4
duration_s = 3
"""


@pytest.mark.parametrize("at", ["at_s = 1.4", 'when = "observed:first"'])
def test_one_that_names_no_directory_is_given_time_to_tell_of_each(
    at: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SimCluster, "offers", tuple(one for one in SimCluster.offers if one is not REPORTS))
    campaign = CAMPAIGN.replace("log_dirs = 2", "log_dirs = 3").replace("300", "2000")
    play(tmp_path, TWO_OF_THREE.replace("at_s = 1.4", at), campaign=campaign)
    seen, said = evidence(history_of(tmp_path)), capsys.readouterr().out
    if at.startswith("when"):
        assert seen["first"]["zxid"] < seen["second"]["zxid"]
    else:
        assert seen.keys() == {"first"}
        assert (
            "not injected: second (log_dir_failure); not-applied: node 1 has not told yet of the log directory" in said
        )


@pytest.mark.parametrize("kind", ["log_dir_failure", "disk_full", "kill"])
@pytest.mark.parametrize("duration_s", [0.7, 4])  # it is healed before the first one, or after it
def test_a_healing_takes_back_its_own_fault_and_leaves_the_node_to_who_has_ended_it(
    kind: str, duration_s: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = FAULT.replace("leader-of:orders-0", "node:1").replace("duration_s = 2", "duration_s = 3")
    second = first.replace("log_dir_failure", kind).replace("at_s = 1", "at_s = 2")
    assert play(tmp_path, first + second.replace("duration_s = 3", f"duration_s = {duration_s}")) == 0, (
        capsys.readouterr()
    )
    steps = [
        (event["kind"], event["fault"]) for event in history_of(tmp_path).events if event["kind"].startswith("fault.")
    ]
    healed = [fault for kind, fault in steps if kind == "fault.healed"]
    assert healed == (["fault-1", "fault-0"] if duration_s < 1 else ["fault-0", "fault-1"])


@pytest.mark.parametrize(
    "kind", ["disk_full", "disk_wipe", 'power_failure"\nmode = "torn', 'power_failure"\nmode = "lost']
)
def test_other_faults_on_disks_are_of_the_whole_disk(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert play(tmp_path, FAULT.replace("log_dir_failure", kind)) == 0, capsys.readouterr()
    assert evidence(history_of(tmp_path)).keys() == {"fault-0"}


@pytest.mark.parametrize("count", [1, 2])
def test_a_directory_that_there_is_not_is_skipped_where_the_fault_may_be(
    count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = CAMPAIGN.replace("log_dirs = 2", f"log_dirs = {count}")
    assert play(tmp_path, FAULT + "directory = 5\nif_possible = true\n", campaign=campaign) == 4
    (skipped,) = [event for event in history_of(tmp_path).events if event["kind"] == "fault.skipped"]
    assert skipped["why"] == f"node {skipped['node']} has log_dirs = {count}, numbered from 0"
    capsys.readouterr()


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("at_s = 1\n", "at_s = 1\ndirectory = 2\n", "`faults.directory`: the cluster's nodes have log_dirs = 2"),
        ("at_s = 1\n", "at_s = 1\ndirectory = -2\n", "directory"),
        ("log_dirs = 2", "log_dirs = 0", "log_dirs"),
    ],
)
def test_what_there_is_not_is_said_before_anything_starts(
    before: str, after: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.toml"
    file.write_text((CAMPAIGN + FAULT).replace(before, after))
    assert main(["campaign", "run", str(file), "--backend", SIMULATED.name, "--out", str(tmp_path / "runs")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
