"""Invariants: a history in which all hold, and for each of them what violates it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kcontroller_chaos.history.read import History, in_order
from kcontroller_chaos.invariants import check_all
from pytest_kcontroller.zookeeper.znodes import TOPICS
from tests.tools.histories import (
    CONFIG,
    ENDED,
    GONE,
    GOOD,
    LED,
    MARKER,
    STATE,
    TOPIC,
    TREE,
    elect,
    ended,
    engine,
    follow,
    made,
    metadata,
    node,
    register,
    state,
    stop,
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


def answered(api: str, znode: str, **holds: object) -> dict[str, object]:
    return node(6, "broker.answered-client", api=api, znode=znode, holds=holds)


def checked(zxid: int, session: str, *, passed: bool) -> dict[str, object]:
    """A deletion behind a check of the epoch: refused by it, or because the znode is gone."""
    check = {"type": "check", "path": "/controller_epoch", "data": None, "version": 2}
    ops = [check, {"type": "error", "code": -101}] if passed else [{"type": "error", "code": c} for c in (-103, -2)]
    return {**write(zxid, session, ops={}), "ops": ops}


BAD = [
    ("epochs-grow", elect(6, "0xa", 1)),
    ("one-writer-per-epoch", state(6, "0xa", 2)),
    ("no-stale-epoch-write", state(6, "0xa", 1)),
    ("no-stale-epoch-write", ended(6, "0xa", "/admin/preferred_replica_election")),
    ("no-stale-epoch-write", ended(6, "0xa", "/isr_change_notification/isr_change_0000000000")),
    ("no-stale-epoch-write", ended(6, "0xa", MARKER)),
    ("no-stale-epoch-write", ended(6, "0xa", "/config/topics/t")),
    ("no-stale-epoch-write", ended(6, "0xa", "/brokers/topics/t")),
    ("no-stale-epoch-write", write(6, "0xa", ops={"/admin/reassign_partitions": {"partitions": []}})),
    ("no-stale-epoch-write", checked(6, "0xa", passed=True)),
    ("deleted-by-every-replica", ENDED | {"seq": 6}),
    ("deleted-by-every-replica", ENDED | {"seq": 6, "replicas": {"t-0": [1]}}),
    ("deleted-topics-are-gone", {**TREE, "t_us": 100, "deleting": ["t"]}),
    ("deleted-topics-are-gone", {**TREE, "t_us": 100, "deleting": ["unknown"]}),
    ("deleted-topics-are-gone", follow(6) | {"topic": "gone"}),
    ("topic-ids-stay", write(6, "0xb", ops={"/brokers/topics/t": {"partitions": {}, "topic_id": "A"}})),
    ("preferred-elections-end", {**TREE, "t_us": 100, "electing": ["t-0", "t-1"]}),
    ("leader-in-isr", state(6, "0xb", 2, leader=2, isr=(1,))),
    ("leader-in-isr", state(6, "0xb", 2, leader=3, isr=(3,))),
    ("isr-keeps-a-replica", state(6, "0xb", 2, leader=-1, isr=(3,))),
    ("isr-keeps-a-replica", write(6, "0xb", ops={"/brokers/topics/t": {"partitions": {"0": [3]}}})),
    ("reassignments-end-in-target", {**TREE, "t_us": 100, "partitions": [{**LED, "adding": [2]}]}),
    ("reassignments-end-in-target", {**TREE, "t_us": 100, "partitions": [{**LED, "replicas": [2, 1]}]}),
    ("reassignments-end-in-target", {**TREE, "t_us": 100, "partitions": [{**LED, "isr": [1, 2, 3]}]}),
    ("reassignments-end-in-target", {**TREE, "t_us": 100, "requested": {"t-0": [1, 2]}}),
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
    ("replicas-hosted-after-healing", stop(7)),
    ("removed-replicas-are-gone", stop(7, refused=74)),
    ("removed-replicas-are-gone", stop(7, refused=56)),  # KAFKA_STORAGE_ERROR, and no log directory of its has failed
    ("answers-are-true", answered("CreateTopics", "/brokers/topics/t", partitions=2)),
    ("answers-are-true", answered("CreateTopics", "/brokers/topics/t", topic_id="B", partitions=1)),
    ("answers-are-true", answered("DeleteTopics", "/admin/delete_topics/t")),
    ("answers-are-true", answered("IncrementalAlterConfigs", CONFIG, a="b")),
    ("answers-are-true", node(6, "broker.isr-changed", topic="t", partition=0, isr=[1, 2], partition_epoch=9)),
    ("failed-replicas-take-no-role", follow(6) | {"writer": "node-9"}),
    ("orders-of-this-life", follow(6, broker_epoch=0)),
    ("orders-of-this-life", follow(6) | {"writer": "node-1.2"}),
]
"""(invariant, the event that violates it when it follows GOOD; a tree stands in the place of GOOD's)."""


def ending_in(*events):
    """GOOD and these, of which the last is a tree: it is the only one."""
    return of(*(event for event in GOOD if event is not TREE), *events)


@pytest.mark.parametrize(("name", "bad"), BAD)
def test_a_bad_history_is_violated_with_a_witness(name, bad):
    found = (ending_in(bad) if bad["kind"] == TREE["kind"] else of(*GOOD, bad))[name]
    assert found["verdict"] == "violated"
    assert found["witness"]


def test_a_write_that_the_epoch_stops_is_no_stale_write():
    for refused in (checked(6, "0xa", passed=False), checked(6, "0xb", passed=True)):
        assert of(*GOOD, refused)["no-stale-epoch-write"]["verdict"] == "held"


def test_what_nodes_do_while_the_run_is_taken_down_is_not_of_its_end():
    late = follow(6, leader_epoch=1) | {"t_us": int(TREE["t_us"]) + 1}
    assert of(*GOOD, late)["replicas-hosted-after-healing"]["verdict"] == "held"


def test_what_a_reassignment_has_left_of_an_earlier_topic_is_not_in_the_way():
    """Node 1 has been removed from t, which is deleted, and made again with node 1: it refuses that one."""
    t = "/brokers/topics/t"
    removed, gone = write(6, "0xb", ops={t: {"partitions": {"0": [2]}}}), ended(7, "0xb", t)
    again = (
        made(8, "0x9", t, partitions={"0": [1, 2]}),
        {**TREE, "t_us": 100, "partitions": [{**LED, "leader_epoch": 5}]},
    )
    for events, verdict in (((removed, gone, *again), "never exercised"), ((gone, *again), "violated")):
        assert ending_in(*events)["replicas-hosted-after-healing"]["verdict"] == verdict


def test_what_a_node_said_at_an_earlier_look_is_not_of_the_end():
    """Node 0 was the controller when a test looked first, and has been ended since."""
    gone = {"node": 0, "active": True, "session": "0xa"}
    early = (engine("node.status", **gone), {**metadata(leader=0), "node": 0}, {**TREE, "brokers": [0, 1, 2]})
    found = check_all(in_order([*({**event, "t_us": 50} for event in early), *GOOD]))
    assert {entry["name"]: entry["seen"] for entry in found if entry["verdict"] != "held"} == {}


@pytest.mark.parametrize(("ended_us", "verdict"), [(4, "violated"), (6, "held")])
def test_a_program_that_a_test_has_ended_since_it_was_asked_need_not_be_ready(ended_us, verdict):
    unready = engine("node.ready", node=2, why="it has no session") | {"t_us": 5}
    stopped = engine("test.action", action="stop", arguments="2") | {"t_us": ended_us}
    other = engine("node.ready", node=1, why="") | {"t_us": 9}
    assert of(unready, stopped, other)["nodes-stay-up"]["verdict"] == verdict


@pytest.mark.parametrize(
    ("events", "verdict"),
    [
        # Its config is as old as the topic, or of somebody who has tried in vain to make it again.
        ((made(6, "0x9", GONE), made(6, "0x9", CONFIG), ended(7, "0xb", GONE)), "violated"),
        ((made(6, "0x9", CONFIG),), "held"),
        # It is there again, and hosted.
        (
            (
                made(6, "0x9", GONE),
                follow(7) | {"topic": "gone"},
                {**TREE, "t_us": 100, "partitions": [LED, {**LED, "topic": "gone"}]},
            ),
            "held",
        ),
        # A refused order deletes nothing; one that was carried out does.
        ((follow(6) | {"topic": "gone"}, stop(7, topic="gone", refused=74)), "violated"),
        ((follow(6) | {"topic": "gone"}, stop(7, topic="gone")), "held"),
        # It was not assigned to the node any more when the topic was deleted.
        (
            (
                write(6, "0xb", ops={GONE: {"partitions": {"0": [2]}}}),
                ended(7, "0xb", GONE),
                follow(8) | {"topic": "gone"},
            ),
            "held",
        ),
        # A broker that has a replica is away.
        (({**TREE, "t_us": 100, "deleting": ["t"], "brokers": [1]},), "held"),
    ],
)
def test_what_is_left_of_a_deleted_topic(events, verdict):
    assert of(*GOOD, *events)["deleted-topics-are-gone"]["verdict"] == verdict


@pytest.mark.parametrize(
    ("ids", "verdict"),
    [
        (("A", "A"), "held"),
        ((None, "A"), "held"),
        (("A", None), "violated"),
        (("A", "B"), "violated"),
        ((None, None), "held"),
    ],
)
def test_a_topic_keeps_its_id(ids, verdict):
    first, second = (
        write(zxid, "0xb", ops={"/brokers/topics/v": {"partitions": {}, "topic_id": topic_id}})
        for zxid, topic_id in zip((6, 7), ids, strict=True)
    )
    assert of(TOPIC, first, second)["topic-ids-stay"]["verdict"] == verdict
    again = of(TOPIC, first, ended(6, "0xb", "/brokers/topics/v"), second)["topic-ids-stay"]
    assert again["verdict"] == ("violated" if ids == ("A", "A") else "held"), "another topic has another id"


REQUEST = node(6, "reassignment.requested", topic="t", partition=0, target=[2, 1]) | {"t_us": 100_000}
BEGUN = node(7, "replicas.reassigned", topic="t", partition=0, epoch=2, replicas=[2, 1], adding=[], removing=[])
BEGUN |= {"t_us": 100_001}
AGAIN = {**BEGUN, "seq": 90, "replicas": [1, 2], "t_us": 100_002}
EARLIER = {**BEGUN, "seq": 91, "replicas": [1, 2], "t_us": 50_000}


@pytest.mark.parametrize(
    ("events", "verdict"),
    [
        ((REQUEST, BEGUN), "violated"),
        # It was not the controller any more; or nobody knows which was the later; or the znode was.
        ((REQUEST,), "never exercised"),
        (({**REQUEST, "t_us": 2}, {**BEGUN, "t_us": 3}), "never exercised"),
        (({**REQUEST, "t_us": -100_000}, {**BEGUN, "t_us": -99_999}), "held"),
        # It had waited while the znode was written, which was begun after it; or again, after a failover.
        ((REQUEST, BEGUN, AGAIN), "held"),
        ((EARLIER, REQUEST, BEGUN, AGAIN), "violated"),
        # The topic has been deleted since, and made again.
        ((REQUEST, BEGUN, {**ended(6, "0xb", "/brokers/topics/t"), "t_us": 200_000}), "never exercised"),
        ((REQUEST, BEGUN, {**ended(6, "0xb", "/brokers/topics/t"), "t_us": -200_000}), "violated"),
    ],
)
def test_a_request_for_other_replicas(events, verdict):
    assert of(*GOOD, *events)["reassignments-end-in-target"]["verdict"] == verdict


FAILED = [node(6 + n, "controller.resigned", epoch=3 + n, reason="its failover failed: None.get") for n in range(3)]
DONE = node(9, "controller.failover", epoch=6, partitions=1, duration_us=1, zxid=8)


@pytest.mark.parametrize(
    ("events", "verdict"),
    [
        (FAILED, "violated"),
        (FAILED[:2], "held"),
        ((*FAILED[:2], {**DONE, "epoch": 5}, {**FAILED[2], "epoch": 6}), "held"),
        ((*FAILED[:2], {**FAILED[2], "reason": "/controller is not ours any more"}), "held"),
    ],
)
def test_failovers_that_fail(events, verdict):
    assert of(*GOOD, *events)["failovers-end"]["verdict"] == verdict


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


RELIEVED = node(6, "controller.controlled-shutdown", broker=2, broker_epoch=1, epoch=2, relieved={"t-0": 2}, zxid=7)
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
        # It was taken back long before, into a topic of the same name that was deleted since.
        ((LEFT, {**RELIEVED, "zxid": 9}, BACK), "held"),
    ],
)
def test_who_is_relieved_stays_out_of_the_isr(events, verdict):
    assert of(*GOOD, *events)["relieved-stay-out-of-isr"]["verdict"] == verdict


