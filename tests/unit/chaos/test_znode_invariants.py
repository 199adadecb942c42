"""Invariants over znodes of any system: each where it holds, is violated with a witness, and is never exercised."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kcontroller_chaos.campaign.file import Campaign, load_campaign
from kcontroller_chaos.catalogue import load_catalogue
from kcontroller_chaos.catalogue.invariants import facts_of, from_facts
from kcontroller_chaos.history.read import in_order
from kcontroller_chaos.history.transactions import _data
from kcontroller_chaos.judge.decisive import windows
from kcontroller_chaos.judge.verdict import verdicts
from kcontroller_chaos.znode_invariants import (
    ZnodeInvariant,
    ephemeral_back_within,
    exists_after_healing,
    one_owner,
    only_owner_writes,
    owned_after_healing,
    value_never_decreases,
)
from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.model.history import FaultAsked

S = 1_000_000
LEADER, ELECTION, DATA = "/my/leader", "/my/election", "/my/data/x"
FIRST, SECOND = f"{ELECTION}/a__lock__0000000001", f"{ELECTION}/b__lock__0000000002"
Event = dict[str, Any]


def txn(t_s: float, session: str, type: str, *ops: Event, cxid: int = 1) -> Event:
    """Of ZooKeeper's log; zxids are the milliseconds of the run."""
    at = {"writer": "zookeeper", "seq": round(t_s * 1000), "t_us": round(t_s * S), "kind": "zk.txn"}
    return {**at, "zxid": round(t_s * 1000), "session": session, "type": type, "cxid": cxid, "ops": list(ops)}


def made(t_s: float, session: str, path: str, data: str = "", *, ephemeral: bool = True) -> Event:
    return txn(t_s, session, "create", {"type": "create", "path": path, "data": data, "ephemeral": ephemeral})


def put(t_s: float, session: str, path: str, data: str = "") -> Event:
    return txn(t_s, session, "set", {"type": "set", "path": path, "data": data, "version": 1})


def gone(t_s: float, session: str, path: str) -> Event:
    return txn(t_s, session, "delete", {"type": "delete", "path": path})


def opened(t_s: float, session: str) -> Event:
    return txn(t_s, session, "create-session")


def expired(t_s: float, session: str) -> Event:
    return txn(t_s, session, "close-session", cxid=0)


def of_node(number: int, t_s: float, kind: str, **fields: Any) -> Event:
    return {"writer": f"node-{number}", "seq": 0, "t_us": round(t_s * S), "kind": kind, **fields}


def has_session(node: int, t_s: float, session: str) -> Event:
    return of_node(node, t_s, "zk.state", state="connected", session=session)


def said(node: int, t_s: float, late_s: float = 0.0, at_us: int | None = None, **what: Any) -> Event:
    """Read at `t_s`, and written in the `late_s` before, or at `at_us`."""
    since_us = round((t_s - late_s) * S)
    return of_node(node, t_s, "program.said", node=node, said=what, since_us=since_us, at_us=at_us)


def engine(t_s: float, kind: str, **fields: Any) -> Event:
    return {"writer": "engine", "seq": round(t_s * 1000), "t_us": round(t_s * S), "kind": kind, **fields}


def exited(t_s: float, node: int) -> Event:
    return engine(t_s, "process.exited", node=node, status=-9)


def by_test(t_s: float, action: str, node: int) -> Event:
    return engine(t_s, "test.action", action=action, arguments=str(node))


def fault(from_s: float, to_s: float, node: int, end: str = "healed") -> list[Event]:
    named = {"fault": "f", "fault_kind": "partition", "mode": None, "node": node}
    return [engine(from_s, "fault.applied", **named), engine(to_s, f"fault.{end}", **named)]


def kill_asked(t_s: float, node: int) -> Event:
    names = dict.fromkeys(FaultAsked.__annotations__)
    return engine(t_s, "fault.asked", **{**names, "fault": "k", "nodes": [node], "ends_process": True})


