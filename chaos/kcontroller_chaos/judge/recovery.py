"""Facts computed once at a run's end: faults, elections, and how long it took to recover. Times in microseconds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kcontroller_chaos.checking import WRITES, accepted, controller_named, writes
from kcontroller_chaos.history.read import Event, History
from pytest_kcontroller.model.history import ControllerFailover, FaultAsked, LeaderAnswered, LeaderElected
from pytest_kcontroller.model.text import whole_number
from pytest_kcontroller.zookeeper.znodes import CONTROLLER, CONTROLLER_EPOCH, parse_state_path

YES, NO, NOTHING = "yes", "no", "nothing to recover"
NEW_TOPIC = "new"
"""What a partition's first leader is elected for."""
SKIPPED = "skipped"
"""The status of a drawn fault that had nothing to hit, or lay in wait in vain: it counts neither as done nor as failed."""
_STEPS = ("asked", "applied", "observed", "healed")


def faults(history: History) -> list[dict[str, Any]]:
    """One entry per fault and node, in the order in which they were asked for.

    One that lay in wait in vain was not applied; what it did all the same (`late_ephemerals` ends a session) it did from
    `begun_us` on.
    """
    found: dict[tuple[str, Any], dict[str, Any]] = {}
    for event in history.events:
        if not event["kind"].startswith("fault."):
            continue
        step = event["kind"].removeprefix("fault.")
        entry = found.setdefault((event["fault"], event.get("node")), _fault(event))
        entry["status"] = step
        if step in _STEPS:
            entry[f"{step}_us"] = event["t_us"]
        if step == "applied":
            entry["begun_us"] = event["t_us"]
        if step == SKIPPED:
            entry["applied_us"] = None  # at most it lay in wait
        if step == SKIPPED or step.startswith("not-"):
            entry["failed"].append(f"{step}: {event.get('why', '')}")
        entry["evidence"] = event.get("evidence", entry["evidence"])
    return list(found.values())


def went_wrong(fault: Mapping[str, Any]) -> bool:
    """Whether an entry of verdicts.json was not applied, observed, lasting or healed. Its status is that of its last step,
    and one that nobody observed is healed all the same."""
    return bool(fault["why"]) and fault["status"] != SKIPPED


def _fault(event: Event) -> dict[str, Any]:
    entry = {
        "id": event["fault"],
        "kind": event["fault_kind"],
        "mode": event.get("mode"),
        "target": event.get("target"),
    }
    entry |= {"node": event.get("node"), **{f"{step}_us": None for step in _STEPS}, "evidence": None}
    return {**entry, "begun_us": None, "status": "", "failed": []}


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
        epoch, node = whole_number(written[CONTROLLER_EPOCH]), controller_named(written[CONTROLLER])
        if epoch is None or node is None:
            continue  # a program's own, in a format of its own
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

    A new controller, and a new leader of a partition, belong to the fault that had an effect last before, in the order of
    ZooKeeper's log; the time counts from that effect. `converged`: at the end the cluster was as it should be, so a fault
    after which nothing was elected lost nothing.
    """
    asked = {(event["fault"], event.get("node")): event for event in history.of(FaultAsked) if "zxid" in event}
    begun = [fault for fault in injected if fault["begun_us"] is not None]
    known = [(fault, asked[key]) for fault in begun if (key := (fault["id"], fault["node"])) in asked]
    effects = sorted(effect for fault, event in known for effect in _effects(history, fault, event))
    controllers = _by_fault([(int(one["zxid"]), one) for one in elected], effects)
    leaders = _by_fault(_moves(history), effects)
    answers_us: dict[Led, int] = {}
    for row in history.rows(LeaderAnswered):
        answers_us.setdefault(_led(row), int(row["t_us"]))
    entries = []
    for fault in sorted((fault for fault in begun if fault["observed_us"] is not None), key=_shown):
        key = fault["id"], fault["node"]
        mine = sorted([*controllers.get(key, ()), *leaders.get(key, ())], key=lambda caused: caused.zxid)
        effect_us = mine[0].effect.t_us if mine else _shown(fault)
        new = [caused.what for caused in controllers.get(key, ())][-1:]
        moved = {caused.what[:2]: caused.what for caused in leaders.get(key, ())}  # of each partition the last
        entry = {"fault": fault["id"], "kind": fault["kind"], "mode": fault["mode"]}
        entry |= {"start_us": fault["observed_us"], "effect_us": effect_us}
        entries.append(entry | _outcome(effect_us, new, moved.values(), answers_us, converged=converged))
    return entries


def _outcome(
    effect_us: int,
    controllers: Sequence[dict[str, Any]],
    moved: Collection[Move],
    answers_us: Mapping[Led, int],
    *,
    converged: bool,
) -> dict[str, Any]:
    controller_us = controllers[-1]["failover_us"] if controllers else None
    answers = [answers_us.get(move[:3]) for move in moved]
    answered_us = max((t_us for t_us in answers if t_us is not None), default=None)
    ends = [t_us for t_us in (controller_us, answered_us) if t_us is not None]
    recovered = NO if None in answers or (controllers and controller_us is None) else YES
    if not moved and not controllers:
        recovered = NOTHING if converged else NO
    return {
        "controller_us": controller_us,
        "published_us": max((move[3] for move in moved), default=None),
        "answered_us": answered_us,
        "recovered": recovered,
        "recovery_us": max(0, max(ends) - effect_us) if recovered == YES else None,
    }


# --- what caused what, in the order of zxids ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, order=True)
class _Effect:
    """One effect of a fault: after the transaction `zxid`; of two after the same one the later fault's is the last."""

    zxid: int
    asked: int
    t_us: int
    fault: tuple[str, Any] = field(compare=False)


