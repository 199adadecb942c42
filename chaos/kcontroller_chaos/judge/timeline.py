"""What a run looks like over time, for people: spans of controllers, leaders, sessions and faults, and decisive windows.

It is drawn, never judged: invariants read the history itself. Where two tell of one thing, both views are kept
(ZooKeeper's and the node's own), because a zombie is where they disagree. A killed, cut or empty history gives what
there is of it. docs/formats.md has the shape of timeline.json.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcontroller_chaos.checking import WRITES, accepted, controller_named, is_topic, node_of, nodes_of_sessions
from kcontroller_chaos.history.read import Event, History
from kcontroller_chaos.judge.decisive import windows
from kcontroller_chaos.znode_invariants.beliefs import beliefs
from kcontroller_chaos.znode_invariants.owning import owned_paths
from kcontroller_chaos.znode_invariants.znodes import Pattern, ownerships
from pytest_kcontroller.model.history import (
    ControllerElected,
    ControllerResigned,
    NodeStarted,
    NodeStopping,
    ProcessExited,
    RunEnded,
    RunStarted,
    ZkState,
)
from pytest_kcontroller.model.text import json_or_none, whole_number
from pytest_kcontroller.zookeeper.znodes import CONTROLLER, CONTROLLER_EPOCH, parse_state_path

ZOOKEEPER, NODE, CLIENT, PROGRAM = "zookeeper", "node", "client", "program"
Entry = dict[str, Any]


def timeline(history: History, verdicts: Mapping[str, Any]) -> Entry:
    """The content of timeline.json; `verdicts` is that of verdicts.json. `to_us` null: until the end."""
    ended = [int(event["t_us"]) for event in history.of(RunEnded)]
    started = [int(event["t_us"]) for event in history.of(RunStarted)]
    nodes = nodes_of_sessions(history)
    return {
        "schema": 1,
        "started_us": min(started, default=None),
        "ended_us": max(ended, default=None),
        "last_us": max((int(event["t_us"]) for event in history.events), default=0),
        "controllers": [*_controllers_by_zookeeper(history), *_controllers_by_node(history)],
        "owners": [*_owners(history, verdicts, nodes), *_believers(history, verdicts)],
        "leaders": _leaders(history),
        "sessions": [*_sessions_by_zookeeper(history, nodes), *_sessions_by_client(history)],
        "faults": [_fault(fault) for fault in verdicts["faults"]],
        "windows": windows(history, verdicts, nodes),
    }


# --- controllers ------------------------------------------------------------------------------------------------


def _controllers_by_zookeeper(history: History) -> list[Entry]:
    """Who /controller named: until it was deleted, or its owner's session was closed."""
    spans: list[Entry] = []
    holding: Entry | None = None

    def end(t_us: int) -> None:
        nonlocal holding
        if holding is not None:
            holding["to_us"] = t_us
            holding = None

    for txn in history.txns:
        if txn["type"] == "close-session" and holding is not None and txn["session"] == holding["session"]:
            end(int(txn["t_us"]))
        written = {op["path"]: op for op in accepted(txn)}
        if CONTROLLER not in written:
            continue
        end(int(txn["t_us"]))
        if written[CONTROLLER]["type"] in WRITES:
            node = controller_named(written[CONTROLLER].get("data"))
            epoch = whole_number(written[CONTROLLER_EPOCH].get("data")) if CONTROLLER_EPOCH in written else None
            holding = {"view": ZOOKEEPER, "node": node, "epoch": epoch, "session": txn["session"]}
            holding |= {"from_us": txn["t_us"], "to_us": None}
            spans.append(holding)
    return spans


def _controllers_by_node(history: History) -> list[Entry]:
    """Who believed to be the controller: from its own `controller.elected` until it resigned or its process ended."""
    spans = []
    for event in history.of(ControllerElected):
        ends = [
            int(other["t_us"])
            for other in history.of(ControllerResigned)
            if other["writer"] == event["writer"] and other.get("epoch") == event["epoch"] and _after(other, event)
        ]
        ends += [t for t in (_process_end(history, event),) if t is not None]
        span = {"view": NODE, "node": node_of(event), "epoch": event["epoch"], "session": event.get("session")}
        spans.append({**span, "from_us": event["t_us"], "to_us": min(ends, default=None)})
    return spans


# --- owners of znodes of the user's own -------------------------------------------------------------------------


def _owners(history: History, verdicts: Mapping[str, Any], nodes: Mapping[str, int]) -> list[Entry]:
    """Whose session owned what an invariant is about, by ZooKeeper's log."""
    return [
        {"view": ZOOKEEPER, "path": one.lock, "node": nodes.get(one.session), "epoch": None, "session": one.session}
        | {"from_us": one.from_us, "to_us": one.to_us}
        for path in owned_paths(verdicts["invariants"])
        for one in ownerships(history, Pattern(path))
    ]


