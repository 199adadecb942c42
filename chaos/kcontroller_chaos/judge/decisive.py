"""The decisive window of a failure: what happened within two seconds of its witness, one plain line per event.

When there is more than a person reads, what says least is left out first: by the rank of its kind, then what is not about
the partition of the witness, then what is far from it. How many were left out is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcontroller_chaos.history.read import Event, History
from pytest_kcontroller.model.history import FaultNotApplied, FaultNotHealed, FaultNotObserved, RunEnded, ZkTree
from pytest_kcontroller.model.history.event import Focus, HistoryEvent, Rank, parsed
from pytest_kcontroller.model.text import in_words
from pytest_kcontroller.zookeeper.znodes import parse_state_path

AROUND_US = 2_000_000
SHOWN = 40
_STAMP = ("writer", "seq", "t_us", "kind")


def windows(history: History, verdicts: Mapping[str, Any], nodes: Mapping[str, int]) -> list[dict[str, Any]]:
    """One window per violated invariant, then one per fault that was not applied, observed or healed."""
    found = []
    for entry in verdicts["invariants"]:
        if entry["verdict"] == "violated":
            seen = entry.get("witness") or {}
            witness, at_us = _place(history, seen)
            focus = Focus(nodes, _partition(seen))
            found.append({"about": "invariant", "name": entry["name"], **_window(history, focus, witness, at_us)})
    for fault in verdicts["faults"]:
        if fault["why"]:  # not its status: one that nobody observed is healed all the same
            failed = history.of(FaultNotApplied.kind, FaultNotObserved.kind, FaultNotHealed.kind)
            of_it = (e for e in failed if e["fault"] == fault["id"] and e.get("node") == fault["node"])
            witness = next(of_it, None)
            at_us = int(witness["t_us"]) if witness else _end(history)
            found.append({"about": "fault", "name": fault["id"], **_window(history, Focus(nodes), witness, at_us)})
    return found


def last_moments(history: History, nodes: Mapping[str, int]) -> dict[str, Any]:
    """The window at the end of a history: what a test that failed just now did and saw."""
    return _window(history, Focus(nodes), None, max((int(event["t_us"]) for event in history.events), default=0))


def _place(history: History, witness: Mapping[str, Any]) -> tuple[Event | None, int]:
    """The event that a witness names and its time; a witness of the state at the end is the end."""
    zxid, t_us = witness.get("zxid"), witness.get("t_us")
    if zxid is not None:
        number = int(zxid, 16) if isinstance(zxid, str) else int(zxid)
        for txn in history.txns:
            if txn["zxid"] == number:
                return txn, int(txn["t_us"])
    if t_us is not None:
        same = (e for e in history.events if e["t_us"] == t_us and e.get("node") == witness.get("node"))
        return next(same, None), int(t_us)
    return None, _end(history)


def _end(history: History) -> int:
    return max((int(event["t_us"]) for event in history.of(ZkTree.kind) or history.events), default=0)


def _partition(witness: Mapping[str, Any]) -> str | None:
    """The partition that a witness is about, as TOPIC-NUMBER."""
    if (tp := parse_state_path(str(witness.get("path")))) is not None:
        return str(tp)
    return f"{witness['topic']}-{witness['partition']}" if {"topic", "partition"} <= witness.keys() else None


def _window(history: History, focus: Focus, witness: Event | None, at_us: int) -> dict[str, Any]:
    ended_us = min((int(event["t_us"]) for event in history.of(RunEnded.kind)), default=at_us + AROUND_US)
    last_us = max(at_us, min(at_us + AROUND_US, ended_us))  # how a finished run is taken down decides nothing
    near = [(e, parsed(e)) for e in history.events if at_us - AROUND_US <= int(e["t_us"]) <= last_us]
    told = [(e, value) for e, value in near if e is witness or _rank(value) < Rank.UNTOLD]
    by_weight = sorted(told, key=lambda one: (one[0] is not witness, *_weight(one[0], one[1], focus, at_us)))
    kept = {id(event) for event, _ in by_weight[:SHOWN]}
    return {
        "at_us": at_us,
        "from_us": max(0, at_us - AROUND_US),
        "to_us": last_us,
        "left_out": len(told) - len(kept),
        "events": [
            {"t_us": e["t_us"], "writer": e["writer"], "text": _sentence(e, value, focus), "witness": e is witness}
            for e, value in told
            if id(e) in kept
        ],
    }


def _rank(value: HistoryEvent | None) -> Rank:
    return Rank.DECISIVE if value is None else value.weight()


def _weight(event: Event, value: HistoryEvent | None, focus: Focus, at_us: int) -> tuple[Rank, bool, int]:
    about = value is not None and focus.partition is not None and value.concerns(focus.partition)
    return _rank(value), not about, abs(int(event["t_us"]) - at_us)


def _sentence(event: Event, value: HistoryEvent | None, focus: Focus) -> str:
    """Names from the system under test stay as they are: whoever shows them escapes them."""
    if value is not None:
        return value.sentence(focus)
    fields = {name: each for name, each in event.items() if name not in _STAMP}
    return f"{event['kind']} {in_words(fields)}"
