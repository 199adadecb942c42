"""From campaign file to verdict without a cluster: each check is also shown to fail."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kcontroller_chaos.campaign.file import load_campaign
from kcontroller_chaos.campaign.schedule import Schedule, draw
from kcontroller_chaos.history import txnlog
from kcontroller_chaos.history.read import History, read_history
from kcontroller_chaos.history.rundir import RunDirectory
from kcontroller_chaos.invariants import check_all
from kcontroller_chaos.judge.outcome import aggregate
from kcontroller_chaos.judge.verdict import judge, verdicts
from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.runtime.real import RunStart

ROOT = Path(__file__).parents[3]
LOG = ROOT / "tests/data/zookeeper_log"


@pytest.mark.parametrize("name", ["smoke", "zombie"])
def test_schedules_come_from_the_seed_alone(name, tmp_path):
    campaign = load_campaign(ROOT / f"chaos/campaigns/{name}.toml")
    drawn = draw(campaign, 7)
    assert drawn == draw(campaign, 7)
    assert drawn.actions != draw(campaign, 8).actions
    drawn.save(tmp_path / "s")
    assert Schedule.load(tmp_path / "s", campaign) == drawn


HEAD = '[campaign]\nname = "x"\nduration_s = 5\n'


@pytest.mark.parametrize(
    ("text", "line", "named"),
    [
        (HEAD + "seedz = 3\n", 4, "did you mean `seeds`"),
        (HEAD + "[cluster]\nnodes = 'three'\n", 5, "campaign.toml:5: `cluster.nodes`"),
        (HEAD + "[clutser]\n", 4, "did you mean `cluster`"),
        (HEAD + '[[faults]]\nkind = "kil"\nat_s = 1\n', 5, "did you mean `kill`"),
        (HEAD + '[[faults]]\nkind = "kill"\nat_s = 1\npoint = "controller.before-state-write"\n', 7, "no key `point`"),
        (HEAD + '[[faults]]\nkind = "kill"\nwhen = "observed:other"\n', 6, "no fault has the id"),
        (HEAD + '[[faults]]\nkind = "kill"\nat_s = 9\n', 6, "after the end"),
        (HEAD + "seeds = [\n", 4, "is no TOML"),
        (HEAD + f"seeds = [{'9' * 5000}]\n", 4, "is no TOML"),
        (HEAD + f"seeds = {'[' * 5000}\n", "", "nested too deeply"),
        (
            HEAD + '[cluster]\nconfig = { "unclean.leader.election" = true }\n',
            5,
            "did you mean `unclean.leader.election.enable`",
        ),
        (HEAD + '[cluster.config]\n"controller.socket.timeout.ms" = 0\n', 5, "is not a whole number of milliseconds"),
        (HEAD + '[cluster.config]\n"unclean.leader.election.enable" = "false"\n', 5, "is not true or false"),
        (
            HEAD + '[cluster.config]\n"controlled.shutdown.enable" = 1\n',
            5,
            "a node that is stopped hands its leaders over",
        ),
        (HEAD + "[cluster.config]\n\nunclean.leader.election.enable = true\n", 4, "a name with dots stands in quotes"),
        (HEAD + "seeds = [-1]\n", 4, "-1 is no seed: 0 to"),
        (HEAD + f"seeds = [{2**63}]\n", 4, "is no seed: 0 to"),
        (HEAD + f"seeds = '1..{'9' * 30}'\n", 4, "is not seeds"),
        (HEAD + "seeds = '1..700000,700001..1400000'\n", 4, "is more than 1,000,000 seeds"),
        (HEAD.replace("5", "nan"), 3, "nan is no number up to 86,400 s"),
        (HEAD.replace("5", "inf"), 3, "inf is no number up to 86,400 s"),
        (HEAD.replace("5", "-1"), 3, "-1 is less than 0.1 s"),
        (HEAD.replace("5", "1e300"), 3, "1e+300 is no number up to"),
        (HEAD + "[cluster]\nnodes = 201\n", 5, "201 is no number up to 200"),
        (HEAD + f"[cluster]\nnodes = {'9' * 400}\n", 5, "9... is no number up to 200"),
        (HEAD + "[cluster]\nsession_timeout_ms = 90_000\n", 5, "90000 is no number up to 60,000 ms"),
        (HEAD + '[[faults]]\nkind = "kill"\nat_s = nan\n', 6, "nan is no number"),
        (HEAD + f'[[faults]]\nkind = "kill"\nat_s = {"9" * 400}\n', 6, "is no number"),
        (HEAD + '[[faults]]\nkind = "latency"\nat_s = 1\ndelay_ms = -5\n', 7, "-5 is less than 0 ms"),
        (HEAD + '[generator]\nfaults = ["kill"]\nevery_s = [1, inf]\n', 6, "inf is no number up to"),
        (HEAD + '[generator]\nfaults = ["kill"]\nevery_s = [nan, 1]\n', 6, "is no range"),
        (HEAD + '[generator]\nfaults = ["kill"]\ncrash_points = nan\n', 6, "nan is no number"),
    ],
)
def test_a_bad_file_is_named_with_line_and_key(tmp_path, text, line, named):
    (tmp_path / "campaign.toml").write_text(text)
    with pytest.raises(UsageError, match=f"campaign.toml:{line}") as bad:
        load_campaign(tmp_path / "campaign.toml")
    assert named in str(bad.value)


def test_a_mark_before_the_first_byte_is_no_error(tmp_path):
    (tmp_path / "campaign.toml").write_text(HEAD, encoding="utf-8-sig")
    assert load_campaign(tmp_path / "campaign.toml").name == "x"


def test_a_growing_log_is_read_transaction_by_transaction(tmp_path):
    data = (LOG / "log.1").read_bytes()
    reader, found = txnlog.TxnLogReader(tmp_path), []
    for end in range(0, len(data) + 1, 37):
        (tmp_path / "log.1").write_bytes(data[:end] + bytes(64))
        found += reader.poll()
    assert reader.torn
    (tmp_path / "log.1").write_bytes(data)
    found += reader.poll()
    assert tuple(found) == txnlog.read_all(LOG)
    assert [txn.zxid for txn in found] == list(range(1, 20))
    assert [op.code for op in found[13].ops] == [-103, -2]
    assert reader.torn is None


def test_a_wrong_checksum_is_an_error(tmp_path):
    data = bytearray((LOG / "log.1").read_bytes())
    data[60] ^= 1
    (tmp_path / "log.1").write_bytes(data)
    with pytest.raises(txnlog.CorruptLogError, match="checksum"):
        txnlog.read_all(tmp_path)


def write(zxid, session, **data):
    ops = [
        {"type": "set", "path": p, "data": v if isinstance(v, str) else json.dumps(v)} for p, v in data["ops"].items()
    ]
    return {"writer": "zookeeper", "seq": zxid, "t_us": zxid, "kind": "zk.txn", "zxid": zxid, "session": session} | {
        "type": "multi", "cxid": 1, "ops": ops
    }  # fmt: skip


STATE = "/brokers/topics/t/partitions/0/state"


def elect(zxid, session, epoch):
    return write(zxid, session, ops={"/controller": {"brokerid": 1}, "/controller_epoch": str(epoch)})


def state(zxid, session, epoch, leader=1, isr=(1, 2)):
    value = {"controller_epoch": epoch, "leader": leader, "isr": list(isr), "leader_epoch": 0}
    return write(zxid, session, ops={STATE: value})


def engine(kind, **fields):
    return {"writer": "engine", "seq": 0, "t_us": 99, "kind": kind, **fields}


def node(seq, kind, **fields):
    return {"writer": "node-1", "seq": seq, "t_us": seq, "kind": kind, **fields}


def register(zxid, session, broker):
    op = {"type": "create", "path": f"/brokers/ids/{broker}", "data": "{}"}
    return {**write(zxid, session, ops={}), "ops": [op, {**op, "type": "set"}]}


def unregister(zxid, session, broker):
    return {**write(zxid, session, ops={}), "ops": [{"type": "delete", "path": f"/brokers/ids/{broker}"}]}


def follow(seq, *, leader_epoch=0, broker_epoch=1):
    fields = {"topic": "t", "partition": 0, "leader": 1, "epoch": 2}
    return node(seq, "broker.become-leader", leader_epoch=leader_epoch, broker_epoch=broker_epoch, **fields)


def metadata(**changed):
    brokers, known = {"1": "h:1", "2": "h:2"}, {"leader": 1, "leader_epoch": 0, "isr": [1, 2], "partition_epoch": 1}
    told = {"controller": 1, "brokers": brokers, "partitions": {"t-0": {**known, **changed}}}
    return engine("node.metadata", node=1, metadata=told)


TOPIC = write(0, "0x9", ops={"/brokers/topics/t": {"partitions": {"0": [1, 2]}}})
STATUS = engine("node.status", node=1, active=True, session="0xb")
LED = {"topic": "t", "partition": 0, "replicas": [1, 2], "leader": 1, "isr": [1, 2], "leader_epoch": 0, "version": 1}
TREE = engine("zk.tree", controller=1, controller_owner="0xb", brokers=[1, 2], partitions=[LED])
NODE = (
    node(0, "node.started", node=1, pid=1),
    node(1, "zk.state", state="connected", session="0xb"),
    follow(2),
    node(5, "controller.failover", epoch=2, partitions=1, duration_us=1),
)
REGISTERED = (register(1, "0xb", 1), register(1, "0xc", 2))
WRITTEN = (elect(2, "0xa", 1), state(3, "0xa", 1), elect(4, "0xb", 2), state(5, "0xb", 2))
GOOD = (TOPIC, *REGISTERED, *WRITTEN, *NODE, STATUS, metadata(), TREE)


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
    assert {name: entry["verdict"] for name, entry in of(*GOOD).items()} == dict.fromkeys(of(*GOOD), "held")
    assert len(of(*GOOD)) == 16


@pytest.mark.parametrize(
    ("name", "bad"),
    [
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
    ],
)
def test_a_bad_history_is_violated_with_a_witness(name, bad):
    found = of(*GOOD, bad)[name]
    assert found["verdict"] == "violated"
    assert found["witness"]


LAST = node(9, "controller.failover", epoch=3, partitions=1, duration_us=1) | {"t_us": 9_000}


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
        # Somebody else is elected before the failover is done, or it never is.
        ((unregister(6, "0xc", 2), elect(7, "0xb", 3), elect(8, "0xe", 4), LAST), "unknown"),
        ((unregister(6, "0xc", 2), elect(7, "0xb", 3)), "unknown"),
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


def test_the_overall_verdict():
    asked = engine("fault.asked", fault="f", fault_kind="kill", node=1)
    assert verdicts(History(GOOD))["overall"] == "held"
    assert verdicts(History((*GOOD, asked)))["overall"] == "environment"
    assert verdicts(History(GOOD), ["never"])["overall"] == "environment"
    assert verdicts(History((*GOOD, asked, state(6, "0xa", 1))))["overall"] == "violated"
    assert verdicts(History(GOOD[:3]))["overall"] == "unknown"


def test_an_expiry_that_no_fault_explains_is_the_host():
    overload = engine("host.overload", session="0xb", zxid=9)
    value = verdicts(History((*GOOD, overload)))
    assert value["overall"] == "environment"
    assert "overloaded" in value["parts"]["observed"]["detail"]


def test_a_killed_run_is_judged_unknown(tmp_path):
    run = RunDirectory.create(
        tmp_path, {"name": "x", "file": "x.toml", "sha256": ""}, 1, RunStart(10**18, 0), backend="process"
    )
    again = RunDirectory.create(
        tmp_path, {"name": "x", "file": "x.toml", "sha256": ""}, 1, RunStart(10**18, 0), backend="process"
    )
    assert run.path != again.path
    shutil.copy(LOG / "log.1", run.zookeeper)
    (run.history / "node-0.jsonl").write_text('{"writer":"node-0","seq":0,"t_us":1,"kind":"node.started"}\n{"wri')
    assert judge(run.path)["overall"] == "unknown"
    assert len(judge(run.path)["elections"]) == 2
    assert read_history(run.history).cut == (f"{run.history / 'node-0.jsonl'}:2",)
    (run.history / "node-0.jsonl").write_text("{half\n")
    with pytest.raises(UsageError, match=r"node-0.jsonl:1"):
        judge(run.path)


@pytest.mark.parametrize(("statuses", "status"), [((0, 4, 6), 6), ((6, 1, 0), 1), ((), 5), ((0, 5), 5), ((0,), 0)])
def test_the_status_of_many_runs(statuses, status):
    assert aggregate(statuses) == status