@dataclass(frozen=True, slots=True)
class _Caused:
    zxid: int
    effect: _Effect
    what: Any


def _effects(history: History, fault: dict[str, Any], asked: Event) -> Iterator[_Effect]:
    """That it was injected, what its evidence names in ZooKeeper's log, and each end of a session that it hit."""
    key, order = (fault["id"], fault["node"]), int(asked["seq"])
    evidence = fault["evidence"] or {}
    begun_us = _shown(fault) if "zxid" not in evidence else int(fault["begun_us"])
    yield _Effect(int(asked["zxid"]), order, begun_us, key)
    for txn in history.txns:
        ends = txn["type"] == "close-session" and txn["session"] in asked["sessions"]
        if int(txn["zxid"]) > asked["zxid"] and (ends or txn["zxid"] == evidence.get("zxid")):
            yield _Effect(int(txn["zxid"]), order, int(txn["t_us"]), key)


def _by_fault(happened: Iterable[tuple[int, Any]], effects: Sequence[_Effect]) -> dict[Any, list[_Caused]]:
    """Fault -> what it caused, in order; what was before every fault is nobody's."""
    found: dict[Any, list[_Caused]] = {}
    zxids = [effect.zxid for effect in effects]
    for zxid, what in happened:
        if at := bisect_left(zxids, zxid):
            found.setdefault(effects[at - 1].fault, []).append(_Caused(zxid, effects[at - 1], what))
    return found


def _moves(history: History) -> list[tuple[int, Move]]:
    """New leaders of partitions that had one, each with the transaction that wrote its state; a new topic lost nothing."""
    written: dict[Led, int] = {}
    for write in writes(history):
        if (tp := parse_state_path(write.path)) is None or write.type not in WRITES:
            continue
        state = write.json  # anything, if somebody else wrote it
        if isinstance(state, dict) and isinstance(epoch := state.get("leader_epoch"), int):
            written.setdefault((tp.topic, tp.partition, epoch), write.zxid)
    moves = ((_led(row), row) for row in history.rows(LeaderElected) if row["reason"] != NEW_TOPIC)
    return sorted((written[led], (*led, int(row["t_us"]))) for led, row in moves if led in written)


def _shown(fault: dict[str, Any]) -> int:
    """When it had its effect by its evidence; one whose evidence has no time had it when it was applied."""
    evident_us = (fault["evidence"] or {}).get("t_us")
    return int(evident_us) if isinstance(evident_us, int) else int(fault["begun_us"])


Led = tuple[str, int, int]
"""Topic, partition and leader epoch: a leader of a partition, from its election until the next."""
Move = tuple[str, int, int, int]
"""The same, and the run time at which it was told."""


def _led(row: Event) -> Led:
    return str(row["topic"]), int(row["partition"]), int(row["leader_epoch"])
