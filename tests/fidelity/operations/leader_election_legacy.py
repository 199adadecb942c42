"""leader_election_legacy: the rules of Kafka before 1.1, where they differ as selectors of their own (`offline@0.8.0`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_kcontroller.hookspecs import LeaderSelector
from pytest_kcontroller.model.cluster import NO_LEADER, Assignment
from pytest_kcontroller.model.election import BrokerTable, BrokerView, ElectionReason, PartitionView, told
from pytest_kcontroller.plugin.manager import load_plugins
from tests.fidelity.vectors import Vector

_NAMES = {
    "OfflinePartition": ("offline", ElectionReason.OFFLINE),
    "ReassignedPartition": ("reassigned", ElectionReason.REASSIGNED),
    "PreferredReplica": ("preferred", ElectionReason.PREFERRED),
    "ControlledShutdown": ("controlled-shutdown", ElectionReason.CONTROLLED_SHUTDOWN),
    "NoOp": ("noop", ElectionReason.OFFLINE),
}
"""The selectors by Kafka's names, and ours with the reason for which each is asked."""
_RULES = {"0.8.0": "0.8.0", "0.8-": "0.8.0", "0.8.2": "0.8.2"}
"""How the versions of a vector begin -> the version of the rule, where it is not that of 3.9."""


def observe(vector: Vector) -> dict[str, Any]:
    inputs = vector.inputs
    name, reason = _NAMES[inputs["selector"]]
    selector, view = _selector(name, _rule(inputs["version"])), _view(inputs)
    choice = selector.select(view, reason)
    if choice is None:
        first = next(iter(view.assignment.replicas), None)
        return {"error": _error(inputs["selector"], first == view.leader), "effect": "swallowed: no write, no request"}
    recipients = choice.recipients or told(view.assignment, view.brokers, reason)
    return {
        "leader": choice.leader,
        "isr": list(choice.isr),
        "recipients": list(recipients),
        "unclean_count_delta": int(choice.leader not in view.isr),
        "leader_epoch_delta": int((choice.leader, choice.isr) != (view.leader, view.isr)),
    }


def _rule(versions: str) -> str:
    return next((rule for first, rule in _RULES.items() if versions.startswith(first)), "")


def _selector(name: str, rule: str) -> LeaderSelector:
    """The older one if there is one: else the rule has not changed."""
    selectors = load_plugins(installed=False).selectors
    older = f"{name}@{rule}"
    made: LeaderSelector = selectors.make(older if older in selectors.names else name)
    return made


def _error(selector: str, leads_already: bool) -> str:
    """What Kafka raised where a selector of ours answers that there is nobody."""
    if selector == "PreferredReplica" and leads_already:
        return "LeaderElectionNotNeededException"
    offline = selector in ("OfflinePartition", "ReassignedPartition")
    return "NoReplicaOnlineException" if offline else "StateChangeFailedException"


def _view(inputs: Mapping[str, Any]) -> PartitionView:
    shutting_down = inputs.get("shutting_down", ())
    registered = sorted({*inputs.get("live", ()), *inputs.get("registered", ()), *shutting_down})
    views = {b: BrokerView(id=b, shutting_down=b in shutting_down) for b in registered}
    return PartitionView(
        topic="t",
        partition=0,
        assignment=Assignment(tuple(inputs.get("target", inputs.get("assignment")) or ())),
        leader=inputs.get("leader", NO_LEADER),
        isr=tuple(inputs["isr"]),
        leader_epoch=0,
        partition_epoch=0,
        controller_epoch=1,
        unclean_allowed=inputs.get("unclean", False),
        brokers=BrokerTable(views),
    )
