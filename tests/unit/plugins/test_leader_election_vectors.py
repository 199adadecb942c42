"""Kafka's own elections: what its tests assert, and what its classes computed on random input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_kcontroller.model.cluster import Assignment
from pytest_kcontroller.model.election import BrokerTable, BrokerView, ElectionReason, LeaderChoice, PartitionView
from pytest_kcontroller.plugin.manager import load_plugins

VECTORS = json.loads((Path(__file__).parents[2] / "data" / "leader_election_vectors.json").read_text(encoding="utf-8"))
REASONS = {
    "offline": ElectionReason.OFFLINE,
    "reassign": ElectionReason.REASSIGNED,
    "preferred": ElectionReason.PREFERRED,
    "controlled_shutdown": ElectionReason.CONTROLLED_SHUTDOWN,
}
ELECTIONS = [v for v in VECTORS["leader_election"] if v["inputs"].get("strategy") in REASONS]
STOCK = load_plugins(installed=False).selectors_for({})


def _table(inputs: dict[str, Any]) -> BrokerTable:
    shutting_down = inputs.get("shutting_down", [])
    registered = inputs.get("registered", inputs.get("live_or_shutting_down", inputs.get("live")))
    return BrokerTable({b: BrokerView(id=b, shutting_down=b in shutting_down) for b in registered})


def _view(inputs: dict[str, Any]) -> PartitionView:
    state = inputs.get("zk", {})
    return PartitionView(
        topic="t",
        partition=0,
        assignment=Assignment(tuple(inputs.get("target") or inputs.get("assignment"))),
        leader=state.get("leader", -1),
        isr=tuple(state.get("isr", inputs.get("isr", ()))),
        leader_epoch=state.get("leader_epoch", 0),
        partition_epoch=0,
        controller_epoch=1,
        unclean_allowed=inputs.get("unclean", inputs.get("allow_unclean", False)),
        brokers=_table(inputs),
    )


def _select(vector: dict[str, Any]) -> LeaderChoice | None:
    reason = REASONS[vector["inputs"]["strategy"]]
    return STOCK[reason].select(_view(vector["inputs"]), reason)


@pytest.mark.parametrize("vector", ELECTIONS, ids=lambda v: str(v["id"]))
def test_the_stock_selectors_choose_as_kafka_does(vector: dict[str, Any]) -> None:
    choice, expected = _select(vector), vector["expected"]
    if expected["leader"] is None:
        assert choice is None
        return
    assert choice is not None
    assert choice.leader == expected["leader"]
    isr = expected.get("new_isr", expected.get("isr"))
    assert isr is None or list(choice.isr) == isr
    assert "recipients" not in expected or list(choice.recipients or ()) == expected["recipients"]


def test_vectors_of_every_reason_are_there() -> None:
    assert {v["inputs"]["strategy"] for v in ELECTIONS} == set(REASONS)
    assert len(ELECTIONS) > 400


def test_a_reassigned_partition_is_led_by_a_target_only() -> None:
    view = _view({"assignment": [1, 2, 3], "isr": [1, 2, 3], "live": [1, 2, 3]})
    moved = PartitionView(
        **{name: getattr(view, name) for name in PartitionView.__slots__}
        | {"assignment": Assignment((1, 2, 3), adding=(3,), removing=(1, 2))}
    )
    choice = STOCK[ElectionReason.REASSIGNED].select(moved, ElectionReason.REASSIGNED)
    assert choice == LeaderChoice(3, (1, 2, 3), (3,))
