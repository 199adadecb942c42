"""znode_json: what znodes hold. Which znode a vector is about its keys say, and its source which version of it.

What an older version of Kafka wrote is what ours writes without the keys that came later; and ours reads it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pytest_kcontroller.model.cluster import Assignment, LeaderAndIsr, TopicPartition, TopicState
from pytest_kcontroller.zookeeper.partition_lists import decode_partitions, encode_partitions
from pytest_kcontroller.zookeeper.session import Create
from pytest_kcontroller.zookeeper.znodes import (
    REASSIGN_PARTITIONS,
    decode_controller,
    decode_log_dir_event,
    decode_reassignments,
    decode_state,
    decode_topic,
    encode_controller,
    encode_log_dir_event,
    encode_reassignments,
    encode_state,
    encode_topic,
)
from tests.fidelity.vectors import Vector
from tests.tools.controller_box import ControllerBox, partition

SINCE = {
    "controller": {(0, 8): (1, ()), (3, 4): (2, ("kraftControllerEpoch",))},
    "topic": {(0, 8): (1, ()), (2, 4): (2, ("adding_replicas", "removing_replicas")), (2, 8): (3, ("topic_id",))},
}
"""Znode -> the release with which a version came -> the version, and the keys that are new in it."""
TIMESTAMP = 1_700_000_000_000


def observe(vector: Vector) -> dict[str, Any]:
    inputs, keys = vector.inputs, vector.expected.keys()
    if isinstance(inputs, str):
        return _not_understood(inputs.encode())
    if "brokerid" in keys:
        return _controller(inputs, vector.source)
    if "event" in keys:
        return _log_dir_event(inputs)
    if "leader" in keys or "leader_recovery_state" in keys:
        return _state(inputs)
    if isinstance(inputs, Mapping) and all(key.isdigit() for key in inputs):
        return _topic(inputs, vector.source)
    return _of_partitions(inputs)


def _read_back(data: bytes, read: object, meant: object) -> dict[str, Any]:
    """The content, if ours reads it as what was meant."""
    assert read == meant, f"{data!r} is read as {read}"
    value: dict[str, Any] = json.loads(data)
    return value


def _as_of(znode: str, source: str, value: dict[str, Any]) -> dict[str, Any]:
    """As the release wrote it that the source names first, `code 2.4-2.7`; the newest, if it names none."""
    named = re.search(r"(\d+)\.(\d+)", source)
    release = (int(named[1]), int(named[2])) if named else (99, 0)
    for since, (version, new) in SINCE[znode].items():
        if since <= release:
            value["version"] = version
        else:
            for key in new:
                value.pop(key, None)
    return value


def _controller(inputs: Mapping[str, Any], source: str) -> dict[str, Any]:
    value = _as_of("controller", source, json.loads(encode_controller(inputs["broker"], TIMESTAMP)))
    value = _read_back(json.dumps(value).encode(), decode_controller(json.dumps(value).encode()), inputs["broker"])
    return value | {"timestamp": "<ms as string>" if value["timestamp"] == str(TIMESTAMP) else value["timestamp"]}


def _log_dir_event(inputs: Mapping[str, Any]) -> dict[str, Any]:
    data = encode_log_dir_event(inputs["broker"])
    return _read_back(data, decode_log_dir_event(data, "/"), inputs["broker"])


def _state(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """What is not given is as it is at first; the key of the recovery is there while it goes on only."""
    state = LeaderAndIsr(
        leader=inputs.get("leader", 0),
        leader_epoch=inputs.get("leader_epoch", 0),
        isr=tuple(inputs.get("isr", (0,))),
        controller_epoch=inputs.get("controller_epoch", 1),
        recovering=inputs.get("recovery") == "RECOVERING",
    )
    data = encode_state(state)
    value = _read_back(data, decode_state(TopicPartition("t", 0), data, 0), state)
    return {"leader_recovery_state": None, **value}


def _topic(inputs: Mapping[str, Any], source: str) -> dict[str, Any]:
    """The topic id is optional: without one there is no key either."""
    partitions = {int(number): Assignment(tuple(replicas)) for number, replicas in inputs.items()}
    value = json.loads(encode_topic(TopicState(name="t", topic_id="q8zHkq3VTyOqmVbGcUNWjA", partitions=partitions)))
    data = json.dumps(_as_of("topic", source, value)).encode()
    value = _read_back(data, decode_topic("t", data).partitions, partitions)
    without = json.loads(encode_topic(TopicState(name="t", partitions=partitions)))
    return value | ({"topic_id": "<optional>"} if "topic_id" in value and "topic_id" not in without else {})


def _of_partitions(inputs: Any) -> dict[str, Any]:
    """With replicas, /admin/reassign_partitions; without, preferred elections and ISR changes."""
    if isinstance(inputs, Mapping):
        targets = {partition(name): tuple(replicas) for name, replicas in inputs.items()}
        data = encode_reassignments(targets)
        return _read_back(data, decode_reassignments(data), targets)
    named = tuple(map(partition, inputs))
    data = encode_partitions(named)
    return _read_back(data, decode_partitions(data, "/"), named)


def _not_understood(data: bytes) -> dict[str, Any]:
    """In /admin/reassign_partitions: nothing is moved by it, and it is said what is wrong."""
    with ControllerBox(brokers=(1, 2)) as box:
        box.create_topic("t", [[1]])
        box.start()
        box.forget()
        box.write(Create(REASSIGN_PARTITIONS, data))
        said = [event["error"] for event in box.events("controller.event-failed")]
        ignored = not box.states_written() and len(said) == 1 and REASSIGN_PARTITIONS in said[0]
    return {
        "error": "decode error; controller treats it as an empty reassignment with a warning" if ignored else str(said)
    }
