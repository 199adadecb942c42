"""The table of docs/faults.md is what a run gives: every fault, on one cluster, is injected, observed and healed.

What a backend cannot do is known beforehand; and without the injections nothing of it is observed (for real:
test_every_fault_for_real.py).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kcontroller_chaos import backends
from tests.tools import fault_table

PLAYED = ("sim", "process")
"""The others take minutes of many processors: of those the newest times are kept, and what is said of them holds here."""
BYTES = ("bandwidth", "limit_data", "slicer", "slow_close", "timeout")
CONTAINED = ("disconnect", "memory_limit")
SERVERS = ("zookeeper_kill_leader", "zookeeper_lose_quorum", "zookeeper_pause", "zookeeper_restart")
POWERS = ("power_failure:lost", "power_failure:torn")
OF_A_SIMULATOR = ("lagging_follower", "late_ephemerals", *POWERS)
SIZED = ("disk_full",)
OF_OUR_NODES = ("clock_jump", "drop_reply", "hold", "hold_request", "session_expiry:client")
STALLS = ("stall:controller-events", "stall:sender")
HOLES = {
    "sim": (*(f"{kind}:zookeeper" for kind in BYTES), *CONTAINED, *SERVERS),
    "process": (*CONTAINED, *SIZED, *OF_A_SIMULATOR),
    "kafka": (*CONTAINED, *SIZED, *OF_A_SIMULATOR, *OF_OUR_NODES, *STALLS),
    "docker": OF_A_SIMULATOR,
}


@pytest.mark.parametrize("name", PLAYED)
def test_every_fault_is_seen_and_healed_on_one_cluster(tmp_path: Path, name: str) -> None:
    backend = backends.backend(name)
    results = fault_table.play(tmp_path, backend)
    parts = [result.details["parts"] for result in results]
    assert sorted(fault_table.seen(results)) == sorted(fault_table.possible(backend)), parts
    assert {result.verdict for result in results} == {"held"}, parts


def test_without_its_injection_none_is_seen_and_each_is_named(tmp_path: Path) -> None:
    backend = backends.simulated()
    results = fault_table.play(tmp_path, backend, noop=True)
    assert {result.status for result in results} == {6}
    said = "".join(result.details["parts"]["observed"]["detail"] for result in results)
    assert [fault for fault in fault_table.possible(backend) if f"({fault})" not in said] == []


@pytest.mark.parametrize("name", backends.NAMES)
def test_holes_are_listed_beforehand(name: str) -> None:
    assert sorted(fault_table.holes(backends.backend(name))) == sorted(HOLES[name])


def test_the_table_has_all_of_it() -> None:
    times = json.loads(fault_table.SEEN.read_text())
    for name in backends.NAMES:
        assert sorted(times[name]) == sorted(fault_table.possible(backends.backend(name))), (
            "tests/tools/fault_table.py --write"
        )
