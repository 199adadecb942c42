"""A leader selector of a user that hangs, raises or answers with garbage: no leader in ZooKeeper's log is a bad one, the
cluster recovers as ever, the run ends, and an invariant says who was stuck, and where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_kcontroller.cli import main
from pytest_kcontroller.cluster.timing import scaled

PLUGIN = """
import time
from pytest_kcontroller.hookspecs import hookimpl
from pytest_kcontroller.model.election import LeaderChoice

class Mine:
    name = "mine"

    def select(self, partition, reason):
        {body}

@hookimpl
def kcontroller_leader_selectors():
    return [Mine]
"""
CAMPAIGN = """
[campaign]
name = "led"
duration_s = 4

[cluster]
nodes = 3
session_timeout_ms = 1000
{selectors}
plugin_limit_s = 0.2

[[topics]]
name = "t"
partitions = 6
replication_factor = 3

[[faults]]
kind = "kill"
target = "controller"
at_s = 0.5
duration_s = 1
"""

MINE = 'selectors = { offline = "mine", preferred = "mine", controlled_shutdown = "mine" }'
NO_ANSWER = f"it gave no answer within {scaled(0.2):g} s, and stood at"
STUCK = "when it was tried at the start of the node; it is not asked in any term"


def played(directory: Path, selectors: str, *options: str) -> tuple[int, dict[str, Any]]:
    """The status, and what was found of the one run."""
    (directory / "led.toml").write_text(CAMPAIGN.format(selectors=selectors))
    run = ["campaign", "run", str(directory / "led.toml"), "--backend", "sim", "--out", str(directory / "runs")]
    status = main([*run, *options])
    (path,) = directory.glob("runs/led/*/verdicts.json")
    return status, json.loads(path.read_text())


def recovery_us(verdicts: dict[str, Any]) -> int:
    (recovery,) = verdicts["recovery"]
    return int(recovery["recovery_us"])


@pytest.fixture(scope="module")
def stock_us(tmp_path_factory: pytest.TempPathFactory) -> int:
    """How long the stock selectors take."""
    status, verdicts = played(tmp_path_factory.mktemp("stock"), "")
    assert status == 0
    return recovery_us(verdicts)


@pytest.mark.parametrize(
    ("name", "body", "begins", "ends"),
    [
        (
            "kct_led_spins",
            "while True: pass",
            f"{NO_ANSWER} kct_led_spins.py:10",
            STUCK,
        ),
        (
            "kct_led_sleeps",
            "time.sleep(9)",
            f"{NO_ANSWER} kct_led_sleeps.py:10; it cannot be ended, and goes on in a thread",
            STUCK,
        ),
        ("kct_led_raises", "raise ValueError('no idea')", "it raised ValueError('no idea')", ""),
        ("kct_led_garbage", "return b'\\x00' * 10**7", "b'\\x00", " is no LeaderChoice"),
        ("kct_led_dead", "return LeaderChoice(77, (77,))", "leader 77 is not live", ""),
        ("kct_led_stranger", "return LeaderChoice('x', partition.isr)", "LeaderChoice(leader='x'", " lists or tuples"),
        (
            "kct_led_set",
            "return LeaderChoice(partition.isr[-1], set(partition.isr))",
            "LeaderChoice(",
            " lists or tuples",
        ),
    ],
)
def test_the_stock_rule_decides_and_the_invariant_says_who_was_stuck(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stock_us: int, name: str, body: str, begins: str, ends: str
) -> None:
    (tmp_path / f"{name}.py").write_text(PLUGIN.format(body=body))
    monkeypatch.syspath_prepend(str(tmp_path))
    status, verdicts = played(tmp_path, MINE, "--plugin", name)
    assert status == 1
    entries = {entry["name"]: entry for entry in verdicts["invariants"]}
    assert [name for name, entry in entries.items() if entry["verdict"] == "violated"] == ["selectors-answer"]
    assert entries["leader-in-isr"]["verdict"] == "held", "by ZooKeeper's own log"
    _, _, why = entries["selectors-answer"]["seen"].partition("and the stock rule decided; the first: ")
    assert "of mine could not be used" in entries["selectors-answer"]["seen"]
    assert (why[: len(begins)], why[len(why) - len(ends) :]) == (begins, ends)
    assert recovery_us(verdicts) == stock_us, "with the stock selectors, of the same seed: their rule decides, at once"