END = engine(20, "run.ended")
NODES = [has_session(0, 0.1, "0xa"), has_session(1, 0.1, "0xb"), has_session(0, 6, "0xc")]
"""Node 0 gets the session 0xc after 0xa; 0xf is nobody's."""
HANDED_OVER = [made(1, "0xa", LEADER), expired(5, "0xa"), made(5.5, "0xb", LEADER)]
QUEUED = [made(1, "0xa", FIRST), made(1.1, "0xb", SECOND), expired(5, "0xa")]


LATCHED = [made(1, "0xa", f"{ELECTION}/_c_6-latch-0000000001"), made(1.1, "0xb", f"{ELECTION}/_c_5-latch-0000000002")]


def judged(invariant: ZnodeInvariant, *events: Event) -> dict[str, Any]:
    return invariant.judge(in_order((*events, *(() if events == () else (END,)))))


OWNER, BELIEVER = one_owner(LEADER)
LOCK_OWNER, LOCK_BELIEVER = one_owner(ELECTION)
SHARDS_OWNER, SHARDS_BELIEVER = one_owner("/my/shards/*")
(WRITES,) = only_owner_writes(LEADER, "/my/data/**")
(LOCK_WRITES,) = only_owner_writes(ELECTION, "/my/data/**")
(QUEUE_WRITES,) = only_owner_writes(f"{ELECTION}/*", "/my/data/**")
(EPOCH,) = value_never_decreases("/my/epoch")
(BACK,) = ephemeral_back_within("/my/members/*", "5s")
(OWNED,) = owned_after_healing(LEADER)
(LOCK_OWNED,) = owned_after_healing(ELECTION)
(THERE,) = exists_after_healing("/my/members/*", count=2)
MEMBER = "/my/members/one"


