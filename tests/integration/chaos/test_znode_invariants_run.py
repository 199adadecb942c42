"""`[[invariants]]` from the file to the verdict, and judged once more from the run's directory alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

from kcontroller_chaos.campaign.file import load_campaign
from kcontroller_chaos.judge.verdict import judge
from kcontroller_chaos.play.runner import Options, run_once

CAMPAIGN = """
[campaign]
name = "own"
duration_s = 8

[cluster]
nodes = 3
session_timeout_ms = 1000

[[topics]]
name = "orders"
partitions = 2
replication_factor = 2

[[faults]]
kind = "session_expiry"
mode = "natural"
target = "controller"
at_s = 1
duration_s = 3

[[invariants]]
kind = "one_owner"
path = "/controller"

[[invariants]]
kind = "only_owner_writes"
path = "/controller"
written_path = "/brokers/topics/*/partitions/**"

[[invariants]]
kind = "value_never_decreases"
path = "/controller_epoch"

[[invariants]]
kind = "ephemeral_back_within"
path = "/brokers/ids/*"
within_s = 5

[[invariants]]
kind = "owned_after_healing"
path = "/controller"

[[invariants]]
kind = "exists_after_healing"
path = "/brokers/ids/*"
count = 3
"""


def test_a_file_is_judged_by_its_own_invariants(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(CAMPAIGN, encoding="utf-8")
    result = asyncio.run(run_once(load_campaign(path), 1, Options(out=tmp_path / "runs", backend="sim")))
    assert result.verdict == "held", result.details
    found = {entry["name"]: entry["verdict"] for entry in result.details["invariants"] if "(" in entry["name"]}
    assert found == {
        "one-owner(/controller)": "held",
        "one-believer(/controller)": "never exercised",  # our nodes print nothing of the kind
        "only-owner-writes(/controller, /brokers/topics/*/partitions/**)": "held",
        "value-never-decreases(/controller_epoch)": "held",
        "ephemeral-back-within(/brokers/ids/*)": "held",
        "owned-after-healing(/controller)": "held",
        "exists-after-healing(/brokers/ids/*)": "held",
    }
    assert result.details["notes"] == [], "that our nodes print nothing is no news"
    assert judge(result.path) == result.details
