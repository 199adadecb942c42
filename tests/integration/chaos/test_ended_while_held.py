"""What was done inside a process goes with it: a node that ends meanwhile has been healed of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_kcontroller.cli import main

CAMPAIGN = """
[campaign]
name = "ended"
duration_s = 10
seeds = "1"

[cluster]
session_timeout_ms = 6000

[[faults]]
id = "held"
{fault}
target = "controller"
at_s = 1
duration_s = {held_s}

[[workload]]
kind = "admin"
action = "create_topic"
topic = "late"
at_s = 2

[[faults]]
id = "dead"
kind = "kill"
target = "controller"
when = "observed:held"
after_ms = 500
duration_s = 4
"""


@pytest.mark.parametrize(
    ("fault", "backend", "held_s"),
    [
        ('kind = "hold"', "sim", 4),
        ('kind = "hold"', "process", 4),
        ('kind = "stall"\nmode = "controller-events"', "sim", 4),
        ('kind = "stall"\nmode = "controller-events"', "sim", 7),
        ('kind = "clock_jump"', "sim", 4),
        ('kind = "clock_jump"', "sim", 7),
        ('kind = "clock_jump"', "process", 4),
    ],
)
def test_a_node_that_is_killed_meanwhile_is_healed(fault: str, backend: str, held_s: int, tmp_path: Path) -> None:
    """Also one that runs again by then."""
    file = tmp_path / "ended.toml"
    file.write_text(CAMPAIGN.format(fault=fault, held_s=held_s))
    status = main(["campaign", "run", str(file), "--backend", backend, "--out", str(tmp_path / "runs")])
    (judged,) = tmp_path.glob("runs/ended/*/verdicts.json")
    found = json.loads(judged.read_text())
    faults = {fault["id"]: (fault["status"], fault["why"]) for fault in found["faults"]}
    assert faults == {"held": ("healed", ""), "dead": ("healed", "")}
    assert (found["overall"], status) == ("held", 0)
