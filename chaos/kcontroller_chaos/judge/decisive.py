"""The decisive window of a failure: what happened within two seconds of its witness, one plain line per event.

When there is more than a person reads, the events of the partition that the witness is about come first, the nearest of
them; then the others by the rank of their kind, those of the nodes in question before those of other nodes, then by their
distance. How many were left out is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kcontroller_chaos.checking import accepted
from kcontroller_chaos.history.read import Event, History
from kcontroller_chaos.judge.recovery import went_wrong
from pytest_kcontroller.model.history import (
    FaultNotApplied,
    FaultNotHealed,
    FaultNotLasting,
    FaultNotObserved,
    ProgramSaid,
    RunEnded,
    ZkTree,
)
from pytest_kcontroller.model.history.event import Focus, HistoryEvent, Rank, parsed
from pytest_kcontroller.model.text import in_words, json_or_none
from pytest_kcontroller.zookeeper.znodes import parse_state_path

AROUND_US = 2_000_000
SHOWN, SHOWN_OF_PARTITION, SHOWN_ROUTINE = 40, 16, 10
_STAMP = ("writer", "seq", "t_us", "kind")
_NODES_NAMED = 4


def windows(history: History, verdicts: Mapping[str, Any], nodes: Mapping[str, int]) -> list[dict[str, Any]]:
    """One window per violated invariant, then one per fault that was not applied, observed, lasting or healed.

    `partition` and `nodes` are what the witness is about: whoever draws the window begins with them.
    """
    found = []
    for entry in verdicts["invariants"]:
        if entry["verdict"] == "violated":
            seen = entry.get("witness") or {}
            focus = Focus(nodes, _partition(seen), path=_path(seen))
            about = {"about": "invariant", "name": entry["name"], "partition": focus.partition}
            about |= {"nodes": _nodes(seen, nodes)}
            found.append({**about, **_window(history, focus, *place(history, seen), about["nodes"])})
    for fault in verdicts["faults"]:
        if went_wrong(fault):
            failed = history.of(FaultNotApplied, FaultNotObserved, FaultNotLasting, FaultNotHealed)
            of_it = [e for e in failed if e["fault"] == fault["id"] and e.get("node") == fault["node"]][:1]
            at_us = int(of_it[0]["t_us"]) if of_it else _end(history)
            about = {"about": "fault", "name": fault["id"], "partition": None, "nodes": _nodes(fault, nodes)}
            found.append({**about, **_window(history, Focus(nodes), of_it, at_us, about["nodes"])})
    return found


def began(history: History, entry: Mapping[str, Any]) -> int | None:
    """The run time at which what is violated began; None: the entry of verdicts.json is not violated."""
    return place(history, entry.get("witness") or {})[1] if entry["verdict"] == "violated" else None


def last_moments(history: History, nodes: Mapping[str, int]) -> dict[str, Any]:
    """The window at the end of a history: what a test that failed just now did and saw."""
    last_us = max((int(event["t_us"]) for event in history.events), default=0)
    return _window(history, Focus(nodes), [], last_us, [])


def place(history: History, witness: Mapping[str, Any]) -> tuple[list[Event], int]:
    """The events that a witness names, and when it was broken: at its time, else at its write.

    A witness of the state at the end is about what has been so since the last write of its partition, or, if it names a
    leader, since the write that made it the last leader; without a partition it is the end.
    """
    zxid, t_us, partition = witness.get("zxid"), witness.get("t_us"), _partition(witness)
    found = _beliefs(history, witness)
    if zxid is not None:
        number = int(zxid, 16) if isinstance(zxid, str) else int(zxid)
        found += [txn for txn in history.txns if txn["zxid"] == number][:1]
    if t_us is not None:
        writer = witness.get("writer")
        there = (
            event
            for events in (found, history.events)
            for event in events
            if event["t_us"] == t_us
            and event.get("node") == witness.get("node")
            and (writer is None or event["writer"] == writer)
        )
        if (named := next(there, None)) is not None and named not in found:
            found.append(named)
        return found, int(t_us)
    if not found and partition is not None:
        found += _last_change(history, partition, of_leader="leader" in witness)
    return found, int(found[0]["t_us"]) if found else _end(history)


def _beliefs(history: History, witness: Mapping[str, Any]) -> list[Event]:
    """What programs said when the beliefs began that a witness names: who still believes may have said it long before. Much
    else may have been printed at that time."""
    named = witness.get("believed")
    began = [(one.get("node"), one.get("from_us")) for one in (named if isinstance(named, list) else ())]
    return [
        event
        for event in history.of(ProgramSaid)
        if (event["node"], event["t_us"] if event.get("at_us") is None else event["at_us"]) in began
        and "leads" in event["said"]
    ]


def _last_change(history: History, partition: str, *, of_leader: bool) -> list[Event]:
    """The last write of a partition's state; `of_leader`: the first of those at the end that leave its leader as it is."""
    found: list[Event] = []
    last: Any = None
    for txn in history.txns:
        for op in accepted(txn):
            tp = parse_state_path(op["path"])
            if tp is None or str(tp) != partition:
                continue
            leader = _leader(op.get("data")) if of_leader else txn["zxid"]
            if not found or leader != last:
                found, last = [txn], leader
    return found


