"""Invariants: a history in which all hold, and for each of them what violates it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kcontroller_chaos.history.read import History
from kcontroller_chaos.invariants import check_all
from tests.tools.histories import (
    GOOD,
    LED,
    STATE,
    TREE,
    elect,
    engine,
    follow,
    metadata,
    node,
    register,
    state,
    unregister,
    write,
)

BAD_ANSWER = {
    "writer": "node-1",
    "seq": 0,
    "t_us": 9,
    "kind": "selector.bad-answer",
    "plugin": "mine",
    "why": "it raised",
}
BAD_ANSWER |= {"topic": "t", "partition": 0}


def of(*events):
    return {entry["name"]: entry for entry in check_all(History(events))}


def test_a_good_history_holds():
    not_held = {name: entry["seen"] for name, entry in of(*GOOD).items() if entry["verdict"] != "held"}
    assert not_held == {}, "with `nothing to check`: GOOD in tests/tools/histories.py needs what it looks at"


BAD = [
    ("epochs-grow", elect(6, "0xa", 1)),
    ("one-writer-per-epoch", state(6, "0xa", 2)),
    ("no-stale-epoch-write", state(6, "0xa", 1)),
    ("leader-in-isr", state(6, "0xb", 2, leader=2, isr=(1,))),
    ("leader-in-isr", state(6, "0xb", 2, leader=3, isr=(3,))),
    ("selectors-answer", BAD_ANSWER),
    ("one-controller-after-healing", engine("node.status", node=2, active=True, session="0xa")),
    ("nodes-stay-up", engine("process.exited", node=2, status=3) | {"t_us": -1}),
    ("nodes-stay-up", engine("node.status", node=3, active=False, session="0xc")),
    ("all-led-after-healing", {**TREE, "t_us": 100, "partitions": [{**LED, "leader": -1}]}),
    ("isr-keeps-last-member", state(6, "0xb", 2, leader=-1, isr=())),
    ("state-epochs-grow", state(6, "0xb", 2, leader=2)),
    ("state-epochs-grow", state(6, "0xb", 1)),
    ("state-epochs-grow", state(6, "0xb", 3)),
    ("metadata-agrees-after-healing", metadata(leader=2)),
    ("metadata-agrees-after-healing", {**TREE, "t_us": 100, "brokers": [1]}),
    ("metadata-agrees-after-healing", {**TREE, "t_us": 100, "controller": 2}),
    ("metadata-agrees-after-healing", {**TREE, "t_us": 100, "partitions": [LED, {**LED, "partition": 1}]}),
    ("replicas-hosted-after-healing", follow(6, leader_epoch=1)),
    ("replicas-hosted-after-healing", {**TREE, "t_us": 100, "partitions": [{**LED, "leader_epoch": 1}]}),
    ("replicas-hosted-after-healing", node(6, "node.started", node=1, pid=2) | {"writer": "node-1.2"}),
    ("orders-of-this-life", follow(6, broker_epoch=0)),
    ("orders-of-this-life", follow(6) | {"writer": "node-1.2"}),
]
"""(invariant, the event that violates it when it follows GOOD)."""


@pytest.mark.parametrize(("name", "bad"), BAD)
def test_a_bad_history_is_violated_with_a_witness(name, bad):
    found = of(*GOOD, bad)[name]
    assert found["verdict"] == "violated"
    assert found["witness"]


LAST = node(9, "controller.failover", epoch=3, partitions=1, duration_us=1, zxid=8)


@pytest.mark.parametrize(
    ("events", "verdict"),
    [
        ((unregister(6, "0xc", 2), elect(7, "0xb", 3), LAST), "violated"),
        ((unregister(6, "0xc", 2), elect(7, "0xb", 3), state(8, "0xb", 3, isr=(1,)), LAST), "held"),
        ((unregister(6, "0xc", 2), elect(7, "0xb", 3), state(8, "0xb", 3, leader=2, isr=(2,)), LAST), "violated"),
        ((unregister(6, "0xc", 2), elect(7, "0xb", 3), state(8, "0xb", 3, leader=-1, isr=(2,)), LAST), "held"),
        # It is back, or dies, while the failover goes on: nobody can tell what the controller saw.
        ((unregister(6, "0xc", 2), elect(7, "0xb", 3), register(8, "0xd", 2), LAST), "held"),
        ((elect(7, "0xb", 3), unregister(8, "0xc", 2), LAST), "held"),
        # What the controller did not know of yet, whatever a clock says.
        ((unregister(6, "0xc", 2), elect(7, "0xb", 3), {**state(9, "0xb", 3, isr=(1,)), "t_us": -5}, LAST), "violated"),
        ((unregister(6, "0xc", 2), elect(7, "0xb", 3), {**elect(8, "0xe", 4), "t_us": 99}, LAST), "held"),
        # Somebody else is elected before the failover is done, or it never is: then only the one of GOOD is judged.
        ((unregister(6, "0xc", 2), elect(7, "0xb", 3), elect(8, "0xe", 4), LAST), "held"),
        ((unregister(6, "0xc", 2), elect(7, "0xb", 3)), "held"),
        # The session ends, and the registration with it.
        (({**write(6, "0xc", ops={}), "type": "close-session"}, elect(7, "0xb", 3), LAST), "violated"),
    ],
)
def test_who_was_dead_at_a_failover(events, verdict):
    assert of(*GOOD, *events)["dead-leave-isr-at-failover"]["verdict"] == verdict


RELIEVED = node(6, "controller.controlled-shutdown", broker=2, broker_epoch=1, epoch=2, relieved={"t-0": 2})
LEFT, BACK = state(7, "0xb", 2, isr=(1,)), state(9, "0xb", 2)


@pytest.mark.parametrize(
    ("events", "verdict"),
    [
        ((LEFT, RELIEVED, BACK), "violated"),
        ((LEFT, RELIEVED), "held"),
        ((LEFT, BACK), "held"),
        # It stays where nobody else is, and a write that changes nothing takes nobody back.
        ((RELIEVED, BACK), "held"),
        ((LEFT, {**RELIEVED, "relieved": {}}, BACK), "held"),
        # Its registration has gone, or is another one; or a new controller knows of no shutdown.
        ((LEFT, RELIEVED, unregister(8, "0xc", 2), BACK), "held"),
        ((LEFT, RELIEVED, {**write(8, "0xc", ops={}), "type": "close-session"}, register(8, "0xd", 2), BACK), "held"),
        ((LEFT, RELIEVED, elect(8, "0xa", 3), state(9, "0xa", 3)), "held"),
    ],
)
def test_who_is_relieved_stays_out_of_the_isr(events, verdict):
    assert of(*GOOD, *events)["relieved-stay-out-of-isr"]["verdict"] == verdict


@pytest.mark.parametrize(
    ("mode", "status", "verdict"),
    [
        ("sigkill", -9, "held"),
        ("sigkill", 0, "violated"),
        ("sigterm", 0, "held"),
        ("sigterm", -9, "held"),  # killed by the healing, if it did not end in time
        ("sigterm", 1, "violated"),
    ],
)
def test_which_end_of_a_node_a_kill_explains(mode, status, verdict):
    asked = engine("fault.asked", fault="f", fault_kind="kill", mode=mode, node=2) | {"t_us": 1}
    ended = engine("process.exited", node=2, status=status) | {"t_us": 2}
    assert of(*GOOD, asked, ended)["nodes-stay-up"]["verdict"] == verdict


def test_the_stale_write_is_named_by_zxid_session_path_and_epochs():
    found = of(*GOOD, state(6, "0xa", 1))["no-stale-epoch-write"]["witness"]
    assert found == {"zxid": "0x6", "session": "0xa", "path": STATE, "epoch": 1, "newest_epoch": 2}


def test_a_crashing_checker_and_an_unreadable_log_are_unknown():
    broken = write(6, "0xb", ops={STATE: "no json"})
    assert "LeaderInIsr.check raised" in of(*GOOD, broken)["leader-in-isr"]["seen"]
    assert {e["verdict"] for e in check_all(replace(History(GOOD), log_error="no log"))} == {"unknown"}