HELD = [
    (OWNER, HANDED_OVER),
    (OWNER, [made(1, "0xa", LEADER), gone(2, "0xa", LEADER)]),
    (OWNER, [*NODES, made(1, "0xa", LEADER), gone(2, "0xf", LEADER)]),
    (OWNER, [*NODES, made(1, "0xa", LEADER), gone(6.1, "0xc", LEADER)]),
    (LOCK_OWNER, [made(0.5, "0xa", ELECTION, ephemeral=False), *QUEUED]),
    (LOCK_WRITES, [*LATCHED, put(2, "0xa", DATA)]),
    (SHARDS_OWNER, [made(1, "0xa", "/my/shards/a"), made(2, "0xb", "/my/shards/b")]),
    (BELIEVER, [said(0, 1, leads=LEADER), said(0, 5, follows=LEADER), said(1, 5.5, leads=LEADER)]),
    (BELIEVER, [said(0, 1, leads=LEADER, epoch=1), said(1, 5.5, leads=LEADER, epoch=2)]),
    (BELIEVER, [said(0, 1, leads=LEADER), said(1, 2, leads="/another")]),
    (BELIEVER, [said(0, t, leads=LEADER, epoch=1) for t in range(1, 5)]),
    (BELIEVER, [said(0, 1, leads=LEADER), exited(3, 0), said(1, 4, leads=LEADER)]),
    # Read later than it was written: whether they overlapped nobody knows.
    (BELIEVER, [said(0, 1, leads=LEADER), said(1, 5, leads=LEADER), said(0, 5.2, 0.3, follows=LEADER)]),
    (BELIEVER, [said(0, 1, leads=LEADER), said(1, 5, leads=LEADER), said(0, 5.2, at_us=4 * S, follows=LEADER)]),
    (BELIEVER, [said(0, 1, leads=LEADER), said(1, 3, leads=LEADER), exited(4, 0)]),
    (WRITES, [*HANDED_OVER, put(2, "0xa", DATA), put(6, "0xb", DATA)]),
    (WRITES, [*NODES, *HANDED_OVER, put(2, "0xa", DATA), put(3, "0xf", DATA)]),
    (
        WRITES,
        [
            txn(
                1,
                "0xa",
                "multi",
                {"type": "create", "path": LEADER, "ephemeral": True},
                {"type": "set", "path": DATA, "data": "1"},
            )
        ],
    ),
    (WRITES, [made(1, "0xa", LEADER), put(1.5, "0xa", DATA), txn(2, "0xb", "multi", {"type": "error", "code": -103})]),
    (LOCK_WRITES, [*QUEUED, put(2, "0xa", DATA), put(5.1, "0xb", DATA)]),
    (QUEUE_WRITES, [*QUEUED, put(2, "0xa", DATA), put(5.1, "0xb", DATA)]),
    (SHARDS_BELIEVER, [said(n, 1 + n, leads=f"/my/shards/{s}") for n, s in enumerate("ab")]),
    (EPOCH, [made(1, "0xa", "/my/epoch", "1"), put(2, "0xa", "/my/epoch", "1"), put(3, "0xa", "/my/epoch", "2")]),
    (BACK, [made(1, "0xa", MEMBER), expired(5, "0xa"), made(7, "0xc", MEMBER)]),
    (BACK, [made(1, "0xa", MEMBER), *fault(2, 12, 0), expired(5, "0xa"), made(14, "0xc", MEMBER)]),
    (BACK, [made(1, "0xa", MEMBER), *fault(2, 12, 0, "skipped"), expired(5, "0xa"), made(14, "0xc", MEMBER)]),
    (BACK, [*NODES, made(1, "0xa", f"{MEMBER}1"), expired(5, "0xa"), made(7, "0xc", f"{MEMBER}2")]),
    (
        BACK,
        [
            *(has_session(0, t, s) for t, s in ((1, "0xa"), (14, "0xc"))),
            made(1, "0xa", MEMBER),
            exited(4, 0),
            expired(5, "0xa"),
            opened(14, "0xc"),
            made(14.1, "0xc", MEMBER),
        ],
    ),
    # Stopped by a test: it closes its session, and its process ends 6 s later.
    (
        BACK,
        [
            *(has_session(0, t, s) for t, s in ((1, "0xa"), (14, "0xc"))),
            made(1, "0xa", MEMBER),
            by_test(4, "stop", 0),
            expired(4.1, "0xa"),
            exited(10.1, 0),
            opened(14, "0xc"),
            made(14.1, "0xc", MEMBER),
        ],
    ),
    (OWNED, HANDED_OVER),
    (LOCK_OWNED, QUEUED),
    (THERE, [made(1, "0xa", MEMBER), made(2, "0xb", "/my/members/two")]),
]


@pytest.mark.parametrize(("invariant", "events"), HELD)
def test_it_holds(invariant: ZnodeInvariant, events: list[Event]) -> None:
    found = judged(invariant, *events)
    assert (found["verdict"], found["checks"] > 0) == ("held", True), found