def _leader(data: Any) -> Any:
    state = json_or_none(data)
    return state.get("leader") if isinstance(state, dict) else None


def _nodes(witness: Mapping[str, Any], nodes: Mapping[str, int]) -> list[int]:
    """The nodes that it names, the ones in question first."""

    def named() -> Iterator[Any]:
        yield from (witness.get(name) for name in ("node", "broker"))
        yield nodes.get(str(witness.get("session")))
        yield witness.get("leader")
        for name in ("nodes", "missing", "active", "dead", "isr"):
            several = witness.get(name)
            yield from several if isinstance(several, list) else ()

    found = [node for node in named() if isinstance(node, int) and not isinstance(node, bool) and node >= 0]
    return list(dict.fromkeys(found))[:_NODES_NAMED]


def _path(witness: Mapping[str, Any]) -> str | None:
    return None if witness.get("path") is None else str(witness["path"])


def _end(history: History) -> int:
    return max((int(event["t_us"]) for event in history.of(ZkTree.kind) or history.events), default=0)


def _partition(witness: Mapping[str, Any]) -> str | None:
    """The partition that a witness is about, as TOPIC-NUMBER."""
    if (tp := parse_state_path(str(witness.get("path")))) is not None:
        return str(tp)
    if {"topic", "partition"} <= witness.keys():
        return f"{witness['topic']}-{witness['partition']}"
    what = str(witness.get("what", ""))  # of what nodes were told: `controller`, `brokers`, or a partition
    return what if re.search(r"-\d+$", what) else None


def _window(history: History, focus: Focus, witnesses: list[Event], at_us: int, nodes: list[int]) -> dict[str, Any]:
    proof = {id(event) for event in witnesses}
    ended_us = min((int(event["t_us"]) for event in history.of(RunEnded.kind)), default=at_us + AROUND_US)
    last_us = max(at_us, min(at_us + AROUND_US, ended_us))  # how a finished run is taken down decides nothing
    near = [(e, parsed(e)) for e in history.events if at_us - AROUND_US <= int(e["t_us"]) <= last_us or id(e) in proof]
    told = [(e, value) for e, value in near if id(e) in proof or _rank(value) < Rank.UNTOLD]
    first = _nearest_of_partition(told, focus, at_us)

    def weight(one: tuple[Event, HistoryEvent | None]) -> tuple[bool, bool, Rank, bool, int]:
        event, value = one
        of_others = bool(nodes) and _node(event) not in nodes
        return id(event) not in proof, id(event) not in first, _rank(value), of_others, _distance(event, at_us)

    ordered = [(event, value) for event, value in sorted(told, key=weight) if id(event) not in proof]
    routine = [event for event, value in ordered if _rank(value) >= Rank.ROUTINE][SHOWN_ROUTINE:]
    dropped = {id(event) for event in routine}  # what is refused every tenth of a second hides what is not
    ordered = [one for one in ordered if id(one[0]) not in dropped]
    kept = proof | {id(event) for event, _ in ordered[: max(0, SHOWN - len(proof))]}
    return {
        "at_us": at_us,
        "from_us": max(0, at_us - AROUND_US),
        "to_us": last_us,
        "left_out": len(told) - len(kept),
        "events": [
            {"t_us": e["t_us"], "writer": e["writer"], "text": _sentence(e, value, focus), "witness": id(e) in proof}
            for e, value in told
            if id(e) in kept
        ],
    }


def _nearest_of_partition(told: list[tuple[Event, HistoryEvent | None]], focus: Focus, at_us: int) -> set[int]:
    """The identities of the nearest events of the partition in question."""
    partition = focus.partition
    if partition is None:
        return set()
    of_it = [event for event, value in told if value is not None and value.concerns(partition)]
    return {id(event) for event in sorted(of_it, key=lambda event: _distance(event, at_us))[:SHOWN_OF_PARTITION]}


def _distance(event: Event, at_us: int) -> int:
    return abs(int(event["t_us"]) - at_us)


def _node(event: Event) -> int | None:
    """The node that an event is about: it names it, or it wrote it (a restarted one as `node-1.2`)."""
    named = event.get("node")
    number = str(event["writer"]).removeprefix("node-").partition(".")[0]
    return named if isinstance(named, int) else int(number) if number.isdigit() else None


def _rank(value: HistoryEvent | None) -> Rank:
    return Rank.DECISIVE if value is None else value.weight()


def _sentence(event: Event, value: HistoryEvent | None, focus: Focus) -> str:
    """Names from the system under test stay as they are: whoever shows them escapes them."""
    if value is not None:
        return value.sentence(focus)
    fields = {name: each for name, each in event.items() if name not in _STAMP}
    return f"{event['kind']} {in_words(fields)}"