def offline(seq, *, writer="node-1", directory="log-dir-0"):
    fields = {"directory": directory, "partitions": ["t-0"], "file": "f", "code": "EIO", "why": "it is broken"}
    return node(seq, "broker.log-dir-offline", **fields) | {"writer": writer}


def test_a_role_that_is_taken_between_two_failures_of_one_partition_is_violated():
    role = follow(6) | {"writer": "node-9"}
    assert (
        of(*GOOD, role, offline(7, writer="node-9", directory="log-dir-1"))["failed-replicas-take-no-role"]
        == (of(*GOOD, role)["failed-replicas-take-no-role"])
    )


@pytest.mark.parametrize(("failed", "verdict"), [(6, "held"), (8, "violated")])
def test_only_a_broker_whose_log_directory_has_failed_may_refuse_to_delete_for_that(failed, verdict):
    found = of(*GOOD, *sorted((offline(failed), stop(7, refused=56)), key=lambda event: event["seq"]))
    assert found["removed-replicas-are-gone"]["verdict"] == verdict


@pytest.mark.parametrize(
    ("statuses", "status", "verdict"),
    [([-9], -9, "held"), ([-9], 0, "violated"), ([0, -9], 0, "held"), ([0, -9], 1, "violated"), ([], 7, "held")],
)
def test_which_end_of_a_node_a_fault_explains(statuses, status, verdict):
    more = {"ends_process": True, "statuses": statuses}
    asked = engine("fault.asked", fault="f", fault_kind="kill", mode=None, node=2, nodes=[2], **more) | {"t_us": 1}
    ended = engine("process.exited", node=2, status=status) | {"t_us": 2}
    assert of(*GOOD, asked, ended)["nodes-stay-up"]["verdict"] == verdict