VIOLATED = [
    (OWNER, [made(1, "0xa", LEADER, ephemeral=False)], "persistent"),
    (
        OWNER,
        [*NODES, made(1, "0xa", LEADER), gone(2, "0xb", LEADER)],
        "node 1 (session 0xb) deleted /my/leader of node 0",
    ),
    (LOCK_OWNER, [made(1, "0xa", FIRST, ephemeral=False)], "persistent"),
    (LOCK_OWNER, [made(1, "0xa", FIRST), gone(2, "0xb", FIRST)], "session 0xb deleted"),
    (BELIEVER, [*NODES, *HANDED_OVER, said(0, 1, leads=LEADER), said(1, 5.6, leads=LEADER)], "node 0 (from 1.000 s"),
    (BELIEVER, [said(0, 1, leads=LEADER, epoch=1), said(1, 5, leads=LEADER)], "is nobody"),
    (BELIEVER, [*(said(0, t, leads=LEADER) for t in range(1, 9)), said(1, 9, leads=LEADER)], "node 0 (from 1.000 s"),
    (BELIEVER, [said(0, 1, leads=LEADER, epoch=1), exited(2, 0), said(1, 5, leads=LEADER, epoch=1)], "in epoch 1"),
    (BELIEVER, [said(0, 1, leads=LEADER), said(1, 5, leads=LEADER), said(0, 5.2, 0.1, follows=LEADER)], "to 5.200 s"),
    (BELIEVER, [said(0, 1, leads=LEADER), said(1, 3, leads=LEADER), kill_asked(3.5, 0), exited(4, 0)], "to 4.000 s"),
    (LOCK_BELIEVER, [said(0, 1, leads=ELECTION), said(1, 5, leads=ELECTION)], "node 1"),
    (LOCK_BELIEVER, [said(0, 1, leads=FIRST), said(1, 5, leads=SECOND)], "node 1"),
    (SHARDS_BELIEVER, [said(n, 1 + n, leads=f"/my/shards/{s}") for n, s in enumerate("aba")], "/my/shards/a"),
    (
        WRITES,
        [*NODES, *HANDED_OVER, put(6.5, "0xc", DATA)],
        "node 0 (session 0xc) wrote /my/data/x, the owner was node 1",
    ),
    (
        WRITES,
        [*NODES, made(1, "0xa", LEADER), put(7, "0xc", DATA)],
        "node 0 (session 0xc) wrote /my/data/x, the owner was another session of it, 0xa",
    ),
    (WRITES, [*HANDED_OVER, gone(5.2, "0xa", "/my/data/deep/er")], "the owner was nobody"),
    (LOCK_WRITES, [*QUEUED, put(2, "0xb", DATA)], "the owner was session 0xa"),
    # One who wrote while another owned says more than one who wrote between two owners.
    (WRITES, [*HANDED_OVER, put(5.2, "0xb", DATA), put(6, "0xa", DATA)], "session 0xa wrote /my/data/x, the owner was"),
    (EPOCH, [made(1, "0xa", "/my/epoch", "7"), put(2, "0xb", "/my/epoch", "6")], "wrote 6 after 7"),
    (  # four bytes, and yet a word
        EPOCH,
        [made(1, "0xa", "/my/epoch", "nil\n"), put(2, "0xa", "/my/epoch", "7"), put(3, "0xb", "/my/epoch", "6")],
        "wrote 6 after 7",
    ),
    (
        EPOCH,
        [made(1, "0xa", "/my/epoch", "7"), gone(2, "0xa", "/my/epoch"), made(3, "0xa", "/my/epoch", "0")],
        "0 after",
    ),
    (BACK, [made(1, "0xa", MEMBER), expired(5, "0xa")], "is not back"),
    (BACK, [made(1, "0xa", MEMBER), expired(5, "0xa"), made(11, "0xc", MEMBER)], "is back after 6.000 s"),
    # A test ends another node, or this one before, which has had a session since.
    (BACK, [*NODES, by_test(4, "kill", 1), made(1, "0xa", MEMBER), expired(5, "0xa")], "is not back"),
    (
        BACK,
        [*NODES, by_test(0, "kill", 0), opened(0.1, "0xa"), made(1, "0xa", MEMBER), expired(5, "0xa")],
        "is not back",
    ),
    (BACK, [made(1, "0xa", MEMBER), *fault(2, 7, 0, "skipped"), expired(5, "0xa")], "is not back"),
    # It saw what its old session had left, and was content with it.
    (BACK, [*NODES, made(1, "0xa", MEMBER), txn(4, "0xc", "error"), expired(5, "0xa")], "is not back"),
    (OWNED, [made(1, "0xa", LEADER), expired(5, "0xa")], "owned by nobody since 5.000 s"),
    (OWNED, [made(1, "0xa", "/other")], "never owned"),
    (LOCK_OWNED, [*QUEUED, gone(6, "0xb", SECOND)], "owned by nobody since 6.000 s"),
    (
        THERE,
        [made(1, "0xa", MEMBER), made(2, "0xb", "/my/members/two"), expired(5, "0xb")],
        "1 of 2: /my/members/one; ",
    ),
]


