"""leader_election: who leads, by which strategy; and what is written and sent about it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.controller.decide.leader import Elections
from pytest_kcontroller.controller.transitions import PartitionState, PartitionTransition
from pytest_kcontroller.model.cluster import NO_LEADER, Address, Assignment, Broker
from pytest_kcontroller.model.election import ElectionReason, told
from pytest_kcontroller.model.kafka_config import UNCLEAN_LEADER_ELECTION
from pytest_kcontroller.plugin.manager import load_plugins
from pytest_kcontroller.zookeeper.config_znodes import (
    CONFIG_CHANGE_PREFIX,
    TOPIC_CONFIGS,
    config_path,
    encode_config,
    encode_config_change,
)
from pytest_kcontroller.zookeeper.session import Create
from tests.fidelity.stage import TOPIC, TP, shown, stage, state_of
from tests.fidelity.vectors import Vector
from tests.tools.controller_box import ControllerBox

REASONS = {
    "offline": ElectionReason.OFFLINE,
    "reassign": ElectionReason.REASSIGNED,
    "preferred": ElectionReason.PREFERRED,
    "controlled_shutdown": ElectionReason.CONTROLLED_SHUTDOWN,
}
UNCLEAN = UNCLEAN_LEADER_ELECTION.name
STOCK = load_plugins(installed=False).selectors_for({})


def observe(vector: Vector) -> dict[str, Any]:
    inputs = vector.inputs
    if "topic_override" in inputs:
        return _configured(inputs)
    if "start_unclean" in inputs:
        return _enabled_later(inputs)
    if inputs["strategy"] == "initialize":
        return _on_stage(inputs)
    return (_on_stage(inputs) if "zk" in inputs else {}) | _decided(inputs)


def _decided(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """By the decision alone, without a ZooKeeper."""
    context = Context(1, 1)
    for broker in _registered(inputs):
        context.register(Broker(id=broker, address=Address("127.0.0.1", 9000 + broker)))
    for broker in inputs.get("shutting_down", ()):
        context.begin_shutdown(broker)
    context.add_topic(TOPIC, None)
    context.assign(TOPIC, {0: _assignment(inputs)})
    state = state_of(inputs.get("zk", inputs))
    context.set_leadership({TP: state})
    elections, reason = Elections(STOCK, STOCK, lambda event: None), REASONS[inputs["strategy"]]
    ((_, elected),) = elections.elect(context, {TP: state}, reason, [TP] if _unclean(inputs) else ())
    if elected is None:
        recipients = told(_assignment(inputs), context.table({}), reason)
        return {"leader": None, "recipients": list(recipients), "unclean_election_count_delta": 0}
    return {
        **(shown(elected.state) or {}),
        "new_isr": list(elected.state.isr),
        "recipients": list(elected.recipients),
        "unclean_election_count_delta": int(elected.state.leader not in state.isr),
    }


def _on_stage(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """By the state machine, which writes the state and sends requests."""
    assignment, zk = _assignment(inputs), inputs.get("zk")
    config = {UNCLEAN: _unclean(inputs)}
    with stage(brokers=_registered(inputs), shutting_down=inputs.get("shutting_down", ()), config=config) as on:
        before = None if zk is None else state_of(zk)
        on.place([assignment.replicas], states={} if before is None else {0: before})
        on.context.assign(TOPIC, {0: assignment})
        origin = PartitionState.NEW if before is None else PartitionState.OFFLINE
        on.context.set_partition_state([TP], origin)
        reason = REASONS.get(inputs["strategy"], ElectionReason.OFFLINE)
        online = PartitionTransition(target=PartitionState.ONLINE, cause="test", election=reason)
        refused = on.box.run(on.term.partitions.transition([TP], online))
        sent, state = on.told()["leader_and_isr"], None if refused else on.box.find_state(str(TP))
        return {
            **(shown(state) or {"leader": None}),
            "new_isr": None if state is None else list(state.isr),
            "recipients": None if sent is None else sent["brokers"],
            "is_new": None if sent is None else sent["is_new"],
            "state_after": on.context.partition_state(TP).value,
        }


def _configured(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Whether an unclean election is allowed, by the topic's own configuration over the broker's."""
    override = inputs["topic_override"]
    with stage(brokers=[1], config={UNCLEAN: inputs.get("broker_default", False)}) as on:
        on.place([[1]])
        text = override if isinstance(override, str) else json.dumps(override)
        on.box.write(Create(config_path(TOPIC_CONFIGS, TOPIC), encode_config({UNCLEAN: text})))
        effective = on.box.run(on.term.configs.unclean([TOPIC])).get(TOPIC)
        said = [event["error"] for event in on.box.events("controller.event-failed")]
        return {
            "effective": effective,
            "error": "ConfigException" if effective is None and UNCLEAN in str(said) else None,
        }


def _enabled_later(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The leader, which was alone in the ISR, is dead."""
    dead, out_of_sync = 2, 3
    with ControllerBox(brokers=(out_of_sync,), config={UNCLEAN: inputs["start_unclean"]}) as box:
        box.create_topic(TOPIC, [[dead, out_of_sync]], states={0: state_of({"leader": dead, "isr": [dead]})})
        box.start()
        before, epoch = box.state(str(TP)).leader, box.controller.epoch
        box.write(Create(config_path(TOPIC_CONFIGS, TOPIC), encode_config({UNCLEAN: "true"})))
        box.write(Create(CONFIG_CHANGE_PREFIX, encode_config_change(TOPIC_CONFIGS, TOPIC), sequence=True))
        led = (before, box.state(str(TP)).leader) == (NO_LEADER, out_of_sync) and box.controller.epoch == epoch
        there = "the live non-ISR replica, without a controller change"
        return {"leader": there if led else f"{before}, then {box.state(str(TP)).leader}"}


def _registered(inputs: Mapping[str, Any]) -> Collection[int]:
    for key in ("registered", "live_or_shutting_down", "live"):
        if key in inputs:
            return [*inputs[key], *(b for b in inputs.get("shutting_down", ()) if b not in inputs[key])]
    return inputs.get("shutting_down", ())


def _assignment(inputs: Mapping[str, Any]) -> Assignment:
    """`target`: where the replicas go; whatever else there is of them is on its way out."""
    return Assignment(tuple(inputs["target"] if "target" in inputs else inputs["assignment"]))


def _unclean(inputs: Mapping[str, Any]) -> bool:
    return bool(inputs.get("unclean", inputs.get("allow_unclean", False)))
