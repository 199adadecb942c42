"""assignment and assignment_rack_aware: where the replicas of a topic go, and those of partitions that are added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from kcontroller_plugins.assignments.rack_aware import RackAwareStrategy, _alternating
from kcontroller_plugins.assignments.striped import StripedStrategy
from pytest_kcontroller.hookspecs import AssignmentStrategy
from pytest_kcontroller.model.assignment import (
    AssignableBroker,
    AssignmentError,
    AssignmentRequest,
    RackMode,
    assignable_brokers,
)
from pytest_kcontroller.model.new_partitions import check_added_replicas, request_of_added
from tests.fidelity.vectors import Vector

Assigned = Mapping[int, tuple[int, ...]]


def observe_striped(vector: Vector) -> dict[str, Any]:
    inputs = vector.inputs
    try:
        if "total_partitions" in inputs or "existing" in inputs:
            return _added(inputs)
        return _placed(StripedStrategy(), inputs)
    except AssignmentError as refused:
        return {"error": refused.code}


def observe_rack_aware(vector: Vector) -> dict[str, Any]:
    inputs = vector.inputs
    try:
        if "partitions" in inputs:
            return _placed(RackAwareStrategy(), inputs)
        return _seen(inputs)
    except AssignmentError as refused:
        return {"error": refused.code}


def _seen(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Which brokers and racks a strategy is shown."""
    racks: dict[int, str | None] = {int(broker): rack for broker, rack in inputs.get("racks", {}).items()}
    racks |= dict.fromkeys(inputs.get("brokers_registered", ()))
    mode = RackMode(inputs.get("mode", "Enforced" if inputs.get("rack_aware", True) else "Disabled"))
    brokers = assignable_brokers(racks, mode, only=inputs.get("brokers"))
    if "brokers" in inputs:
        return {str(broker.id): broker.rack for broker in brokers}
    return {
        "racks_used": any(broker.rack is not None for broker in brokers),
        "order": [broker.id for broker in brokers],
        "interleaved": [broker.id for broker in _alternating(brokers)],
    }


def _placed(strategy: AssignmentStrategy, inputs: Mapping[str, Any]) -> dict[str, Any]:
    racks = inputs.get("racks") or {}
    brokers = tuple(
        AssignableBroker(broker, racks.get(str(broker))) for broker in sorted(inputs.get("brokers") or map(int, racks))
    )
    start = inputs.get("fixed_start_index", -1)
    request = AssignmentRequest(
        brokers=brokers,
        partitions=inputs["partitions"],
        replication_factor=inputs["rf"],
        start_index=None if start < 0 else start,
        first_partition=inputs.get("start_partition_id", 0),
    )
    if request.start_index is not None or "racks" not in inputs:
        return _table(strategy.assign(request, lambda below: 0)) | _properties(request, [strategy.assign(request, min)])
    return _properties(request, list(_all_draws(strategy, request)))


def _table(assigned: Assigned) -> dict[str, Any]:
    """By partition, and the other way round: broker -> place in the list of replicas, from 1 -> partitions."""
    by_broker: dict[str, dict[str, list[int]]] = {}
    for partition, replicas in assigned.items():
        for place, broker in enumerate(replicas, 1):
            by_broker.setdefault(str(broker), {}).setdefault(str(place), []).append(partition)
    plain = {str(partition): list(replicas) for partition, replicas in assigned.items()}
    return plain | {"assignment": plain, "by_broker": by_broker}


def _all_draws(strategy: AssignmentStrategy, request: AssignmentRequest) -> Iterator[Assigned]:
    """For each start index and each shift that could be drawn."""
    size = len(request.brokers)
    for start, shift in product(range(size), range(size)):
        drawn = iter((start, shift))
        yield strategy.assign(request, lambda below, drawn=drawn: next(drawn))  # type: ignore[misc]


def _properties(request: AssignmentRequest, tables: Sequence[Assigned]) -> dict[str, Any]:
    """What holds of all tables; a number is None where there are several."""
    rack_of = {broker.id: broker.rack for broker in request.brokers}
    rows = [replicas for table in tables for replicas in table.values()]
    racks = [len({rack_of[replica] for replica in replicas}) for replicas in rows]
    leaders = [Counter(replicas[0] for replicas in table.values()) for table in tables]
    replicas = [Counter(replica for row in table.values() for replica in row) for table in tables]
    per_broker = [
        [count[broker.id] for count in counts for broker in request.brokers] for counts in (leaders, replicas)
    ]
    return {
        "property": {
            "replicas": _one(map(len, rows)),
            "distinct_replicas": all(len(set(row)) == len(row) for row in rows),
            "one_replica_per_rack": all(count == len(row) for count, row in zip(racks, rows, strict=True)),
            "racks_per_partition": _one(racks),
            "leaders_per_broker": _one(per_broker[0]),
            "replicas_per_broker": _one(per_broker[1]),
            "even_leaders": _one(per_broker[0]) is not None,
            "even_replicas": _one(per_broker[1]) is not None,
        }
    }


def _one(numbers: Any) -> int | None:
    different = set(numbers)
    return different.pop() if len(different) == 1 else None


def _added(inputs: Mapping[str, Any]) -> dict[str, Any]:
    existing = {int(partition): replicas for partition, replicas in inputs.get("existing", {}).items()}
    existing = existing or {partition: [0] for partition in range(inputs["existing_count"])}
    if (manual := inputs.get("manual")) is None:
        brokers = assignable_brokers(dict.fromkeys(inputs.get("brokers", [0])))
        request = request_of_added(existing, inputs["total_partitions"], brokers)
        start = {"start_index": request.start_index, "start_partition_id": request.first_partition}
        return _table(StripedStrategy().assign(request, min)) | start
    added = {int(number): replicas for number, replicas in manual.items() if int(number) not in existing}
    brokers_there = inputs.get("brokers") or {broker for replicas in manual.values() for broker in replicas}
    total = inputs.get("total_partitions", len(existing) + len(added))
    check_added_replicas(existing, added, total, brokers_there)
    return {str(number): replicas for number, replicas in added.items()}