@pytest.mark.parametrize(("invariant", "events", "seen"), VIOLATED)
def test_it_is_violated_with_a_witness(invariant: ZnodeInvariant, events: list[Event], seen: str) -> None:
    found = judged(invariant, *events)
    assert found["verdict"] == "violated", found
    assert seen in f"{found['seen']} {found['where']}"
    assert found["witness"]
    assert found["where"]


NEVER = [
    (OWNER, [], "nobody made /my/leader"),
    (OWNER, [said(0, 1, leads=LEADER), said(1, 2, leads=LEADER)], "nobody made /my/leader"),
    (BELIEVER, HANDED_OVER, "no program said who leads, in lines"),
    (
        BELIEVER,
        [engine(20, "program.printed", node=n, otherwise=f"{n} lines were ...") for n in (1, 2)],
        "no program said who leads, in lines that are JSON objects; node 1: 1 lines were ...",
    ),
    (BELIEVER, [said(0, 1, leads=7), said(0, 2, ready=True)], "no program said who leads, in lines"),
    (BELIEVER, [said(0, 1, leads="/my/leder")], "no program said who leads /my/leader, but only /my/leder"),
    (BELIEVER, [said(0, 21, leads=LEADER)], "no program said who leads, in lines"),
    (
        BELIEVER,
        [said(0, 1, leads="/x"), said(0, 21, leads=LEADER)],
        "no program said who leads /my/leader, but only /x",
    ),
    (WRITES, HANDED_OVER, "nobody wrote /my/data/**"),
    (
        WRITES,
        [made(0.2, "0xb", DATA, ephemeral=False), put(0.3, "0xb", DATA), *HANDED_OVER],
        "/my/data/** was written only before anybody owned /my/leader",
    ),
    (WRITES, [*NODES, put(1, "0xf", DATA)], "no node wrote /my/data/**"),
    (EPOCH, [made(1, "0xa", "/my/epoch", "1")], "no second value of /my/epoch"),
    (EPOCH, HANDED_OVER, "nobody wrote /my/epoch"),
    (EPOCH, [made(1, "0xa", "/my/epoch", "one"), put(2, "0xa", "/my/epoch", "four")], "2 values are no whole number"),
    (BACK, [made(1, "0xa", MEMBER), gone(2, "0xa", MEMBER)], "no session of such a znode has ended"),
    (BACK, HANDED_OVER, "nobody made an ephemeral znode /my/members/*"),
    (BACK, [made(1, "0xa", MEMBER), expired(18, "0xa")], "before one had to be back"),
    (BACK, [*NODES, made(1, "0xa", MEMBER), exited(4, 0), expired(5, "0xa")], "before one had to be back"),
    # No end of the process of a node of ours is recorded that a test ends itself.
    (BACK, [*NODES, made(1, "0xa", MEMBER), by_test(4, "kill", 0), expired(5, "0xa")], "before one had to be back"),
]


@pytest.mark.parametrize(("invariant", "events", "why"), NEVER)
def test_it_is_never_exercised(invariant: ZnodeInvariant, events: list[Event], why: str) -> None:
    found = judged(invariant, *events)
    assert (found["verdict"], found["checks"]) == ("never exercised", 0), found
    assert found["seen"].startswith("nothing to check: ")
    assert why in found["seen"]


@pytest.mark.parametrize(("system", "idle"), [({}, "one-owner"), ({"command": ["x"]}, "one-believer")])
def test_a_note_names_what_a_file_asks_for_and_was_never_exercised(system: dict[str, Any], idle: str) -> None:
    asked = [*one_owner("/misspelt"), *value_never_decreases("/my/epoch")]
    written = [made(1, "0xa", "/my/epoch", "1"), put(2, "0xa", "/my/epoch", "2")]
    run = {"started": "2026-01-01", "system": system, "invariants": facts_of(asked)}
    value = verdicts(in_order([*HANDED_OVER, *written, END]), None, [*asked, BELIEVER], run=run)
    (note,) = value["notes"]
    assert note.startswith("never exercised: ")
    assert f"{idle}(/misspelt) (" in note
    assert "one-owner(/misspelt) (nobody made /misspelt)" in note
    assert LEADER not in note, "nobody asked for that one"
    assert "one-believer" not in note or system, "our own nodes print nothing of the kind"


