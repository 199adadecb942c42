"""Facts computed once at a run's end: faults, elections, and how long it took to recover. Times in microseconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kcontroller_chaos.checking import accepted
from kcontroller_chaos.history.read import Event, History
from pytest_kcontroller.model.history import ControllerFailover, LeaderAnswered, LeaderElected
from pytest_kcontroller.zookeeper.znodes import CONTROLLER, CONTROLLER_EPOCH, decode_controller

YES, NO, NOTHING = "yes", "no", "nothing to recover"
SKIPPED = "skipped"
"""The status of a drawn fault that had nothing to hit: it counts neither as done nor as failed."""
_STEPS = ("asked", "applied", "observed", "healed")


def faults(history: History) -> list[dict[str, Any]]:
    """One entry per fault and node, in the order in which they were asked for."""
    found: dict[tuple[str, Any], dict[str, Any]] = {}
    for event in history.events:
        if not event["kind"].startswith("fault."):
            continue
        step = event["kind"].removeprefix("fault.")
        entry = found.setdefault((event["fault"], event.get("node")), _fault(event))
        entry["status"] = step
        if step in _STEPS:
            entry[f"{step}_us"] = event["t_us"]
        if step == SKIPPED or step.startswith("not-"):
            entry["failed"].append(f"{step}: {event.get('why', '')}")
        entry["evidence"] = event.get("evidence", entry["evidence"])
    return list(found.values())


def _fault(event: Event) -> dict[str, Any]:
    entry = {
        "id": event["fault"],
        "kind": event["fault_kind"],
        "mode": event.get("mode"),
        "target": event.get("target"),
    }
    entry |= {"node": event.get("node"), **{f"{step}_us": None for step in _STEPS}, "evidence": None}
    return {**entry, "status": "", "failed": []}


def elections(history: History) -> list[dict[str, Any]]:
    """Who was elected, by ZooKeeper's log; when its failover was done, by its own record."""
    done = {
        (event["epoch"], event["writer"].partition(".")[0]): event["t_us"] for event in history.of(ControllerFailover)
    }
    found = []
    for txn in history.txns:
        written = {op["path"]: op["data"] for op in accepted(txn) if op["type"] != "delete"}
        if CONTROLLER_EPOCH not in written or CONTROLLER not in written:
            continue
        epoch, node = int(written[CONTROLLER_EPOCH]), decode_controller(written[CONTROLLER].encode())
        entry = {"epoch": epoch, "node": node, "session": txn["session"], "zxid": txn["zxid"]}
        found.append({**entry, "elected_us": txn["t_us"], "failover_us": done.get((epoch, f"node-{node}"))})
    return found


def recovery(
    history: History,
    injected: Sequence[dict[str, Any]],
    elected: Sequence[dict[str, Any]],
    *,
    converged: bool,
) -> list[dict[str, Any]]:
    """One entry per observed fault, in the order of their beginnings.

    An election belongs to the fault that was applied last before it: ZooKeeper acts on a fault before the engine has
    observed it. The time itself counts from `effect_us`, the moment that the evidence gives (else the observation).
    `converged`: at the end the cluster was as it should be, so a fault after which nothing was elected lost nothing.
    """
    seen = sorted((fault for fault in injected if fault["observed_us"] is not None), key=_begin)
    elections_us = [(int(row["t_us"]), _led(row)) for row in history.rows(LeaderElected)]
    answers_us: dict[Led, int] = {}
    for row in history.rows(LeaderAnswered):
        answers_us.setdefault(_led(row), int(row["t_us"]))
    entries = []
    for index, fault in enumerate(seen):
        begin, effect = _begin(fault), _effect(fault)
        until = _begin(seen[index + 1]) if index + 1 < len(seen) else None
        moves = [(t_us, led) for t_us, led in elections_us if _within(t_us, begin, until)]
        answers = [answers_us.get(led) for _, led in moves]
        new = [e for e in elected if _within(e["elected_us"], begin, until)]
        controller = new[-1]["failover_us"] if new else None
        answered = max((a for a in answers if a is not None), default=None)
        ends = [t for t in (controller, answered) if t is not None]
        missing = None in answers or (bool(new) and controller is None)
        recovered = NO if missing else YES
        if not moves and not new:
            recovered = NOTHING if converged else NO
        entry = {"fault": fault["id"], "kind": fault["kind"], "mode": fault["mode"]}
        entry |= {"start_us": fault["observed_us"], "effect_us": effect, "controller_us": controller}
        entry |= {"published_us": max((t_us for t_us, _ in moves), default=None), "answered_us": answered}
        took = max(0, max(ends) - effect) if recovered == YES else None
        entries.append({**entry, "recovered": recovered, "recovery_us": took})
    return entries


def _effect(fault: dict[str, Any]) -> int:
    """When the fault had its effect by its evidence; the engine saw it a moment later."""
    evident_us = (fault["evidence"] or {}).get("t_us")
    return int(evident_us) if isinstance(evident_us, int) else int(fault["observed_us"])


def _begin(fault: dict[str, Any]) -> int:
    times = [_effect(fault), *(fault[key] for key in ("applied_us", "observed_us") if fault[key] is not None)]
    return int(min(times))


def _within(t_us: int, start: int, until: int | None) -> bool:
    return t_us >= start and (until is None or t_us < until)


Led = tuple[str, int, int]
"""Topic, partition and leader epoch: a leader of a partition, from its election until the next."""


def _led(row: Event) -> Led:
    return str(row["topic"]), int(row["partition"]), int(row["leader_epoch"])
