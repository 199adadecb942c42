"""The decisive window of a failure: what happened within two seconds of its witness, one plain line per event.

When there is more than a person reads, what says least is left out first: answers and the like, then writes that
are far from the witness. How many were left out is said.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from kcontroller_chaos.checking import accepted
from kcontroller_chaos.history.read import Event, History
from pytest_kcontroller.zookeeper.znodes import CONTROLLER, CONTROLLER_EPOCH, parse_state_path

AROUND_US = 2_000_000
SHOWN = 40

#: The less, the longer it stays. Kinds that are not named here stand between those and ZooKeeper's small print.
_RANK = {"zk.txn": 2, "leader.elected": 2, "leader.answered": 4}
_ROUTINE = 5
_UNTOLD = (
    "broker.become-leader",
    "broker.become-follower",
    "mutant.counts",
    "node.status",
    "node.metadata",
    "zk.tree",
    "run.started",
)
_NO_NODE_EXISTS, _BAD_VERSION = -110, -103


def windows(history: History, verdicts: Mapping[str, Any], nodes: Mapping[str, int]) -> list[dict[str, Any]]:
    """One window per violated invariant, then one per fault that was not applied, observed or healed."""
    found = []
    for entry in verdicts["invariants"]:
        if entry["verdict"] == "violated":
            witness, at_us = _place(history, entry.get("witness") or {})
            found.append({"about": "invariant", "name": entry["name"], **_window(history, nodes, witness, at_us)})
    for fault in verdicts["faults"]:
        if fault["why"]:  # not its status: one that nobody observed is healed all the same
            told = history.of("fault.not-applied", "fault.not-observed", "fault.not-healed")
            of_it = (e for e in told if e["fault"] == fault["id"] and e.get("node") == fault["node"])
            witness = next(of_it, None)
            at_us = int(witness["t_us"]) if witness else _end(history)
            found.append({"about": "fault", "name": fault["id"], **_window(history, nodes, witness, at_us)})
    return found


def last_moments(history: History, nodes: Mapping[str, int]) -> dict[str, Any]:
    """The window at the end of a history: what a test that failed just now did and saw."""
    return _window(history, nodes, None, max((int(event["t_us"]) for event in history.events), default=0))


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
    return max((int(event["t_us"]) for event in history.of("zk.tree") or history.events), default=0)


def _window(history: History, nodes: Mapping[str, int], witness: Event | None, at_us: int) -> dict[str, Any]:
    ended_us = min((int(event["t_us"]) for event in history.of("run.ended")), default=at_us + AROUND_US)
    last_us = max(at_us, min(at_us + AROUND_US, ended_us))  # how a finished run is taken down decides nothing
    near = [e for e in history.events if at_us - AROUND_US <= int(e["t_us"]) <= last_us]
    told = [event for event in near if event is witness or event["kind"] not in _UNTOLD]
    by_weight = sorted(told, key=lambda e: (e is not witness, _rank(e), abs(int(e["t_us"]) - at_us)))
    kept = {id(event) for event in by_weight[:SHOWN]}
    return {
        "at_us": at_us,
        "from_us": max(0, at_us - AROUND_US),
        "to_us": last_us,
        "left_out": len(told) - len(kept),
        "events": [
            {"t_us": e["t_us"], "writer": e["writer"], "text": line(e, nodes), "witness": e is witness}
            for e in told
            if id(e) in kept
        ],
    }


def _rank(event: Event) -> int:
    """What a reader needs first: faults, controllers, sessions and the end of processes; then writes; then the rest."""
    if event["kind"] != "zk.txn":
        return _RANK.get(event["kind"], 1)
    if event["type"] in ("create-session", "close-session"):
        return 1
    if event["type"] == "error":
        return _ROUTINE
    refused = [op.get("code") for op in event.get("ops", ()) if op["type"] == "error"]
    if refused:
        return 1 if _BAD_VERSION in refused else 3
    paths = [op["path"] for op in accepted(event)]
    if CONTROLLER in paths:
        return 1
    return 2 if any(parse_state_path(path) for path in paths) else 3


# --- plain lines ------------------------------------------------------------------------------------------------


def line(event: Event, nodes: Mapping[str, int]) -> str:
    """One event in words. Names from the system under test stay as they are: whoever shows them escapes them."""
    kind = str(event["kind"])
    if kind == "zk.txn":
        return _txn(event, nodes)
    if kind.startswith("fault."):
        return _fault(event)
    if kind.startswith("admin."):
        return f"admin {event.get('action')} {event.get('op')}: {kind.removeprefix('admin.')}" + _error(event)
    told = _TOLD.get(kind)
    if told is not None:
        return told.format_map(_Fields(event))
    return f"{kind} {_rest(event)}".rstrip()


_TOLD = {
    "node.started": "the process of node {node} starts (pid {pid})",
    "node.stopping": "node {node} stops, as asked",
    "zk.state": "the ZooKeeper client says: {state} (session {session})",
    "controller.elected": "it says: I am the controller, epoch {epoch} (session {session})",
    "controller.failover": "failover done: {partitions} partitions loaded, epoch {epoch}",
    "controller.resigned": "it resigns from epoch {epoch}: {reason}",
    "controller.fenced": "its write with epoch {epoch} was refused: the epoch had moved on ({count} operations)",
    "controller.event-failed": "the controller's event {event} failed: {error}",
    "leader.elected": "it elected leader {leader} for {topic}-{partition} (leader epoch {leader_epoch}, "
    "controller epoch {epoch}, {reason})",
    "leader.answered": "leader {leader} of {topic}-{partition} answered LeaderAndIsr (leader epoch {leader_epoch})",
    "controller.controlled-shutdown": "broker {broker} is shutting down and still leads {remaining}",
    "broker.controlled-shutdown": "it is about to stop, after a controlled shutdown; remaining {remaining}, trouble {why}",
    "broker.isr-changed": "the ISR of {topic}-{partition} became {isr}",
    "selector.bad-answer": "the selector {plugin} gave a bad answer for {topic}-{partition}: {why}",
    "hold.reached": "a task waits at {point}",
    "hold.released": "the task at {point} goes on",
    "run.ended": "the run ended",
    "run.failed": "the run failed: {error}",
    "process.exited": "the process of node {node} ended with status {status}",
    "trigger.missed": "{trigger} did not happen in {waited_s} s",
    "host.overload": "ZooKeeper gave up session {session}, which no fault was to end",
    "broker.become-leader": "it leads {topic}-{partition} now (leader epoch {leader_epoch}, controller epoch {epoch})",
    "broker.become-follower": "it follows {leader} for {topic}-{partition} now (controller epoch {epoch})",
    "run.started": "the run starts",
    "test.action": "the test: {action} {arguments}",
}


class _Fields(dict[str, Any]):
    """The fields of an event; one that is not there is a question mark."""

    def __missing__(self, key: str) -> str:
        return "?"


def _fault(event: Event) -> str:
    name = f"{event['fault']} ({event['fault_kind']}{':' + event['mode'] if event.get('mode') else ''}"
    name += f" on node {event['node']})" if event.get("node") is not None else ")"
    step = str(event["kind"]).removeprefix("fault.").replace("not-", "not ")
    return f"fault {name}: {step}" + (f", {event['why']}" if event.get("why") else "")


def _txn(event: Event, nodes: Mapping[str, int]) -> str:
    session, number = str(event["session"]), f"zxid {int(event['zxid']):#x}"
    who = f"node {nodes[session]} (session {session})" if session in nodes else f"session {session}"
    if event["type"] == "create-session":
        return f"opens session {session}{_of(nodes, session)}; {number}"
    if event["type"] == "close-session":
        how = "closes" if event.get("cxid") else "gives up (expires)"
        return f"{how} session {session}{_of(nodes, session)}; {number}"
    if event["type"] == "error":
        return f"refuses a request of {who}: error {event.get('error')}; {number}"
    ops = list(event.get("ops", ()))
    codes = [op["code"] for op in ops if op["type"] == "error"]
    if codes:
        return f"refuses a write of {who}: {_why(codes)}; {number}"
    shown = [_op(op) for op in accepted(event)]
    more = f" and {len(shown) - 2} more" if len(shown) > 2 else ""
    return f"accepts from {who}: {', '.join(shown[:2]) or event['type']}{more}; {number}"


def _of(nodes: Mapping[str, int], session: str) -> str:
    return f" of node {nodes[session]}" if session in nodes else ""


def _why(codes: Iterable[int]) -> str:
    first = next((code for code in codes if code != -2), -2)
    if first == _BAD_VERSION:
        return "the controller epoch has moved on (-103)"
    return "the znode is there already (-110)" if first == _NO_NODE_EXISTS else f"error {first}"


def _op(op: Event) -> str:
    """One operation; of the values only those that decide who leads."""
    path = op["path"]
    if op["type"] == "delete":
        return f"delete {path}"
    value = _json(op.get("data"))
    if path == CONTROLLER and isinstance(value, dict):
        return f"{path} = node {value.get('brokerid')}"
    if path == CONTROLLER_EPOCH:
        return f"{path} = {op.get('data')}"
    if parse_state_path(path) is not None and isinstance(value, dict):
        named = (("leader", "leader"), ("isr", "ISR"), ("controller_epoch", "controller epoch"))
        return f"{path}: " + ", ".join(f"{name} {value.get(key)}" for key, name in named)
    return f"{op['type']} {path}"


def _json(data: Any) -> Any:
    try:
        return json.loads(data)
    except (TypeError, ValueError):
        return None


def _error(event: Event) -> str:
    return f", {event['error']}" if event.get("error") else ""


def _rest(event: Event) -> str:
    return ", ".join(f"{key} {event[key]}" for key in event if key not in ("writer", "seq", "t_us", "kind"))