def _believers(history: History, verdicts: Mapping[str, Any]) -> list[Entry]:
    """Who believed to own it, by the program's own lines."""
    return [
        {"view": PROGRAM, "path": one.lock, "node": one.node, "epoch": one.epoch, "session": None}
        | {"from_us": one.from_us, "to_us": one.to_us}
        for path in owned_paths(verdicts["invariants"])
        for one in beliefs(history, Pattern(path))
    ]


# --- leaders ----------------------------------------------------------------------------------------------------


def _leaders(history: History) -> list[Entry]:
    """Leader of each partition by its state znode, from the creation of its topic; leader null: there was none."""
    spans: dict[tuple[str, int], list[Entry]] = {}

    def begin(key: tuple[str, int], t_us: int, leader: int | None, leader_epoch: Any, controller_epoch: Any) -> None:
        known = spans.setdefault(key, [])
        now = {"leader": leader, "leader_epoch": leader_epoch, "controller_epoch": controller_epoch}
        if known and all(known[-1][name] == value for name, value in now.items()):
            return
        if known:
            known[-1]["to_us"] = t_us
        known.append({"topic": key[0], "partition": key[1], **now, "from_us": t_us, "to_us": None})

    for txn in history.txns:
        for op in accepted(txn):
            value = json_or_none(op.get("data")) if op["type"] in WRITES else None
            if is_topic(op["path"]) and isinstance(value, dict) and isinstance(value.get("partitions"), dict):
                for name in sorted(value["partitions"]):
                    key = (op["path"].rpartition("/")[2], whole_number(name) or 0)
                    if key not in spans:
                        begin(key, txn["t_us"], None, None, None)
            elif (tp := parse_state_path(op["path"])) is not None and isinstance(value, dict):
                leader = _number(value, "leader")
                begin(
                    (tp.topic, tp.partition), txn["t_us"], None if leader is None or leader < 0 else leader,
                    _number(value, "leader_epoch"), _number(value, "controller_epoch"),
                )  # fmt: skip
    return [span for key in sorted(spans) for span in spans[key]]


# --- sessions ---------------------------------------------------------------------------------------------------


def _sessions_by_zookeeper(history: History, nodes: Mapping[str, int]) -> list[Entry]:
    """Each session from its creation to its end; `ended`: expired (ZooKeeper gave it up) or closed (a client did)."""
    spans: dict[str, Entry] = {}
    for txn in history.txns:
        session = str(txn["session"])
        if txn["type"] == "create-session" and session not in spans:
            spans[session] = {"view": ZOOKEEPER, "node": nodes.get(session), "session": session, "state": "alive"}
            spans[session] |= {"from_us": txn["t_us"], "to_us": None, "ended": None}
        elif txn["type"] == "close-session" and session in spans:
            spans[session] |= {"to_us": txn["t_us"], "ended": "closed" if txn.get("cxid") else "expired"}
    return list(spans.values())


def _sessions_by_client(history: History) -> list[Entry]:
    """What each node's client said, from one `zk.state` to its next or to the end of its process."""
    spans = []
    for event in history.of(ZkState):
        if event["state"] == "closed":
            continue
        ends = [
            int(other["t_us"])
            for other in history.of(ZkState)
            if other["writer"] == event["writer"] and _after(other, event)
        ]
        ends += [t for t in (_process_end(history, event),) if t is not None]
        span = {"view": CLIENT, "node": node_of(event), "session": event.get("session"), "state": event["state"]}
        spans.append({**span, "from_us": event["t_us"], "to_us": min(ends, default=None), "ended": None})
    return spans


def _process_end(history: History, event: Event) -> int | None:
    """When the process that wrote `event` ended, by its own word, its supervisor's, or its successor's start."""
    node = node_of(event)
    ends = [
        int(other["t_us"])
        for other in history.of(NodeStopping, ProcessExited, NodeStarted)
        if other.get("node") == node
        and int(other["t_us"]) > int(event["t_us"])
        and (other["kind"] != NodeStarted.kind or other["writer"] != event["writer"])
    ]
    return min(ends, default=None)


def _after(other: Event, event: Event) -> bool:
    return int(other["seq"]) > int(event["seq"])


# --- faults, and values of znodes -------------------------------------------------------------------------------


def _fault(fault: Mapping[str, Any]) -> Entry:
    """A fault of verdicts.json without its evidence; the span that is drawn is from applied (or asked) to healed."""
    kept = ("id", "kind", "mode", "node", "status", "why", "asked_us", "applied_us", "observed_us", "healed_us")
    return {name: fault.get(name) for name in kept}


def _number(value: Any, key: str) -> int | None:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None