@pytest.mark.parametrize(("kind", "statuses"), [("kill", [-9]), ("log_dir_failure", [-9])])
@pytest.mark.parametrize(("t_us", "verdict"), [(4, "held"), (6, "violated")])
def test_a_fault_that_was_skipped_explains_nothing_that_comes_later(kind, statuses, t_us, verdict):
    fields = {"fault": "f", "fault_kind": kind, "mode": None, "node": 2}
    asked = engine("fault.asked", **fields, nodes=[2], ends_process=True, statuses=statuses) | {"t_us": 3}
    skipped = engine("fault.skipped", **fields, why="there was nothing") | {"t_us": 5}
    assert of(*GOOD, asked, skipped, exited(t_us, -9))["nodes-stay-up"]["verdict"] == verdict


STARTED, LOST = (
    node(2, "node.started", node=2, pid=2) | {"writer": "node-2"},
    node(5, "broker.log-dir-failed", file="f", code="EIO", why="it is broken") | {"writer": "node-2"},
)
"""Of a node that records what it does; a broker of Kafka's does not."""


def exited(t_us, status):
    return engine("process.exited", node=2, status=status) | {"t_us": t_us}


@pytest.mark.parametrize(
    ("events", "verdict"),
    [
        ((STARTED, LOST, exited(6, 1)), "held"),
        ((STARTED, exited(6, 1)), "violated"),  # it has not lost its last log directory
        ((STARTED, exited(6, 0)), "held"),  # by the healing
        ((STARTED, LOST, exited(6, 1), exited(8, 1)), "violated"),  # nor had the next process
        ((STARTED, LOST | {"t_us": 11}, exited(12, 1)), "violated"),  # after the healing
        ((STARTED, exited(12, 0)), "violated"),
        ((exited(6, 1),), "held"),
        ((exited(12, 1),), "violated"),
    ],
)
def test_a_broker_halts_only_with_its_last_log_directory_and_while_the_fault_is_there(events, verdict):
    fields = {"fault": "f", "fault_kind": "log_dir_failure", "mode": None, "node": 2}
    asked = engine("fault.asked", **fields, nodes=[2], ends_process=True, statuses=[1, 0]) | {"t_us": 3}
    healed = engine("fault.healed", **fields) | {"t_us": 10}
    ended = engine("run.ended") | {"t_us": 99}
    assert of(*GOOD, asked, healed, *events, ended)["nodes-stay-up"]["verdict"] == verdict


