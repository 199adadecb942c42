"""reassignment: what replicas are on the way, what a request is refused for, and what ZooKeeper has in each phase."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_kcontroller.controller.decide.reassignment import is_complete
from pytest_kcontroller.controller.events.api_partition_reassignment import ApiPartitionReassignment
from pytest_kcontroller.model.cluster import Assignment
from pytest_kcontroller.zookeeper.znodes import state_path, topic_path
from tests.fidelity.stage import TOPIC, TP, error_name, stage, state_of
from tests.fidelity.vectors import Vector
from tests.tools.controller_box import ControllerBox

MISSING, AWAY = "missing", 99


def observe(vector: Vector) -> dict[str, Any]:
    inputs = vector.inputs
    if "origin" in inputs:
        return {"sequence": _steps(inputs["origin"], inputs["target"])}
    if "then" in inputs:
        return _cancelled(inputs)
    if "isr" in inputs:
        return _complete(inputs)
    if isinstance(inputs.get("current"), Mapping):
        current = inputs["current"]
        assignment = Assignment(*(tuple(current[key]) for key in ("replicas", "adding", "removing")))
        return _shown(assignment.reassigned_to(tuple(inputs["target"])))
    if "target" not in inputs and "replicas" in inputs:
        keys = ("replicas", "adding", "removing")
        return _shown(Assignment(*(tuple(inputs.get(key, ())) for key in keys)))
    return _asked(inputs)


def _shown(assignment: Assignment) -> dict[str, Any]:
    return {
        "replicas": list(assignment.replicas),
        "adding": list(assignment.adding),
        "removing": list(assignment.removing),
        "target": list(assignment.target),
        "being_reassigned": assignment.reassigning,
    }


def _cancelled(inputs: Mapping[str, Any]) -> dict[str, Any]:
    during = Assignment(tuple(inputs["current"])).reassigned_to(tuple(inputs["target"]))
    return {"during": _shown(during), "after_cancel": _shown(during.reassigned_to(during.origin))}


def _complete(inputs: Mapping[str, Any]) -> dict[str, Any]:
    isr = inputs["isr"]
    with stage(brokers=isr) as on:
        on.place([isr], states={0: state_of({"leader": isr[0], "isr": isr})})
        others = tuple(replica for replica in isr if replica not in inputs["target"])
        on.context.assign(TOPIC, {0: Assignment((*inputs["target"], *others), tuple(inputs["target"]), others)})
        return {"complete": is_complete(on.context, TP)}


def _asked(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """A request of an admin. Without more of them all brokers are live that are named."""
    current = inputs.get("current", [1])
    target = inputs.get("target", [1])
    live = inputs.get("live", sorted({broker for broker in (*current, *(target or ())) if broker >= 0}))
    with ControllerBox(brokers=live) as box:
        box.create_topic(TOPIC, [current], states={0: state_of({"leader": current[0], "isr": current[:1]})})
        box.start()
        assert box.controller.term is not None
        if inputs.get("topic_queued_for_deletion"):
            box.controller.term.context.deletions.queue([TOPIC])
        if inputs.get("active") is False:
            box.depose()
        if inputs.get("in_progress"):
            box.register_broker(AWAY)
            box.put(ApiPartitionReassignment, {TP: (AWAY,)})
        tp = TP._replace(topic=MISSING) if inputs.get("partition") == MISSING else TP
        answer = box.put(ApiPartitionReassignment, {tp: None if target is None else tuple(target)}).result()
        partition = answer.partitions.get(tp)
        return {"error": error_name(answer.error) or (None if partition is None else error_name(partition.error))}


def _steps(origin: list[int], target: list[int]) -> list[dict[str, Any]]:
    """Kafka's names of the phases: what ZooKeeper has at the end of each."""
    with ControllerBox(brokers=[*origin, *target]) as box:
        box.create_topic(TOPIC, [origin])
        box.start()
        seen = [_now(box, "initial")]
        box.put(ApiPartitionReassignment, {TP: tuple(target)})
        seen.append(_now(box, "A2"))
        box.forget()
        leader = box.state(str(TP))
        box.alter_partition(str(TP), [*origin, *target], partition_epoch=leader.partition_epoch)
        snapshots = _snapshots(box, seen[-1])
        moved = next(one for one in snapshots if one["leader"] != seen[-1]["leader"])
        names = {0: "B", snapshots.index(moved): "B3", len(snapshots) - 2: "B4", len(snapshots) - 1: "B6"}
        return seen + [{**snapshots[at], "step": name} for at, name in sorted(names.items())]


def _now(box: ControllerBox, step: str) -> dict[str, Any]:
    value, state = json.loads(box.data(topic_path(TOPIC)) or b"{}"), box.state(str(TP))
    return {"step": step, "leader": state.leader, "isr": list(state.isr)} | _replicas(value)


def _replicas(value: Mapping[str, Any]) -> dict[str, Any]:
    keys = {"rs": "partitions", "ar": "adding_replicas", "rr": "removing_replicas"}
    return {name: value[key].get("0", []) for name, key in keys.items()}


def _snapshots(box: ControllerBox, before: Mapping[str, Any]) -> list[dict[str, Any]]:
    """After each of the controller's writes."""
    now, found = dict(before), []
    for op in box.written():
        value = json.loads(op.data or b"{}")
        if op.path == state_path(TP):
            now |= {"leader": value["leader"], "isr": value["isr"]}
        elif op.path == topic_path(TOPIC):
            now |= _replicas(value)
        else:
            continue
        found.append(dict(now))
    return found
