"""Faults on real links and sessions: seen by connections over real proxies, and not seen where nothing is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kcontroller_chaos import backends
from kcontroller_chaos.catalogue import load_catalogue
from pytest_kcontroller import Chaos, KCluster
from tests.tools.nothing_done import seen_where_nothing_is_done

REAL = backends.BACKENDS[0]
pytestmark = pytest.mark.kcontroller(nodes=3, session_timeout_ms=6000, backends=[REAL.name])
STOCK = [one for kind in load_catalogue(installed=False).kinds.values() for one in kind.classes]
HERE = [one for one in STOCK if not set(one.needs) & set(REAL.lacks) and not one.on_zookeeper]

TOGETHER: Sequence[Sequence[tuple[str, int, Mapping[str, Any]]]] = (
    (
        ("bandwidth", 0, {"peer": 1}),
        ("slicer", 1, {"peer": 2, "direction": "from-node", "size_variation": 16}),
        ("limit_data", 2, {"peer": 0, "direction": "to-node"}),
        ("bandwidth", 0, {"mode": "zookeeper", "rate_kb_s": 1}),
        ("slicer", 1, {"mode": "zookeeper", "delay_us": 50_000}),
        ("limit_data", 2, {"mode": "zookeeper", "bytes": 2000}),
    ),
    (
        ("timeout", 0, {"peer": 1, "direction": "from-node"}),
        ("slow_close", 1, {"peer": 2, "direction": "to-node"}),
        ("latency", 2, {"peer": 0, "jitter_ms": 100, "direction": "from-node"}),
        ("timeout", 0, {"mode": "zookeeper", "direction": "to-node"}),
        ("slow_close", 1, {"mode": "zookeeper"}),
        ("latency", 2, {"mode": "zookeeper", "direction": "to-node"}),
    ),
    (
        ("partition", 0, {"peer": 1, "direction": "to-node"}),
        ("flap", 1, {"peer": 2, "direction": "from-node"}),
        ("partition", 0, {"mode": "zookeeper", "direction": "to-node"}),
        ("flap", 1, {"mode": "zookeeper"}),
        ("session_expiry", 2, {"mode": "client"}),
    ),
    (
        ("session_flap", 0, {"up_share": 0.5}),
        ("zombie_session", 1, {}),
        ("expiry_storm", 2, {}),
    ),
)
"""On links of their own: those between two nodes, and each node's to ZooKeeper."""


@pytest.mark.parametrize("faults", TOGETHER, ids=lambda faults: faults[0][0])
def test_links_are_seen_to_be_hit_while_others_are_too(
    kcluster_module: KCluster, chaos: Chaos, faults: Sequence[tuple[str, int, Mapping[str, Any]]]
) -> None:
    injected = [chaos.inject(kind, target=f"node:{node}", **given) for kind, node, given in faults]
    for fault in injected:
        assert fault.observed(), fault.name
    for fault in injected:
        fault.heal()
    kcluster_module.wait_until_converged()


def test_nothing_is_seen_where_nothing_is_done(kcluster_module: KCluster) -> None:
    """That a campaign ends as it must then is tested in simulated time."""
    assert seen_where_nothing_is_done(kcluster_module.backend, HERE) == []
