"""From campaign file to verdict without a cluster: each check is also shown to fail."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from kcontroller_chaos.campaign.file import load_campaign
from kcontroller_chaos.campaign.schedule import Schedule, draw
from kcontroller_chaos.history import txnlog
from kcontroller_chaos.history.committed import read_all
from kcontroller_chaos.history.read import History, read_history
from kcontroller_chaos.history.rundir import RunDirectory
from kcontroller_chaos.judge.outcome import aggregate
from kcontroller_chaos.judge.tested import Plan
from kcontroller_chaos.judge.timeline import timeline
from kcontroller_chaos.judge.verdict import judge, verdicts
from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.runtime.real import RunStart
from tests.tools.histories import GOOD, STATE, engine, state, write

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
        (HEAD + "[cluster]\nzookeeper = 2\n", 5, "'2' is not known"),
        (
            HEAD + '[[faults]]\nkind = "zookeeper_lose_quorum"\nat_s = 1\n',
            5,
            "needs an ensemble, and ZooKeeper has one server",
        ),
        (
            HEAD + '[generator]\nheal_before_end_s = 1\nfaults = ["zookeeper_kill_leader"]\n',
            6,
            "say `zookeeper = 3` in [cluster]",
        ),
        (HEAD + '[[faults]]\nkind = "zookeeper_pause"\nat_s = 1\ntarget = "controller"\n', 7, "or say `zookeeper`"),
        (HEAD + '[[faults]]\nkind = "pause"\nat_s = 1\ntarget = "zookeeper"\n', 7, "and `zookeeper` is none"),
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
    assert tuple(found) == read_all(LOG)
    assert [txn.zxid for txn in found] == list(range(1, 20))
    assert [op.code for op in found[13].ops] == [-103, -2]
    assert reader.torn is None


def test_a_wrong_checksum_is_an_error(tmp_path):
    data = bytearray((LOG / "log.1").read_bytes())
    data[60] ^= 1
    (tmp_path / "log.1").write_bytes(data)
    with pytest.raises(txnlog.CorruptLogError, match="checksum"):
        read_all(tmp_path)


def test_a_system_that_did_not_start_is_not_judged():
    """Status 6, whatever it did until then; and the cause is one line."""
    failed = engine("run.failed", error="node 0 did not start: no port\n  -> start it by hand") | {"seq": 90}
    stale = state(6, "0xa", 1)
    value = verdicts(History((*GOOD, stale, failed)), Plan(faults=("gc",)))
    assert value["overall"] == "environment"
    assert {entry["verdict"] for entry in value["invariants"]} == {"never exercised"}
    told = [part["detail"] for name, part in value["parts"].items() if name != "invariants" and part["detail"]]
    assert told == ["the cluster failed: node 0 did not start: no port"]
    started = engine("run.started") | {"t_us": -1}
    assert verdicts(History((started, *GOOD, stale, failed)))["overall"] == "violated"


def test_a_fault_that_was_not_applied_is_told_once():
    fields = {"fault": "gc", "fault_kind": "pause", "mode": None, "target": "owner-of:/x", "node": None}
    asked, not_applied = engine("fault.asked", **fields), engine("fault.not-applied", **fields, why="nobody owns it")
    value = verdicts(History((*GOOD, asked, not_applied)), Plan(faults=("gc",)))
    assert value["overall"] == "environment"
    told = [part["detail"] for part in value["parts"].values() if "gc" in part["detail"]]
    assert told == ["gc (pause); not-applied: nobody owns it"]


def test_the_overall_verdict():
    asked = engine("fault.asked", fault="f", fault_kind="kill", node=1)
    assert verdicts(History(GOOD))["overall"] == "held"
    assert verdicts(History((*GOOD, asked)))["overall"] == "environment"
    assert verdicts(History(GOOD), Plan(faults=("never",)))["overall"] == "environment"
    assert verdicts(History((*GOOD, asked, state(6, "0xa", 1))))["overall"] == "violated"
    assert verdicts(History(GOOD[:3]))["overall"] == "unknown"


def test_a_fault_that_somebody_else_took_back_is_the_environment():
    steps = ({}, {}, {"evidence": {"silent_links": 2}}, {"why": "the link 0 -> 1 passes everything"}, {})
    kinds = ("fault.asked", "fault.applied", "fault.observed", "fault.not-lasting", "fault.healed")
    of_it = {"fault": "f", "fault_kind": "partition", "node": 0}
    events = [engine(kind, **of_it, **more) for kind, more in zip(kinds, steps, strict=True)]
    assert verdicts(History((*GOOD, *events[:3], events[4])))["overall"] == "held"
    value = verdicts(History((*GOOD, *events)))
    assert value["overall"] == "environment"
    assert [entry["fault"] for entry in value["recovery"]] == ["f"]
    assert (
        verdicts(History((*GOOD, *events)), run={"system": {"command": ["x"]}, "started": "2026-11-29"})["recovery"]
        == []
    )
    assert value["parts"]["observed"]["detail"] == "not-lasting: the link 0 -> 1 passes everything"
    assert value["faults"][0]["why"] == "not-lasting: the link 0 -> 1 passes everything"


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


@pytest.mark.parametrize("text", ["no JSON", "[]", "{}", '{"leader_epoch": null}'])
def test_a_state_that_somebody_has_overwritten_is_judged_too(text: str) -> None:
    value = verdicts(History((*GOOD, write(6, "0xa", ops={STATE: text}))))
    assert value["overall"] in ("unknown", "violated")


@pytest.mark.parametrize(
    ("controller", "epoch"),
    [("node-1", "1"), ("{}", "1"), ({"base64": "/w=="}, "1"), (None, None), ('{"brokerid": 1}', "one")],
)
def test_a_program_may_have_znodes_of_kafka_s_names_in_a_format_of_its_own(controller: Any, epoch: Any) -> None:
    written = {"/controller": controller, "/controller_epoch": epoch}
    ops = [{"type": "create", "path": path, "data": data} for path, data in written.items()]
    history = History((*GOOD, {**write(6, "0xd", ops={}), "ops": ops}))
    value = verdicts(history, run={"system": {"command": ["x"]}, "started": "2026-11-29"})
    assert [one["epoch"] for one in value["elections"]] == [1, 2]
    assert timeline(history, value)["controllers"]
