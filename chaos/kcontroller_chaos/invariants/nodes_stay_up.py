"""A node ends only when a fault ends it, and at the end every node that runs is registered; a program of yours is ready."""

from __future__ import annotations

from collections.abc import Sequence

from kcontroller_chaos.checking import LIVENESS, Verdict, ended_by_test, node_of
from kcontroller_chaos.history.read import Event, History
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.model.history import (
    FALLEN,
    BrokerLogDirFailed,
    FaultAsked,
    FaultEvent,
    FaultHealed,
    FaultNotHealed,
    FaultSkipped,
    NodeReady,
    NodeRespawned,
    NodeStarted,
    ProcessExited,
    ProgramEnded,
    RunEnded,
    ZkTree,
)
from pytest_kcontroller.model.text import printable

SIGKILLED = -9
KILL = "kill"
"""The fault of a history that does not say whether a process may end by it, and how."""

HALTING = ("disk_full", "log_dir_failure")
"""The faults by which a broker halts that has lost its last log directory."""
HALTED = 1
"""Its status then."""


class NodesStayUp(Invariant):
    name = "nodes-stay-up"
    kind = LIVENESS
    expected = (
        "a node's process ends only by a fault that may end it; at the end every running node is registered, or ready"
    )
    any_program = True
    source = "this project: only a fault may end a node, else every other verdict is about something else"

    def check(self, history: History) -> Verdict:
        tree, ready = history.tree, history.of(NodeReady)
        if tree is None and not ready and not history.of(RunEnded):
            return Verdict.unknown("the run did not reach its end: no zk.tree")
        checks = max(len(history.statuses), len({event["node"] for event in ready}), 1)
        for event in unplanned_exits(history):
            seen = f"node {event['node']} ended with status {event['status']}{_last_words(history, event)}"
            where = f"logs/node-{event['node']}*.log, {event['t_us'] / 1e6:.3f} s into the run"
            witness = {"node": event["node"], "status": event["status"], "t_us": event["t_us"]}
            return Verdict.violated(checks, seen=seen, where=where, witness=witness)
        last = {event["node"]: event for event in ready if _counts(history, event)}
        if unready := [event for event in last.values() if event["why"]]:
            seen = "; ".join(_not_ready(history, event) for event in unready)
            where = ", ".join(f"logs/node-{event['node']}*.log" for event in unready)
            return Verdict.violated(checks, seen=seen, where=where, witness=dict(unready[0]))
        if tree is None:
            return Verdict.of(checks)
        missing = [node for node in sorted(history.statuses) if node not in tree["brokers"]]
        if missing:
            seen = f"running but not registered: {', '.join(f'node {node}' for node in missing)}"
            witness = {"missing": missing, "brokers": tree["brokers"]}
            return Verdict.violated(checks, seen=seen, where="/brokers/ids", witness=witness)
        return Verdict.of(checks)


def _counts(history: History, ready: Event) -> bool:
    """Whether it is the node's own: no test has ended it since, and no fault had ended it then."""
    since = any(t_us > ready["t_us"] for t_us in ended_by_test(history, ready["node"]))
    return not since and (ready["why"] != FALLEN or not _in_a_fault(history, ready))


def _in_a_fault(history: History, ready: Event) -> bool:
    """Whether a fault that may have ended this node is not healed yet, as in the middle of a test."""
    ended = history.of(FaultHealed, FaultNotHealed, FaultSkipped)
    over = [event["fault"] for event in ended if event["t_us"] <= ready["t_us"]]
    return any(
        ready["node"] in asked.get("nodes", [asked["node"]]) and asked["fault"] not in over
        for asked in _ending(history)
    )


def _not_ready(history: History, event: Event) -> str:
    if event["why"] == FALLEN:
        return f"node {event['node']} was started again, and has ended by itself{_last_words(history, event)}"
    return f"node {event['node']} runs, and is not ready again: {event['why']}"


def _last_words(history: History, event: Event) -> str:
    """What the newest process of the event's node printed before it ended, until then; empty: nothing, or nobody knows."""
    ended = [e for e in history.of(ProgramEnded) if e["node"] == event["node"] and e["t_us"] <= event["t_us"]]
    lines = [printable(line) for line in ended[-1]["last"]] if ended else []
    return f"; it printed last: {' | '.join(lines)}" if lines else ""


def unplanned_exits(history: History) -> list[Event]:
    """Ends of processes before the run's own end that no fault on that node explains."""
    looks = [int(event["t_us"]) for event in history.of(ZkTree, NodeReady)]
    ended_us = min((int(event["t_us"]) for event in history.of(RunEnded)), default=max(looks, default=None))
    ending = _ending(history)

    def planned(event: Event) -> bool:
        return (
            _by_the_test(history, event)
            or _respawned(history, event)
            or any(_explains(history, asked, event) for asked in ending)
        )

    exits = history.of(ProcessExited)
    return [event for event in exits if (ended_us is None or event["t_us"] < ended_us) and not planned(event)]


def _explains(history: History, asked: Event, exited: Event) -> bool:
    """Whether the process may have ended like that by this fault. By one on its disk a broker halts while that is there, and
    one that records what it does has said before that it has lost its last log directory."""
    if (
        exited["node"] not in asked.get("nodes", [asked["node"]])
        or exited["t_us"] < asked["t_us"]
        or exited["status"] not in (_statuses(asked) or [exited["status"]])
    ):
        return False
    if asked["fault_kind"] not in HALTING:
        return not _over_before(history, asked, exited, FaultSkipped)
    records = any(started["node"] == exited["node"] for started in history.of(NodeStarted))
    if exited["status"] != HALTED or not records:
        return not _over_before(history, asked, exited, FaultHealed, FaultSkipped)
    began_us = _before(history, exited)
    return any(
        began_us < failed["t_us"] <= exited["t_us"]
        and not _over_before(history, asked, failed, FaultHealed, FaultSkipped)
        for failed in history.of(BrokerLogDirFailed)
        if node_of(failed) == exited["node"] and failed["t_us"] >= asked["t_us"]
    )


def _over_before(history: History, asked: Event, event: Event, *steps: type[FaultEvent]) -> bool:
    """Whether one of these steps of the fault came before the event."""
    return any(
        over["fault"] == asked["fault"] and asked["t_us"] <= over["t_us"] < event["t_us"] for over in history.of(*steps)
    )


def _ending(history: History) -> list[Event]:
    """The faults that may end a process."""
    return [asked for asked in history.of(FaultAsked) if asked.get("ends_process", asked["fault_kind"] == KILL)]


def _respawned(history: History, exited: Event) -> bool:
    """Whether it was started again as whoever runs the program says that it is to be."""
    return any(
        again["node"] == exited["node"] and again["t_us"] >= exited["t_us"] for again in history.of(NodeRespawned)
    )


def _by_the_test(history: History, exited: Event) -> bool:
    """Whether a test has ended this very process itself."""
    began_us = _before(history, exited)
    return any(began_us <= t_us <= int(exited["t_us"]) for t_us in ended_by_test(history, exited["node"]))


def _before(history: History, exited: Event) -> int:
    """When the node's process before that one ended; -1: there was none."""
    exits = history.of(ProcessExited)
    before = [int(e["t_us"]) for e in exits if e["node"] == exited["node"] and e["t_us"] < exited["t_us"]]
    return max(before, default=-1)


def _statuses(asked: Event) -> Sequence[int]:
    """How a process may end by this fault; empty: anyhow."""
    statuses: Sequence[int] = asked.get("statuses", (SIGKILLED,) if asked["fault_kind"] == KILL else ())
    return statuses