def test_the_last_words_are_those_of_the_process_that_ended():
    def process(begin, *last):
        printed = engine("program.ended", node=2, last=last) | {"t_us": begin}
        return printed, exited(begin + 1, 3)

    events = [*process(1, "no session"), *process(3, "one", "\x1btwo"), *process(5)]
    for first, seen in ((0, "; it printed last: no session"), (2, "; it printed last: one | \\x1btwo"), (4, "")):
        found = of(*GOOD, *events[first:])["nodes-stay-up"]
        assert found["seen"] == f"node 2 ended with status 3{seen}"


def test_the_stale_write_is_named_by_zxid_session_path_and_epochs():
    found = of(*GOOD, state(6, "0xa", 1))["no-stale-epoch-write"]["witness"]
    assert found == {"zxid": "0x6", "session": "0xa", "path": STATE, "epoch": 1, "newest_epoch": 2}


@pytest.mark.parametrize("data", ["no json", "null", "[" * 50_000, '{"leader": 1, "isr": "x"}', '{"isr": []}'])
def test_what_somebody_wrote_instead_of_a_state_is_nothing_that_a_rule_is_about(data):
    before, now = of(*GOOD), of(*GOOD, write(6, "0xb", ops={STATE: data}))
    for name in ("leader-in-isr", "isr-keeps-last-member", "one-writer-per-epoch", "state-epochs-grow"):
        assert now[name] == before[name]
    for name in ("dead-leave-isr-at-failover", "relieved-stay-out-of-isr"):
        assert now[name]["verdict"] == before[name]["verdict"]


