"""`[[expected]]`: which violated runs are known failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kcontroller_chaos.campaign.file import load_campaign
from kcontroller_chaos.judge.explain import failures
from kcontroller_chaos.judge.known import mark_known
from pytest_kcontroller.errors import UsageError

HEAD = '[campaign]\nname = "x"\nduration_s = 5\n'
ENTRY = '[[expected]]\ninvariant = "epochs-grow"\nfaults = ["kill"]\nreason = "ISSUE-1"\nuntil = 2027-03-01\n'
KNOWN = {"invariant": "epochs-grow", "faults": ["kill"], "reason": "ISSUE-1", "until": "2027-03-01"}


def run(started: str = "2027-03-01T23:59:59.000Z", **changes: Any) -> dict[str, Any]:
    return {"started": started, "expected": [KNOWN | changes]}


def marked(
    *violated: str, of: dict[str, Any] | None = None, applied: tuple[str, ...] = ("kill",), observed: str = "held"
) -> dict[str, Any]:
    """What verdicts.json says of a run in which these are violated; `of` is its run.json."""
    names = ("epochs-grow", "leader-in-isr", "nodes-stay-up")
    entries = [{"name": n, "kind": "safety", "verdict": "violated" if n in violated else "held"} for n in names]
    parts = {"observed": {"verdict": observed}, "invariants": {"verdict": "violated" if violated else "held"}}
    value = {"ended": True, "transactions": 9, "parts": parts} | {
        "invariants": [{**entry, "witness": {"zxid": 1}} for entry in entries],
        "faults": [{"kind": kind, "applied_us": 1} for kind in applied] + [{"kind": "pause", "applied_us": None}],
    }
    mark_known(value, of or run())
    return value


def test_a_file_says_what_is_known(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(HEAD + ENTRY)
    (known,) = load_campaign(tmp_path / "c.toml").expected
    assert (known.invariant, known.faults, known.reason, known.until) == (
        "epochs-grow",
        ("kill",),
        "ISSUE-1",
        "2027-03-01",
    )


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('"epochs-grow"', '"epochs-grows"', "c.toml:5: `expected.invariant`: 'epochs-grows' is not known"),
        ('["kill"]', '["kil"]', "c.toml:6: `expected.faults`: 'kil' is not known"),
        ('["kill"]', '"kill"', "c.toml:6: `expected.faults`: 'kill' is not a list of names"),
        ("2027-03-01", '"2027-03-01"', "c.toml:8: `expected.until`: '2027-03-01' is not a date"),
        ('"ISSUE-1"', '" "', "c.toml:7: `expected.reason`: the reason is empty\n  -> why it is known"),
        ('reason = "ISSUE-1"\n', "", "c.toml:4: `expected.reason`: the key `reason` is missing"),
    ],
)
def test_a_wrong_entry_names_file_line_and_key(tmp_path: Path, before: str, after: str, message: str) -> None:
    (tmp_path / "c.toml").write_text(HEAD + ENTRY.replace(before, after))
    with pytest.raises(UsageError) as caught:
        load_campaign(tmp_path / "c.toml")
    assert message in str(caught.value)


TEXT = "epochs-grow: ISSUE-1, until 2027-03-01"
LATE = "2027-03-02T00:00:00.000Z"


def test_it_counts_until_the_end_of_its_day_and_no_longer() -> None:
    found = marked("epochs-grow")
    assert (found["expected"], found["lapsed"], found["unexpected"]) == ([TEXT], [], "held")
    late = marked("epochs-grow", of=run(LATE))
    assert (late["expected"], late["lapsed"], late["unexpected"]) == ([], [TEXT], "violated")


def test_a_known_violation_hides_no_other_and_is_marked() -> None:
    found = marked("epochs-grow", "leader-in-isr")
    assert (found["expected"], found["unexpected"]) == ([], "violated")
    known = {entry["name"]: entry.get("known") for entry in found["invariants"]}
    assert known == {"epochs-grow": "ISSUE-1, until 2027-03-01", "leader-in-isr": "", "nodes-stay-up": None}


@pytest.mark.parametrize("verdict", ["environment", "unknown"])
def test_a_known_violation_hides_nothing_else_that_is_wrong(verdict: str) -> None:
    found = marked("epochs-grow", observed=verdict)
    assert (found["expected"], found["unexpected"]) == ([], verdict)


def test_only_where_its_faults_were_applied() -> None:
    assert marked("epochs-grow", applied=())["unexpected"] == "violated"
    assert marked("epochs-grow", of=run(faults=["kill", "pause"]))["unexpected"] == "violated"
    assert marked("epochs-grow", of=run(faults=[]))["unexpected"] == "held"


def test_what_was_expected_and_did_not_come_is_said() -> None:
    assert marked("leader-in-isr")["did_not_come"] == [TEXT]
    assert marked("epochs-grow")["did_not_come"] == []
    assert marked(of=run(LATE))["did_not_come"] == [], "its date has passed"
    assert marked(applied=())["did_not_come"] == [], "it could not come"


def test_what_is_new_is_told_before_what_is_known() -> None:
    common = {"kind": "safety", "verdict": "violated", "seen": "x", "where": "y", "expected": "z", "witness": None}
    entries = [{"name": "old", **common, "known": "ISSUE-1, until 2027-03-01"}, {"name": "new", **common, "known": ""}]
    text = failures({"invariants": entries}, [])
    assert text.index("violated: new") < text.index("violated: old")
    assert "known: ISSUE-1" in text.partition("old")[2]
