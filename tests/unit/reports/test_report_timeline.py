"""timeline.json and recoveries from small histories: what is drawn is what the events say."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ElementTree
from itertools import count
from pathlib import Path
from typing import Any

from kcontroller_chaos.history.read import History, in_order
from kcontroller_chaos.history.rundir import RunDirectory
from kcontroller_chaos.judge.decisive import SHOWN
from kcontroller_chaos.judge.timeline import timeline
from kcontroller_chaos.judge.verdict import judge, verdicts
from kcontroller_chaos.znode_invariants import one_owner
from pytest_kcontroller.runtime.real import RunStart
from tests.tools.leaders_plot import picture

LOG = Path(__file__).parents[2] / "data/zookeeper_log"
_SEQ = count()


def event(t_us: int, kind: str, writer: str = "engine", **fields: Any) -> dict[str, Any]:
    return {"writer": writer, "seq": next(_SEQ), "t_us": t_us, "kind": kind, **fields}


def txn(t_us: int, session: str, type: str = "multi", cxid: int = 1, **written: Any) -> dict[str, Any]:
    ops = [
        {"type": "delete" if value is None else "set", "path": path, "data": value and json.dumps(value)}
        for path, value in written.items()
    ]
    return event(t_us, "zk.txn", "zookeeper", zxid=t_us, session=session, type=type, cxid=cxid, ops=ops)


def elected(t_us: int, session: str, node: int, epoch: int) -> dict[str, Any]:
    return txn(t_us, session, **{"/controller": {"brokerid": node}, "/controller_epoch": epoch})


def state(t_us: int, session: str, epoch: int, leader: int, leader_epoch: int) -> dict[str, Any]:
    value = {"controller_epoch": epoch, "leader": leader, "isr": [1, 2], "leader_epoch": leader_epoch}
    return txn(t_us, session, **{"/brokers/topics/t/partitions/0/state": value})


def fault(step: str, t_us: int, name: str = "f", kind: str = "kill", **fields: Any) -> dict[str, Any]:
    asked = {"nodes": [1], "sessions": ["0xa"], "zxid": t_us} if step == "asked" else {}
    of_it = {"fault": name, "fault_kind": kind, "mode": None, "node": 1, "session": "0xa"}
    return event(t_us, f"fault.{step}", **{**of_it, **asked, **fields})


def drawn(*events: dict[str, Any]) -> dict[str, Any]:
    history = History(tuple(sorted(events, key=lambda e: (e["t_us"], e["writer"], e["seq"]))))
    return timeline(history, verdicts(history))


ZOMBIE = (
    event(1, "run.started"),
    txn(2, "0xa", "create-session"),
    txn(3, "0xb", "create-session"),
    event(4, "zk.state", "node-1", state="connected", session="0xa"),
    event(4, "zk.state", "node-2", state="connected", session="0xb"),
    txn(5, "0x9", **{"/brokers/topics/t": {"partitions": {"0": [1, 2]}}}),
    elected(6, "0xa", 1, 1),
    event(7, "controller.elected", "node-1", epoch=1, session="0xa"),
    state(8, "0xa", 1, 1, 0),
    event(10, "zk.state", "node-1", state="suspended", session="0xa"),
    txn(20, "0xa", "close-session", cxid=0),
    elected(30, "0xb", 2, 2),
    event(31, "controller.elected", "node-2", epoch=2, session="0xb"),
    state(40, "0xb", 2, -1, 1),
    state(50, "0xb", 2, 2, 2),
    event(60, "zk.state", "node-1", state="expired", session="0xa"),
    event(61, "controller.resigned", "node-1", epoch=1, reason="the session expired"),
)


def test_both_views_of_a_session_and_of_the_controller_are_kept() -> None:
    made = drawn(*ZOMBIE)

    spans = [(c["view"], c["node"], c["epoch"], c["from_us"], c["to_us"]) for c in made["controllers"]]
    assert spans == [
        ("zookeeper", 1, 1, 6, 20), ("zookeeper", 2, 2, 30, None), ("node", 1, 1, 7, 61), ("node", 2, 2, 31, None),
    ]  # fmt: skip
    of_node_1 = [
        (s["view"], s["state"], s["from_us"], s["to_us"], s["ended"]) for s in made["sessions"] if s["node"] == 1
    ]
    assert of_node_1 == [
        ("zookeeper", "alive", 2, 20, "expired"),
        ("client", "connected", 4, 10, None),
        ("client", "suspended", 10, 60, None),
        ("client", "expired", 60, None, None),
    ]


def test_a_partition_without_a_leader_is_a_gap_from_the_creation_of_its_topic_on() -> None:
    spans = [
        (s["leader"], s["leader_epoch"], s["controller_epoch"], s["from_us"], s["to_us"])
        for s in drawn(*ZOMBIE)["leaders"]
    ]
    assert spans == [(None, None, None, 5, 8), (1, 0, 1, 8, 40), (None, 1, 2, 40, 50), (2, 2, 2, 50, None)]


def test_a_killed_process_ends_what_it_believed() -> None:
    made = drawn(
        event(1, "node.started", "node-1", node=1, pid=5),
        event(2, "zk.state", "node-1", state="connected", session="0xa"),
        event(3, "controller.elected", "node-1", epoch=1, session="0xa"),
        event(9, "process.exited", node=1, status=-9),
        event(20, "node.started", "node-1.2", node=1, pid=6),
        event(21, "zk.state", "node-1.2", state="connected", session="0xc"),
    )
    assert [(c["from_us"], c["to_us"]) for c in made["controllers"]] == [(3, 9)]
    assert [(s["session"], s["node"], s["to_us"]) for s in made["sessions"]] == [("0xa", 1, 9), ("0xc", 1, None)]


def test_the_window_of_a_violation_names_its_write_and_leaves_out_what_says_least() -> None:
    answers = [
        event(1_000_000 + n, "leader.answered", "node-2", topic="t", partition=0, leader=2, leader_epoch=2, epoch=2)
        for n in range(3 * SHOWN)
    ]
    far = event(5_000_000, "controller.resigned", "node-2", epoch=2, reason="far away")
    (window,) = drawn(*ZOMBIE, *answers, fault("asked", 900_000), state(1_000_001, "0xa", 1, 1, 3), far)["windows"][:1]

    assert (window["about"], window["name"]) == ("invariant", "no-stale-epoch-write")
    (witness,) = [e for e in window["events"] if e["witness"]]
    assert witness["text"] == (
        "accepts from node 1 (session 0xa): /brokers/topics/t/partitions/0/state: leader 1, ISR [1, 2], "
        "controller epoch 1; zxid 0xf4241"
    )
    texts = [e["text"] for e in window["events"]]
    assert "fault f (kill on node 1): asked" in texts and "it resigns from epoch 1: the session expired" in texts
    assert not any("far away" in text for text in texts)
    assert len(texts) == SHOWN and window["left_out"] == 3 * SHOWN + len(ZOMBIE) - 1 + 2 - SHOWN
    assert [e["t_us"] for e in window["events"]] == sorted(e["t_us"] for e in window["events"])


def test_a_fault_that_was_not_observed_has_a_window_and_says_why() -> None:
    unseen = (fault("asked", 70), fault("applied", 71), fault("not-observed", 90, why="not within 5 s"))
    made = drawn(*ZOMBIE, *unseen, fault("healed", 95))
    (window,) = [w for w in made["windows"] if w["about"] == "fault"]
    assert (window["name"], window["at_us"]) == ("f", 90)
    (witness,) = [e["text"] for e in window["events"] if e["witness"]]
    assert witness == "fault f (kill on node 1): not observed, not within 5 s"
    assert [f["why"] for f in made["faults"]] == ["not-observed: not within 5 s"]


def test_killed_cut_and_empty_runs_have_a_timeline(tmp_path: Path) -> None:
    campaign = {"name": "x", "file": "x.toml", "sha256": ""}
    empty = RunDirectory.create(tmp_path, campaign, 1, RunStart(10**18, 0), backend="process").path
    judge(empty)
    assert json.loads((empty / "timeline.json").read_text())["last_us"] == 0
    killed = RunDirectory.create(tmp_path, campaign, 2, RunStart(10**18, 0), backend="process").path
    shutil.copy(LOG / "log.1", killed / "zookeeper")
    line = json.dumps(event(1, "zk.state", "node-0", state="connected", session="0x1"))
    (killed / "history/node-0.jsonl").write_text(f'{line}\n{{"wri')
    judge(killed)
    made = json.loads((killed / "timeline.json").read_text())
    assert (made["ended_us"], len(made["leaders"]), made["windows"]) == (None, 2, [])
    assert [c["view"] for c in made["controllers"]] == ["zookeeper", "zookeeper"]


def recoveries(*events: dict[str, Any]) -> dict[str, tuple[str, int | None]]:
    history = History(tuple(sorted(events, key=lambda e: (e["t_us"], e["writer"], e["seq"]))))
    return {entry["fault"]: (entry["recovered"], entry["recovery_us"]) for entry in verdicts(history)["recovery"]}


STATE = {"leader": 2, "leader_epoch": 0, "isr": [2]}
LED = {"topic": "t", "partition": 0, "replicas": [1, 2], **STATE, "version": 0}
TOLD = {"controller": 2, "brokers": {"2": "h:1"}, "partitions": {"t-0": {**STATE, "partition_epoch": 0}}}
END = (
    event(0, "node.started", "node-2", node=2, pid=1),
    event(890, "broker.become-leader", "node-2", topic="t", partition=0, leader=2, leader_epoch=0, broker_epoch=1),
    event(900, "node.status", node=2, active=True, session="0xb"),
    event(900, "node.metadata", node=2, metadata=TOLD),
    event(
        901, "zk.tree", controller=2, controller_owner="0xb", brokers=[2], partitions=[LED], deleting=[], electing=[]
    ),
)


def test_an_election_before_the_observation_belongs_to_the_fault_that_caused_it() -> None:
    first = [fault("asked", 1, "first"), fault("applied", 2, "first"), fault("observed", 3, "first", evidence={})]
    second = [
        fault("asked", 100, "second"), fault("applied", 110, "second"),
        fault("observed", 150, "second", evidence={"t_us": 120}),
    ]  # fmt: skip
    failover = event(141, "controller.failover", "node-2", epoch=2)
    healed = [fault("healed", 200, name) for name in ("first", "second")]

    said = recoveries(*first, *second, elected(130, "0xb", 2, 2), failover, *healed, *END)

    assert said == {"first": ("nothing to recover", None), "second": ("yes", 21)}


def moved(t_us: int, epoch: int, reason: str = "offline") -> list[dict[str, Any]]:
    """Partition t-0 gets the leader 2, who answers 3 later."""
    columns = {"partition": [0], "leader_epoch": [epoch]}
    elects = {"epoch": 2, "reason": reason, "topics": {"t": {**columns, "leader": [2], "isr": [[2]]}}}
    return [
        state(t_us, "0xb", 2, 2, epoch),
        event(t_us + 1, "leader.elected", "node-2", **elects),
        event(t_us + 3, "leader.answered", "node-2", leader=2, epoch=2, topics={"t": columns}),
    ]


def played(name: str, at_us: int, observed_us: int, session: str = "0xa", **evidence: Any) -> list[dict[str, Any]]:
    return [
        fault("asked", at_us, name, sessions=[session]),
        fault("applied", at_us + 1, name),
        fault("observed", observed_us, name, evidence=evidence),
    ]


def test_a_recovery_counts_from_the_effect_that_made_it_necessary() -> None:
    """A node is paused, and ZooKeeper gives its session up later, while another fault is on that did nothing."""
    pause, cut = played("pause", 10, 12), played("cut", 30, 35, "0xb")
    closed = txn(50, "0xa", "close-session", cxid=0)
    said = recoveries(*pause, *cut, closed, *moved(60, 1), *END)
    assert said == {"pause": ("yes", 13), "cut": ("nothing to recover", None)}


def test_what_moves_before_a_node_has_stopped_belongs_to_its_stop() -> None:
    """A controlled shutdown: others lead before the session is closed, and before the fault is observed."""
    before, stop = played("before", 10, 12, "0xb"), played("stop", 30, 50, zxid=45, t_us=45)
    closed = txn(45, "0xa", "close-session")
    assert recoveries(*before, *stop, *moved(40, 1), closed, *END) == {
        "before": ("nothing to recover", None),
        "stop": ("yes", 12),
    }


def test_what_comes_first_is_said_by_zxids_alone() -> None:
    """The clock that ZooKeeper stamps with is wrong by a lot: only the length of what it stamped is."""
    expiry = played("expiry", 10, 55, zxid=50, t_us=5)
    closed = txn(50, "0xa", "close-session", cxid=0) | {"t_us": 5}
    late = txn(51, "0xb", **{"/controller": {"brokerid": 2}, "/controller_epoch": 2}) | {"t_us": 2}
    failover = event(70, "controller.failover", "node-2", epoch=2)
    assert recoveries(*expiry, closed, late, failover, *END) == {"expiry": ("yes", 65)}
    assert recoveries(*expiry, closed, late | {"zxid": 9}, failover, *END)["expiry"][0] == "nothing to recover"


def test_a_new_topic_is_no_recovery() -> None:
    assert recoveries(*played("f", 10, 12), *moved(60, 0, "new"), *END) == {"f": ("nothing to recover", None)}


def test_a_partition_that_moves_twice_is_back_when_its_last_leader_has_answered() -> None:
    unanswered = moved(40, 1)[:2]
    assert recoveries(*played("f", 10, 12), *unanswered, *moved(60, 2), *END) == {"f": ("yes", 52)}
    assert recoveries(*played("f", 10, 12), *moved(40, 1), *moved(60, 2)[:2], *END) == {"f": ("no", None)}


def test_a_recovery_without_an_end_is_told_from_nothing_to_recover() -> None:
    seen = [fault("asked", 1), fault("applied", 2), fault("observed", 3, evidence={})]
    assert recoveries(*seen, *END) == {"f": ("nothing to recover", None)}
    assert recoveries(*seen) == {"f": ("no", None)}, "the run was killed: nobody knows"
    assert recoveries(*seen, elected(10, "0xb", 2, 2), *END) == {"f": ("no", None)}, "no failover was seen"


def test_a_cluster_that_failed_is_environment_with_its_reason_and_a_proven_violation_stands() -> None:
    failed = event(950, "run.failed", error="ZooKeeper did not start")
    said = verdicts(History((failed,)))
    assert said["overall"] == "environment"
    assert said["parts"]["injected"]["detail"] == "the cluster failed: ZooKeeper did not start"
    assert verdicts(History((*ZOMBIE, state(70, "0xa", 1, 1, 3), failed)))["overall"] == "violated"


def owning(t_us: int, session: str) -> dict[str, Any]:
    op = {"type": "create", "path": "/my/leader", "data": "", "ephemeral": True}
    return {**txn(t_us, session, "create"), "ops": [op]}


def said(t_us: int, node: int, **what: Any) -> dict[str, Any]:
    return event(t_us, "program.said", f"node-{node}", node=node, said=what, since_us=t_us, at_us=None)


TWO_BELIEVE = in_order(
    [
        txn(1, "0xa", "create-session"), event(1, "session.granted", node=1, session="0xa", timeout_ms=9),
        txn(2, "0xb", "create-session"), event(2, "session.granted", node=2, session="0xb", timeout_ms=9),
        owning(5, "0xa"), said(6, 1, leads="/my/leader"),
        fault("asked", 10, kind="pause"), fault("applied", 10, kind="pause"),
        txn(20, "0xa", "close-session", cxid=0), owning(21, "0xb"), said(22, 2, leads="/my/leader", epoch=2),
        fault("healed", 30, kind="pause"), said(40, 1, follows="/my/leader"), event(50, "run.ended"),
    ]
)  # fmt: skip


def test_owners_are_told_by_zookeeper_and_by_the_program() -> None:
    """Of what a `one_owner` is about."""
    made = timeline(TWO_BELIEVE, verdicts(TWO_BELIEVE, None, one_owner("/my/leader")))
    spans = [(o["view"], o["node"], o["epoch"], o["from_us"], o["to_us"]) for o in made["owners"]]
    assert spans == [
        ("zookeeper", 1, None, 5, 20), ("zookeeper", 2, None, 21, None),
        ("program", 1, None, 6, 40), ("program", 2, 2, 22, None),
    ]  # fmt: skip
    assert {o["path"] for o in made["owners"]} == {"/my/leader"}
    assert drawn(*TWO_BELIEVE.events)["owners"] == [], "no invariant is about it"


def test_the_picture_has_a_row_for_each_who_owns_or_believes_to(tmp_path: Path) -> None:
    value = timeline(TWO_BELIEVE, verdicts(TWO_BELIEVE, None, one_owner("/my/leader")))
    (tmp_path / "timeline.json").write_text(json.dumps(value), encoding="utf-8")
    svg = ElementTree.fromstring(picture(tmp_path))
    texts = ["".join(one.itertext()) for one in svg.iter("{http://www.w3.org/2000/svg}text")]
    rows = ["OWNER OF /my/leader", "by ZooKeeper", "node 1 says so", "node 2 says so", "node 1: ZooKeeper"]
    assert [row for row in rows if row not in texts] == []
    assert not [text for text in texts if "client" in text], "nobody has said what its client said"