def test_numbers_in_bytes_are_compared_as_curator_writes_them() -> None:
    def counter(*data: bytes) -> dict[str, Any]:
        paths = [(n, _data(value)) for n, value in enumerate(data, 1)]
        return judged(EPOCH, *(put(n, "0xa", "/my/epoch", value) for n, value in paths))

    up = [number.to_bytes(8, "big", signed=True) for number in (-1, 0, 5, 200, 1 << 40)]
    assert (counter(*up)["verdict"], counter(*up)["checks"]) == ("held", 4)
    assert "wrote 200 after 1099511627776" in counter(*up, up[3])["seen"]
    # The bytes of the second are the text "1000" as well; the counter has been one in bytes before.
    small = [number.to_bytes(4, "big") for number in (0x3130302F, 0x31303030)]
    assert (counter(b"\0\0\0\7", *small)["verdict"], counter(b"1000", b"1001")["checks"]) == ("held", 1)
    assert counter(b"\0\0\7", b"\0\0\6")["verdict"] == "never exercised"


@pytest.mark.parametrize("invariant", [OWNED, THERE])
def test_the_end_is_unknown_if_the_run_did_not_get_there(invariant: ZnodeInvariant) -> None:
    assert invariant.judge(in_order([made(1, "0xa", LEADER)]))["verdict"] == "unknown"


PENDING = [
    (OWNED, HANDED_OVER, False),
    (OWNED, [made(1, "0xa", LEADER), expired(5, "0xa")], True),
    (THERE, [made(1, "0xa", MEMBER)], True),
    (THERE, [made(1, "0xa", MEMBER), made(2, "0xb", "/my/members/two")], False),
    (BACK, [made(1, "0xa", MEMBER), expired(5, "0xa")], True),
    (BACK, [made(1, "0xa", MEMBER), expired(5, "0xa"), made(6, "0xb", MEMBER)], False),
    (BACK, [*NODES[:2], made(1, "0xa", MEMBER), exited(4, 0), expired(5, "0xa")], False),
    (OWNER, [], False),
]


@pytest.mark.parametrize(("invariant", "events", "pending"), PENDING)
def test_a_run_waits_for_what_must_come_about(invariant: ZnodeInvariant, events: list[Event], pending: bool) -> None:
    assert invariant.pending(in_order(events)) is pending


def test_what_happens_after_the_end_is_nobodys_affair() -> None:
    found = judged(OWNED, *HANDED_OVER, expired(21, "0xb"))
    assert found["verdict"] == "held"
    assert judged(BELIEVER, said(0, 1, leads=LEADER), said(1, 21, leads=LEADER))["verdict"] == "held"


@pytest.mark.parametrize("epoch", ["0000000002", 2])
def test_an_epoch_may_be_its_digits(epoch: object) -> None:
    """As a znode's name ends in them."""
    first = said(0, 1, leads=LEADER, epoch="0000000001")
    assert judged(BELIEVER, first, said(1, 5, leads=LEADER, epoch=epoch))["verdict"] == "held"
    assert "in epoch 1" in judged(BELIEVER, first, said(1, 5, leads=LEADER, epoch=1))["seen"]


@pytest.mark.parametrize("epoch", ["abc", "-1", "1.0", "", "\u0661", "9" * 5000, 7.0, True, [7], {}])
def test_an_epoch_that_is_no_whole_number_is_told(epoch: object) -> None:
    told = f"node 1's epoch {json.dumps(epoch, ensure_ascii=False)[:40]}"
    first, second = said(0, 1, leads=LEADER, epoch=7), said(1, 5, leads=LEADER, epoch=epoch)
    broken, held = judged(BELIEVER, first, second), judged(BELIEVER, second)
    assert (broken["verdict"], held["verdict"]) == ("violated", "held")
    for found in (broken, held):
        assert told in found["seen"]
        assert found["seen"].endswith(" is no whole number, and does not count")


