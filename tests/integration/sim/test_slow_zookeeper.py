"""`latency` to ZooKeeper in simulated time costs what it costs a real client (kazoo): the connection, then the session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_kcontroller.cluster.timing import scaled
from tests.tools.programs import run_kcontroller

SLOW = """
[campaign]
name = "slow"
duration_s = 9

[cluster]
nodes = 2
session_timeout_ms = 1000

[[topics]]
name = "t"
replication_factor = 2

[[faults]]
kind = "latency"
mode = "zookeeper"
target = "node:1"
delay_ms = {delay_ms}
at_s = 1
duration_s = 5
"""


@pytest.mark.parametrize(
    ("delay_ms", "states"),
    [
        (150, {"connected"}),
        (450, {"connected", "suspended"}),  # a ping's answer is later than the next ping
        (900, {"connected", "suspended", "expired"}),  # no connection comes about in a session's time-out
    ],
)
def test_it_costs_the_connection_and_then_the_session(tmp_path: Path, delay_ms: int, states: set[str]) -> None:
    (tmp_path / "slow.toml").write_text(SLOW.format(delay_ms=delay_ms))
    command = ("campaign", "run", tmp_path / "slow.toml", "--backend", "sim", "--out", tmp_path)
    done = run_kcontroller(*command, timeout=scaled(60))
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = tmp_path.glob("slow/*/history/node-1.jsonl")
    events = [json.loads(line) for line in file.read_text().splitlines()]
    assert {event["state"] for event in events if event["kind"] == "zk.state"} == states
