"""Kafka's own assignments: what its tests assert, and what its classes computed on random input."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kcontroller_plugins.assignments.rack_aware import RackAwareStrategy, _alternating
from kcontroller_plugins.assignments.striped import StripedStrategy
from pytest_kcontroller.model.assignment import AssignableBroker, AssignmentError, AssignmentRequest
from pytest_kcontroller.runtime.rng import NamedRng

VECTORS = json.loads((Path(__file__).parents[2] / "data" / "assignment_vectors.json").read_text(encoding="utf-8"))

NOT_A_STRATEGY = {
    "as-addparts-manual",
    "as-addparts-wrong-rf",
    "as-addparts-dup",
    "as-addparts-not-increase",
    "as-addparts-start-wrap",
}
"""About adding partitions by hand, which no strategy sees."""


def _id(vector: dict[str, Any]) -> str:
    return str(vector["id"])


def _brokers(inputs: dict[str, Any]) -> tuple[AssignableBroker, ...]:
    racks = inputs.get("racks") or {}
    ids = inputs.get("brokers") or sorted(int(b) for b in racks)
    return tuple(AssignableBroker(b, racks.get(str(b))) for b in sorted(ids))


def _request(inputs: dict[str, Any]) -> AssignmentRequest:
    existing = inputs.get("existing")
    if existing is not None:  # Kafka's rule for adding partitions
        first = existing["0"][0]
        start = next((i for i, b in enumerate(sorted(inputs["brokers"])) if b >= first), 0)
        return AssignmentRequest(
            brokers=_brokers(inputs),
            partitions=inputs["total_partitions"] - len(existing),
            replication_factor=len(existing["0"]),
            start_index=start,
            first_partition=len(existing),
        )
    start = inputs.get("fixed_start_index", -1)
    return AssignmentRequest(
        brokers=_brokers(inputs),
        partitions=inputs["partitions"],
        replication_factor=inputs["rf"],
        start_index=None if start == -1 else start,
        first_partition=inputs.get("start_partition_id", 0),
    )


def _assigned(expected: dict[str, Any]) -> dict[int, tuple[int, ...]] | None:
    table = expected.get("assignment", expected)
    if not all(key.isdigit() for key in table):
        return None
    return {int(partition): tuple(replicas) for partition, replicas in table.items()}


@pytest.mark.parametrize("vector", [v for v in VECTORS["assignment"] if v["id"] not in NOT_A_STRATEGY], ids=_id)
def test_striped_assigns_as_kafka_does(vector: dict[str, Any]) -> None:
    expected, request = vector["expected"], _request(vector["inputs"])
    draw = NamedRng(1).stream("draw").randrange
    if "error" in expected:
        with pytest.raises(AssignmentError) as raised:
            StripedStrategy().assign(request, draw)
        assert raised.value.code == expected["error"]
        return
    got = StripedStrategy().assign(request, draw)
    if "by_broker" in expected:
        for broker, places in expected["by_broker"].items():
            for place, partitions in places.items():
                assert [p for p, r in got.items() if r[int(place) - 1] == int(broker)] == partitions
        return
    if (table := _assigned(expected)) is None:
        pytest.fail(f"a vector that this test does not understand: {vector}")
    assert got == table


RACKS = VECTORS["rack_aware"]


@pytest.mark.parametrize("vector", [v for v in RACKS if "interleaved" in v["expected"]], ids=_id)
def test_racks_alternate_in_the_ring(vector: dict[str, Any]) -> None:
    ring = [broker.id for broker in _alternating(_brokers(vector["inputs"]))]
    assert ring == vector["expected"]["interleaved"]


@pytest.mark.parametrize("vector", [v for v in RACKS if "partitions" in v["inputs"]], ids=_id)
def test_rack_aware_assigns_as_kafka_does(vector: dict[str, Any]) -> None:
    expected, request = vector["expected"], _request(vector["inputs"])
    if "error" in expected:
        with pytest.raises(AssignmentError) as raised:
            RackAwareStrategy().assign(request, NamedRng(1).stream("draw").randrange)
        assert raised.value.code == expected["error"]
        return
    table = _assigned(expected)
    for seed in range(1 if request.start_index is not None else 20):
        got = RackAwareStrategy().assign(request, NamedRng(seed).stream("draw").randrange)
        if table is not None:
            assert got == table
        _check_property(expected.get("property", {}), request, got)


def _check_property(wanted: dict[str, Any], request: AssignmentRequest, got: dict[int, tuple[int, ...]]) -> None:
    rack_of = {broker.id: broker.rack for broker in request.brokers}
    for replicas in got.values():
        racks = {rack_of[r] for r in replicas}
        assert len(set(replicas)) == len(replicas)
        assert not wanted.get("one_replica_per_rack") or len(racks) == len(replicas)
        assert len(racks) == wanted.get("racks_per_partition", len(racks))
        assert len(replicas) == wanted.get("replicas", len(replicas))
    if (per_broker := wanted.get("leaders_per_broker")) is not None:
        assert set(Counter(replicas[0] for replicas in got.values()).values()) == {per_broker}
    if (per_broker := wanted.get("replicas_per_broker")) is not None:
        assert set(Counter(r for replicas in got.values() for r in replicas).values()) == {per_broker}


def test_brokers_without_any_rack_are_striped() -> None:
    request = AssignmentRequest(
        brokers=tuple(AssignableBroker(b) for b in range(4)), partitions=9, replication_factor=3, start_index=2
    )
    assert RackAwareStrategy().assign(request, lambda n: 0) == StripedStrategy().assign(request, lambda n: 0)


def test_some_racks_are_an_error_with_kafkas_name() -> None:
    request = AssignmentRequest(
        brokers=(AssignableBroker(0, "r1"), AssignableBroker(1)), partitions=1, replication_factor=1
    )
    with pytest.raises(AssignmentError, match=r"without a rack: \[1\]") as raised:
        RackAwareStrategy().assign(request, lambda n: 0)
    assert raised.value.code == "AdminOperation"