def test_an_epoch_that_is_null_is_none() -> None:
    assert judged(BELIEVER, said(0, 1, leads=LEADER, epoch=None))["seen"] == ""


def test_a_time_that_does_not_count_is_told_once() -> None:
    lines = (said(0, t, leads=LEADER, epoch=t, at_ns=1795927856169333024) for t in (1, 2))
    assert judged(BELIEVER, *lines, said(0, 3, at_us=3 * S, leads=LEADER, epoch=3, at_ns=3))["seen"] == (
        "node 0's at_ns 1795927856169333024 is no time of this run by the monotonic clock, and does not count"
    )


def test_two_who_believe_in_different_epochs_are_told_of() -> None:
    found = judged(BELIEVER, said(0, 1, leads=LEADER, epoch=1), said(1, 5, leads=LEADER, epoch=2))
    assert found["seen"] == "once two at once, in different epochs"


def test_two_without_epochs_of_whom_it_is_not_sure_that_they_believed_at_once_are_not_told_of() -> None:
    lines = (said(0, 1, leads=LEADER), said(1, 5, leads=LEADER), said(1, 5.2, 0.3, follows=LEADER))
    found = judged(BELIEVER, *lines)
    assert (found["verdict"], found["seen"]) == ("held", "")


def test_the_witness_has_zookeepers_word_and_the_programs() -> None:
    history = in_order([*NODES, *HANDED_OVER, said(0, 1, leads=LEADER), said(1, 5.6, leads=LEADER), END])
    value = verdicts(history, None, [OWNER, BELIEVER])
    believer, owner = value["invariants"]
    assert (owner["verdict"], believer["verdict"]) == ("held", "violated")
    witness = believer["witness"]
    assert witness["owner"] == "0xb"
    assert witness["lost"] == {"session": "0xa", "zxid": hex(5000), "how": "expired"}
    (window,) = windows(history, value, {"0xa": 0, "0xb": 1})
    proof = [event["text"] for event in window["events"] if event["witness"]]
    assert any(f"create {LEADER}" in text for text in proof), proof
    assert any("node 1 says: leads /my/leader" in text for text in proof), proof
    assert window["nodes"][:2] == [1, 0]


# --- campaign files, plugins, tests


CATALOGUE = load_catalogue(installed=False)
FILE = """
[campaign]
name = "mine"
duration_s = 5

[cluster]

[thresholds]
faults_applied = 0
"""


def campaign(tmp_path: Path, text: str) -> Campaign:
    path = tmp_path / "c.toml"
    path.write_text(FILE + text, encoding="utf-8")
    return load_campaign(path, CATALOGUE)


ALL = """
[[invariants]]
kind = "one_owner"
path = "/my/leader"
[[invariants]]
kind = "only_owner_writes"
path = "/my/leader"
written_path = "/my/data/**"
[[invariants]]
kind = "value_never_decreases"
path = "/my/epoch"
[[invariants]]
kind = "ephemeral_back_within"
path = "/my/members/*"
within_s = 5
[[invariants]]
kind = "owned_after_healing"
path = "/my/leader"
[[invariants]]
kind = "exists_after_healing"
path = "/my/members/*"
count = 3
[[expected]]
invariant = "one-believer(/my/leader)"
reason = "ISSUE-1"
until = 2027-01-01
"""


