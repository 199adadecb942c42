"""The window of a failure is about its witness: its partition, its nodes, its write, and where it began."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kcontroller_chaos.history.read import History, in_order, read_history
from kcontroller_chaos.invariants import named
from kcontroller_chaos.judge.decisive import began, windows
from kcontroller_chaos.judge.timeline import nodes_of_sessions
from pytest_kcontroller.model.history.event import HistoryEvent, kinds, parsed

RELIEVED_BROKER = Path(__file__).parents[2] / "data/relieved_broker"
"""Part of a history of a campaign with KAFKA-14140: six brokers are shut down at once, ten partitions change in one write,
and in it a broker that was relieved of drawn-3-3 joins its ISR again."""


def window_of(history: History, name: str) -> dict[str, Any]:
    entry = {"name": name, **named(name).judge(history)}
    (window,) = windows(history, {"invariants": [entry], "faults": []}, nodes_of_sessions(history))
    return window


def test_the_window_is_about_the_partition_the_nodes_and_the_write_of_the_witness() -> None:
    window = window_of(read_history(RELIEVED_BROKER), "relieved-stay-out-of-isr")

    assert (window["partition"], window["nodes"], window["at_us"]) == ("drawn-3-3", [2, 4, 5], 4336515)
    (marked,) = [event for event in window["events"] if event["witness"]]
    path = "/brokers/topics/drawn-3/partitions/3/state"
    assert marked["text"].startswith(
        f"accepts from node 0 (session 0x1000000000000002): {path}: leader 4, ISR [4, 2, 5], controller epoch 1, "
    ), "the write of the witness is named first, not among the 5 more of this transaction"
    of_it = [event["text"] for event in window["events"] if "drawn-3-3" in event["text"] or path in event["text"]]
    assert any("leader 4, ISR [4]," in text for text in of_it), "the write before: the broker was out"
    assert any("elected leader 4 for drawn-3-3" in text for text in of_it)
    assert "the ISR of drawn-3-3 became [4, 2, 5]" in of_it


def txn(t_us: int, zxid: int, **written: Any) -> dict[str, Any]:
    ops = [{"type": "set", "path": path, "data": json.dumps(value)} for path, value in written.items()]
    stamp = {"writer": "zookeeper", "seq": zxid, "t_us": t_us, "kind": "zk.txn"}
    return {**stamp, "zxid": zxid, "session": "0xa", "cxid": 1, "time_ms": 0, "type": "multi", "ops": ops}


def test_a_refusal_is_told_in_words() -> None:
    one = {**txn(1, 2), "type": "error", "error": -110}
    both = {**txn(1, 2), "ops": [{"type": "error", "code": code} for code in (-2, -103)]}
    assert [parsed(event).sentence() for event in (one, {**one, "error": -9}, both)] == [
        "refuses a request of session 0xa: the znode is there already (-110); zxid 0x2",
        "refuses a request of session 0xa: error -9; zxid 0x2",
        "refuses a write of session 0xa: the version that it checks has moved on (-103); zxid 0x2",
    ]


def test_what_is_so_at_the_end_is_shown_where_it_began() -> None:
    state = "/brokers/topics/t/partitions/0/state"
    led, lost = ({"leader": leader, "isr": [1], "controller_epoch": 1} for leader in (1, -1))
    again = {**lost, "controller_epoch": 2}  # another controller found it so
    end = {"writer": "engine", "seq": 0, "t_us": 60_000_000, "kind": "zk.tree"}
    written = [(1_000_000, led), (9_000_000, lost), (30_000_000, again)]
    history = in_order([*(txn(t_us, zxid, **{state: value}) for zxid, (t_us, value) in enumerate(written)), end])
    witness = {"topic": "t", "partition": 0, "leader": -1}
    entry = {"name": "all-led-after-healing", "verdict": "violated", "witness": witness}

    assert began(history, entry) == 9_000_000
    assert began(history, {**entry, "witness": {"what": "t-0", "told": None}}) == 30_000_000
    assert began(history, {**entry, "witness": {"node": 1, "what": "brokers"}}) == 60_000_000
    assert began(history, {**entry, "verdict": "held"}) is None
    (window,) = windows(history, {"invariants": [entry], "faults": []}, {})
    assert [event["t_us"] for event in window["events"]] == [9_000_000]


def test_a_skipped_fault_has_no_window() -> None:
    fault = {"id": "drawn-1", "why": "skipped: nothing to hit", "status": "skipped", "node": None}
    assert windows(History(()), {"invariants": [], "faults": [fault]}, {}) == []


ODD: list[Any] = [None, True, -1, "text", [], {}, [[1]], {"t": None}, {"t": [1]}, {"t": {"partition": 0}}]
ODD += [
    {"t": {"partition": [0, 1], "leader": [1]}},
    {"t": {"leader": [1]}},
    {"t": {"partition": [None], "leader": [{}]}},
]


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.kind)
def test_a_sentence_is_said_of_whatever_a_damaged_line_holds(kind: type[HistoryEvent]) -> None:
    names = list(kind.of({"kind": kind.kind}).fields())
    for odd in ODD:
        for line in ({"kind": kind.kind}, *({"kind": kind.kind, name: odd} for name in (*names, "topics", "ops"))):
            value = parsed(line)
            assert value is not None and isinstance(value.sentence(), str)
            value.weight()
            value.concerns("t-0")
