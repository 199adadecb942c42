"""alter_partition: what a leader is answered who asks for another ISR.

Broker 1 leads t-0 with the ISR [1, 2]; 3 is assigned and live, 4 is assigned and dead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_kcontroller.model.cluster import LeaderAndIsr
from pytest_kcontroller.wire.messages import (
    AlterPartitionBrokerState,
    AlterPartitionPartition,
    AlterPartitionRequest,
    AlterPartitionTopic,
)
from pytest_kcontroller.wire.topic_ids import topic_uuid
from tests.fidelity.stage import error_name
from tests.fidelity.vectors import Vector
from tests.tools.controller_box import ControllerBox

LEADER, FOLLOWER, JOINING, DEAD = 1, 2, 3, 4
BEFORE = LeaderAndIsr(leader=LEADER, leader_epoch=5, isr=(LEADER, FOLLOWER), controller_epoch=1)
RECOVERY = {"RECOVERED": 0, "RECOVERING": 1}
NEWEST, OLD = 3, 1
RANDOM_ID = "q8zHkq3VTyOqmVbGcUNWjA"


def observe(vector: Vector) -> dict[str, Any]:
    """A topic is named by its id as since version 2, but where the name is what is asked about."""
    inputs = vector.inputs
    newest, old = _asked(inputs, NEWEST), _asked(inputs, OLD)
    asked = old if "topic" in inputs else newest
    return asked | {"v2plus": newest["partition"], "v0_v1": old["partition"]}


def _asked(inputs: Mapping[str, Any], version: int) -> dict[str, Any]:
    with ControllerBox(brokers=(LEADER, FOLLOWER, JOINING)) as box:
        box.create_topic("t", [[LEADER, FOLLOWER, JOINING, DEAD]], states={0: BEFORE})
        box.set_state("t-0", BEFORE)  # its partition epoch is 1: there is an older one
        box.start()
        if "shutting" in inputs.get("isr_includes", ""):
            box.shut_down(JOINING)
        box.forget()
        answer = box.ask(_request(box, inputs, version)).result()
        top = error_name(answer.error_code)
        (partition,) = [each for topic in answer.topics for each in topic.partitions] or [None]
        error = None if partition is None else error_name(partition.error_code)
        return {"top_level": top, "partition": error, "error": top or error, "write": bool(box.states_written())}


def _request(box: ControllerBox, inputs: Mapping[str, Any], version: int) -> AlterPartitionRequest:
    isr, leader = _isr(inputs), inputs.get("leader_id", LEADER)
    recovery = inputs.get("recovery", "RECOVERED")
    partition = AlterPartitionPartition(
        partition_index=inputs.get("partition", 0),
        leader_epoch=BEFORE.leader_epoch + inputs.get("leader_epoch_delta", 0),
        leader_recovery_state=RECOVERY.get(recovery, recovery),
        partition_epoch=box.state("t-0").partition_epoch + inputs.get("partition_epoch_delta", 0),
    )
    if version == OLD:
        partition.new_isr = tuple(isr)
        topic = AlterPartitionTopic(topic_name=inputs.get("topic", "t"), partitions=[partition])
    else:
        partition.new_isr_with_epochs = [AlterPartitionBrokerState(broker_id=broker) for broker in isr]
        topic_id = RANDOM_ID if inputs.get("topic_id") == "random" else box.topic_id("t")
        topic = AlterPartitionTopic(topic_id=topic_uuid(topic_id), partitions=[partition])
    epoch = box.broker_epoch(leader) + inputs.get("broker_epoch_delta", 0)
    request = AlterPartitionRequest(broker_id=leader, broker_epoch=epoch, topics=[topic])
    request.version = version
    return request


def _isr(inputs: Mapping[str, Any]) -> list[int]:
    if "dead" in inputs.get("isr_includes", ""):
        return [LEADER, FOLLOWER, DEAD]
    if inputs.get("isr") == "same":
        return [LEADER, FOLLOWER]
    return [LEADER, FOLLOWER, JOINING][: inputs.get("isr_size", 3)]