def test_a_file_asks_for_invariants_by_kind(tmp_path: Path) -> None:
    found = campaign(tmp_path, ALL)
    assert [one.name for one in found.own_invariants] == [
        "one-owner(/my/leader)",
        "one-believer(/my/leader)",
        "only-owner-writes(/my/leader, /my/data/**)",
        "value-never-decreases(/my/epoch)",
        "ephemeral-back-within(/my/members/*)",
        "owned-after-healing(/my/leader)",
        "exists-after-healing(/my/members/*)",
    ]
    again = from_facts(facts_of(found.own_invariants))
    assert [one.parameters for one in again] == [one.parameters for one in found.own_invariants]
    assert set(found.own_invariants) < set(found.invariants)


BAD = [
    ('path = "/a"', "c.toml:10: `invariants.kind`", "the key `kind` is missing"),
    ('kind = "one_ovner"\npath = "/a"', "c.toml:11: `invariants.kind`", "did you mean `one_owner`?"),
    ('kind = "one_owner"\npaht = "/a"', "c.toml:12: `invariants.paht`", "did you mean `path`?"),
    ('kind = "one_owner"', "c.toml:10: `invariants.path`", "the key `path` is missing"),
    ('kind = "one_owner"\npath = "a"', "c.toml:12: `invariants.path`", "does not begin with `/`"),
    ('kind = "one_owner"\npath = "/a/**/b"', "c.toml:12: `invariants.path`", "at the end only"),
    ('kind = "one_owner"\npath = 7', "c.toml:12: `invariants.path`", "7 is not a text"),
    ('kind = "one_owner"\npath = "/a"\nwithin_s = 1', "c.toml:13: `invariants.within_s`", "one_owner has no key"),
    ('kind = "ephemeral_back_within"\npath = "/a/*"\nwithin_s = 0', "c.toml:13: `invariants.within_s`", "less than"),
    (
        'kind = "only_owner_writes"\npath = "/a"\nwritten_path = "/"',
        "c.toml:13: `invariants.written_path`",
        "no path of a znode",
    ),
    ('kind = "one_owner"\npath = "/a"\n[[invariants]]\nkind = "one_owner"\npath = "/a"', "c.toml:13", "is there twice"),
    (
        'kind = "one_owner"\npath = "/a"\n[[expected]]\ninvariant = "one-owner(/b)"\nreason = "x"\nuntil = 2027-01-01',
        "c.toml:14: `expected.invariant`",
        "did you mean `one-owner(/a)`?",
    ),
]


@pytest.mark.parametrize(("text", "where", "what"), BAD)
def test_what_is_wrong_is_said_with_file_line_and_key(tmp_path: Path, text: str, where: str, what: str) -> None:
    with pytest.raises(UsageError) as wrong:
        campaign(tmp_path, f"[[invariants]]\n{text}\n")
    assert where in wrong.value.where
    assert what in str(wrong.value)


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: one_owner("my/leader"), "does not begin with `/`"),
        (lambda: ephemeral_back_within("/a/*", "5 hours"), "'5 hours' is no time"),
        (lambda: ephemeral_back_within("/a/*", 0), "0 is no time"),
    ],
)
def test_what_is_wrong_in_a_call_is_said(call: Any, what: str) -> None:
    with pytest.raises(UsageError, match="is no") as wrong:
        call()
    assert what in str(wrong.value)


@pytest.mark.parametrize(("text", "seconds"), [("5s", 5), ("500ms", 0.5), ("2 min", 120), (7, 7)])
def test_times_have_units(text: str | float, seconds: float) -> None:
    (one,) = ephemeral_back_within("/a/*", text)
    assert one.parameters["within_s"] == seconds


PLUGIN = """
from kcontroller_chaos.znode_invariants import one_owner, value_never_decreases
from pytest_kcontroller.hookspecs import hookimpl

@hookimpl
def kcontroller_invariants():
    return one_owner("/my/leader") + value_never_decreases("/my/epoch")
"""


def test_a_plugin_offers_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "owns_znodes.py").write_text(PLUGIN, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    catalogue = load_catalogue(["owns_znodes"], installed=False)
    one = catalogue.invariant("one-believer(/my/leader)")
    assert one.any_program
    assert catalogue.plugin_of[one.name] == "owns_znodes"