ODD = [
    "x",
    "null",
    "[]",
    "7",
    '{"partitions": 7}',
    '{"partitions": {"0": 7, "x": []}}',
    f'{{"partitions": {{"{"9" * 5000}": [1]}}}}',
    '{"topic_id": []}',
    {"base64": "/w=="},
]
"""What others write where Kafka has a JSON object: text, or bytes that are none."""


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: str(odd)[:40])
def test_what_somebody_wrote_in_another_format_hinders_no_rule(odd):
    paths = (f"{TOPICS}/bad", MARKER, CONFIG, "/controller", "/controller_epoch", "/admin/reassign_partitions", STATE)
    paths += ("/admin/preferred_replica_election", "/brokers/ids/7", "/isr_change_notification/isr_change_0000000000")
    paths += ("/brokers/ids/²", f"{TOPICS}/t/partitions/²/state")
    for path in paths:
        made_so = {**write(6, "0xd", ops={}), "ops": [{"type": "create", "path": path, "data": odd}]}
        found = of(*GOOD, made_so, {**made_so, "ops": [{"type": "set", "path": path, "data": odd, "version": 1}]})
        assert {name: entry["seen"] for name, entry in found.items() if entry["verdict"] == "unknown"} == {}, path


def test_an_unreadable_log_is_unknown():
    assert {e["verdict"] for e in check_all(replace(History(GOOD), log_error="no log"))} == {"unknown"}
