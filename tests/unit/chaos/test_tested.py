"""What a run must have tested so that it can hold, each from its history and its plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kcontroller_chaos.campaign.file import load_campaign
from kcontroller_chaos.campaign.schedule import Schedule, draw
from kcontroller_chaos.catalogue.invariants import facts_of
from kcontroller_chaos.history.read import History
from kcontroller_chaos.invariants import Invariant, named
from kcontroller_chaos.judge.tested import Plan, untested
from kcontroller_chaos.judge.verdict import verdicts
from kcontroller_chaos.znode_invariants import ZnodeInvariant, one_owner, value_never_decreases
from pytest_kcontroller.errors import UsageError
from tests.tools.histories import GOOD, engine

HEAD = '[campaign]\nname = "x"\nduration_s = 6\n'
TOPIC = '[[topics]]\nname = "orders"\npartitions = 2\n'


def fault(name: str, step: str, **more: Any) -> dict[str, Any]:
    return engine(f"fault.{step}", fault=name, fault_kind="kill", node=1, **more)


def applied(name: str) -> tuple[dict[str, Any], ...]:
    return tuple(fault(name, step) for step in ("asked", "applied", "observed", "healed"))


def skipped(name: str, why: str) -> tuple[dict[str, Any], ...]:
    return fault(name, "asked"), fault(name, "skipped", why=why)


def missed(name: str) -> tuple[dict[str, Any], ...]:
    """It lay in wait for what did not come."""
    return fault(name, "asked"), fault(name, "applied"), fault(name, "skipped", why="no evidence within 5 s")


def operation(name: str, end: str, error: str = "") -> tuple[dict[str, Any], ...]:
    fields = {"op": name, "action": "create_topic", "topic": "late"}
    return engine("admin.invoke", **fields), engine(f"admin.{end}", **fields, error=error)


def judged(plan: Plan, *events: dict[str, Any]) -> dict[str, Any]:
    return verdicts(History((*GOOD, *events)), plan)


def test_a_run_all_of_whose_faults_were_skipped_has_tested_nothing() -> None:
    value = judged(Plan(faults=("a", "b")), *skipped("a", "nobody is"), *skipped("b", "nobody is"))
    assert value["overall"] == "unknown"
    part = value["parts"]["injected"]
    assert (part["verdict"], part["count"], part["of"]) == ("unknown", 0, 2)
    assert part["detail"] == "0 of 2 faults were applied: 2 skipped: 2 x nobody is"


def test_a_fault_that_lay_in_wait_in_vain_has_tested_nothing() -> None:
    value = judged(Plan(faults=("a", "b")), *missed("a"), *missed("b"))
    assert value["overall"] == "unknown"
    counts = {name: value["parts"][name]["count"] for name in ("injected", "observed", "healed")}
    assert counts == dict.fromkeys(counts, 0)
    assert value["parts"]["injected"]["detail"] == "0 of 2 faults were applied: 2 skipped: 2 x no evidence within 5 s"
    assert [(one["status"], one["applied_us"]) for one in value["faults"]] == [("skipped", None)] * 2
    assert judged(Plan(faults=("a", "b")), *missed("a"), *applied("b"))["overall"] == "held"


def test_what_it_did_all_the_same_is_no_other_fault_s_recovery() -> None:
    """As late_ephemerals, which ends a session: the election at zxid 4 came after that, and not of the fault before."""

    def recovered(*events: dict[str, Any]) -> str:
        (entry,) = judged(Plan(faults=("a", "b")), *events)["recovery"]
        return str(entry["recovered"])

    before = (fault("a", "asked", zxid=2, sessions=[]), *applied("a")[1:])
    assert recovered(*before) == "yes"
    assert recovered(*before, fault("b", "asked", zxid=3, sessions=[]), *missed("b")[1:]) == "nothing to recover"


def test_what_is_expected_of_a_fault_is_not_missed_where_that_lay_in_wait_in_vain() -> None:
    known = {"invariant": "epochs-grow", "faults": ["kill"], "reason": "ISSUE-1", "until": "2027-01-01"}
    run = {"started": "2026-01-01", "expected": [known]}
    for events, came in ((missed("a"), 0), (applied("a"), 1)):
        value = verdicts(History((*GOOD, *events)), Plan(faults=("a",)), run=run)
        assert len(value["did_not_come"]) == came


def test_one_fault_that_was_applied_is_enough_unless_the_file_asks_for_more() -> None:
    events = (*applied("a"), *skipped("b", "nobody is"))
    value = judged(Plan(faults=("a", "b")), *events)
    assert value["overall"] == "held"
    counts = {name: (part["count"], part["of"]) for name, part in value["parts"].items() if name != "invariants"}
    assert counts == {"injected": (1, 2), "operations": (0, 0), "observed": (1, 1), "healed": (1, 1)}
    more = judged(Plan(faults=("a", "b"), faults_applied=2), *events)
    assert (more["overall"], "`[thresholds]` asks for 2" in more["parts"]["injected"]["detail"]) == ("unknown", True)
    assert judged(Plan(faults=("b",), faults_applied=0), *skipped("b", "nobody is"))["overall"] == "held"


def test_a_workload_of_which_everything_is_refused_has_tested_nothing() -> None:
    refused = (
        *operation("a", "fail", "it exists"),
        *operation("b", "fail", "it exists"),
        *operation("c", "info", "lost"),
    )
    value = judged(Plan(operations=("a", "b", "c")), *refused)
    assert value["overall"] == "unknown"
    said = "0 of 3 operations succeeded; 2 refused: 2 x it exists; 1 without an answer: lost"
    assert value["parts"]["operations"]["detail"] == said
    some = judged(Plan(operations=("a", "d")), *refused, *operation("d", "ok"))
    assert (some["overall"], some["parts"]["operations"]["count"]) == ("held", 1)
    assert [one["status"] for one in some["operations"]] == ["fail", "fail", "info", "ok"]


def test_a_file_that_plans_nothing_tests_nothing_unless_that_is_meant() -> None:
    assert judged(Plan())["overall"] == "unknown"
    assert "neither faults nor operations" in judged(Plan())["parts"]["injected"]["detail"]
    assert judged(Plan(faults_applied=0, operations_ok=0))["overall"] == "held"


def test_a_generator_without_room_says_why(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(HEAD + TOPIC + '[generator]\nfaults = ["kill"]\nevery_s = [4, 5]\n')
    campaign = load_campaign(tmp_path / "c.toml")
    schedule = draw(campaign, 1)
    assert schedule.actions == ()
    assert "first action comes 4 to 5 s after the start (every_s), and none comes after 1 s" in schedule.no_room
    schedule.save(tmp_path / "s")
    assert Schedule.load(tmp_path / "s", campaign, 1, schedule.no_room) == schedule
    value = judged(Plan.of([], {"schedule": schedule.facts}))
    assert (value["overall"], value["parts"]["injected"]["detail"]) == ("unknown", schedule.no_room)


class Idle(Invariant):
    name = "idle"
    kind = "safety"
    expected = "nothing"
    source = "this test"

    def check(self, history: History) -> Any:
        from kcontroller_chaos.checking import Verdict

        return Verdict(verdict="held")


def test_an_invariant_without_a_subject_is_never_exercised_and_alone_proves_nothing() -> None:
    history = History((*GOOD, *applied("a")))
    assert Idle().judge(history)["verdict"] == "never exercised"
    assert verdicts(history, Plan(faults=("a",)), [Idle()])["overall"] == "unknown"
    assert verdicts(History(applied("a")), Plan(faults=("a",)))["overall"] == "unknown"


def asking(
    *own: ZnodeInvariant, least: int = 1, system: bool = True, status: int = 0, known: bool = False
) -> dict[str, Any]:
    """The verdicts of a run whose file asks for these; a node ends with that status, which may be `known`."""
    run = {"started": "2026-01-01", "system": {"command": ["x"]} if system else None, "invariants": facts_of(own)}
    if known:
        run["expected"] = [{"invariant": "nodes-stay-up", "faults": [], "reason": "ISSUE-1", "until": "2027-01-01"}]
    plan = Plan(faults=("a",), invariants_exercised=least)
    ended = [{**engine("process.exited", node=2, status=status), "t_us": 1}] if status else []
    return verdicts(History((*GOOD, *applied("a"), *ended)), plan, [named("nodes-stay-up"), *own], run=run)


NOPE = "never exercised: one-believer(/nope) (no program said who leads, in lines that are JSON objects); one-owner(/nope) ("


def test_a_run_in_which_nothing_was_exercised_that_its_file_asks_for_is_unknown() -> None:
    value = asking(*one_owner("/nope"))
    assert (value["overall"], value["unexpected"]) == ("unknown", "unknown")
    detail = value["parts"]["invariants"]["detail"]
    assert detail.startswith(f"0 of 1 `[[invariants]]` of the file found anything to check; {NOPE}")
    assert value["notes"] == []
    assert untested(value) == detail
    assert asking(*one_owner("/nope"), system=False)["overall"] == "unknown"
    assert asking(*one_owner("/nope"), least=0)["overall"] == "held"
    assert asking()["overall"] == "held"
    violated = asking(*one_owner("/nope"), status=1)
    assert (violated["overall"], violated["notes"][0].startswith(NOPE)) == ("violated", True)


def test_a_known_violation_does_not_hide_that_nothing_was_exercised() -> None:
    held = value_never_decreases("/controller_epoch")
    value = asking(*held, *one_owner("/nope"), least=2, status=1, known=True)
    assert (value["overall"], value["unexpected"], value["expected"]) == ("violated", "unknown", [])
    assert untested(value).startswith("1 of 2 `[[invariants]]` of the file found anything to check")
    assert asking(*held, *one_owner("/nope"), status=1, known=True)["unexpected"] == "held"
    assert untested(asking(*one_owner("/nope"), status=1, known=True)).startswith("0 of 1 `[[invariants]]`")


def test_one_that_was_exercised_is_enough_unless_the_file_asks_for_more() -> None:
    both = (*value_never_decreases("/controller_epoch"), *one_owner("/nope"))
    value = asking(*both)
    assert (value["overall"], value["notes"][0].startswith(NOPE)) == ("held", True)
    more = asking(*both, least=2)
    assert more["overall"] == "unknown"
    assert "1 of 2 `[[invariants]]` of the file found anything to check (`[thresholds]` asks for 2); " in untested(more)


def test_a_log_without_transactions_is_no_witness() -> None:
    events = [event for event in GOOD if event["kind"] != "zk.txn"]
    value = verdicts(History((*events, *applied("a"))), Plan(faults=("a",)), [named("one-controller-after-healing")])
    assert (value["overall"], value["parts"]["invariants"]["detail"]) == (
        "unknown",
        "ZooKeeper's log has no transaction",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[thresholds]\nfaults_applied = 2\n", "c.toml:8: `thresholds.faults_applied`: 2 is more than the 0 faults"),
        ("[thresholds]\ninvariants_exercised = 2\n", "2 is more than the 0 `[[invariants]]` of the file"),
        ("[thresholds]\noperations_ok = -1\n", "c.toml:8: `thresholds.operations_ok`: -1 is less than 0"),
        (
            '[[faults]]\nkind = "kill"\nat_s = 1\ntarget = "leader-of:order-0"\n',
            "c.toml:10: `faults.target`: no topic of",
        ),
        (
            '[[faults]]\nkind = "kill"\nat_s = 1\ntarget = "leader-of:orders-2"\n',
            "the topic 'orders' has no partition 2",
        ),
    ],
)
def test_what_no_run_could_reach_is_found_in_the_file(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "c.toml").write_text(HEAD + TOPIC + text)
    with pytest.raises(UsageError) as wrong:
        load_campaign(tmp_path / "c.toml")
    assert message in str(wrong.value)


def test_thresholds_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(
        HEAD + "[thresholds]\nfaults_applied = 0\noperations_ok = 0\ninvariants_exercised = 0\n"
    )
    read = load_campaign(tmp_path / "c.toml").thresholds
    assert (read.faults_applied, read.operations_ok, read.invariants_exercised) == (0, 0, 0)
