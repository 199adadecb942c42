"""A node ends only when a fault ends it, and at the end every node that runs is registered."""

from __future__ import annotations

from typing import Any

from kcontroller_chaos.checking import LIVENESS, Verdict
from kcontroller_chaos.history.read import Event, History
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.model.history import FaultAsked, ProcessExited, RunEnded, ZkTree

SIGKILLED = -9
KILL, SIGTERM = "kill", "sigterm"
"""The fault whose end has one status, and its mode that lets a node end by itself."""


class NodesStayUp(Invariant):
    name = "nodes-stay-up"
    kind = LIVENESS
    expected = "a node's process ends only by a fault that may end it; every running node is in /brokers/ids at the end"
    source = "this project: only a fault may end a node, else every other verdict is about something else"

    def check(self, history: History) -> Verdict:
        tree = history.tree
        if tree is None:
            return Verdict.unknown("the run did not reach its end: no zk.tree")
        checks = max(len(history.statuses), 1)
        for event in unplanned_exits(history):
            seen = f"node {event['node']} ended with status {event['status']}"
            where = f"logs/node-{event['node']}*.log, {event['t_us'] / 1e6:.3f} s into the run"
            witness = {"node": event["node"], "status": event["status"], "t_us": event["t_us"]}
            return Verdict.violated(checks, seen=seen, where=where, witness=witness)
        missing = [node for node in sorted(history.statuses) if node not in tree["brokers"]]
        if missing:
            seen = f"running but not registered: {', '.join(f'node {node}' for node in missing)}"
            witness = {"missing": missing, "brokers": tree["brokers"]}
            return Verdict.violated(checks, seen=seen, where="/brokers/ids", witness=witness)
        return Verdict.of(checks)


def unplanned_exits(history: History) -> list[Event]:
    """Ends of processes before the run's own end that no fault on that node explains."""
    ended_us = min((int(event["t_us"]) for event in history.of(ZkTree, RunEnded)), default=None)
    ending = [asked for asked in history.of(FaultAsked) if asked.get("ends_process", asked["fault_kind"] == KILL)]

    def planned(event: Event) -> bool:
        return any(
            event["node"] in asked.get("nodes", [asked["node"]])
            and asked["t_us"] <= event["t_us"]
            and (asked["fault_kind"] != KILL or event["status"] in _statuses(asked.get("mode")))
            for asked in ending
        )

    exits = history.of(ProcessExited)
    return [event for event in exits if (ended_us is None or event["t_us"] < ended_us) and not planned(event)]


def _statuses(mode: Any) -> tuple[int, ...]:
    """How the process of a killed node may end; one that does not end by SIGTERM is killed when the fault is healed."""
    return (0, SIGKILLED) if mode == SIGTERM else (SIGKILLED,)
