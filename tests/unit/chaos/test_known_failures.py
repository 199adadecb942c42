"""`[[expected]]`: which violated runs are known failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kcontroller_chaos.campaign.file import load_campaign
from kcontroller_chaos.judge.verdict import known_reasons, lapsed_reasons
from pytest_kcontroller.errors import UsageError

HEAD = '[campaign]\nname = "x"\nduration_s = 5\n'
ENTRY = '[[expected]]\ninvariant = "epochs-grow"\nfaults = ["kill"]\nreason = "ISSUE-1"\nuntil = 2027-03-01\n'
KNOWN = {"invariant": "epochs-grow", "faults": ["kill"], "reason": "ISSUE-1", "until": "2027-03-01"}


def run(started: str = "2027-03-01T23:59:59.000Z", **changes: Any) -> dict[str, Any]:
    return {"started": started, "expected": [KNOWN | changes]}


def verdicts(*violated: str, overall: str = "violated", applied: tuple[str, ...] = ("kill",)) -> dict[str, Any]:
    names = ("epochs-grow", "leader-in-isr")
    entries = [{"name": name, "verdict": "violated" if name in violated else "held"} for name in names]
    faults = [{"kind": kind, "applied_us": 1} for kind in applied] + [{"kind": "pause", "applied_us": None}]
    return {"overall": overall, "invariants": entries, "faults": faults}


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
        ('reason = "ISSUE-1"\n', "", "c.toml:4: `expected.reason`: the key `reason` is missing"),
    ],
)
def test_a_wrong_entry_names_file_line_and_key(tmp_path: Path, before: str, after: str, message: str) -> None:
    (tmp_path / "c.toml").write_text(HEAD + ENTRY.replace(before, after))
    with pytest.raises(UsageError) as caught:
        load_campaign(tmp_path / "c.toml")
    assert message in str(caught.value)


def test_it_counts_until_the_end_of_its_day_and_no_longer() -> None:
    assert known_reasons(verdicts("epochs-grow"), run()) == ["epochs-grow: ISSUE-1, until 2027-03-01"]
    assert known_reasons(verdicts("epochs-grow"), run("2027-03-02T00:00:00.000Z")) == []
    assert lapsed_reasons(verdicts("epochs-grow"), run()) == []
    late = lapsed_reasons(verdicts("epochs-grow"), run("2027-03-02T00:00:00.000Z"))
    assert late == ["epochs-grow: ISSUE-1, until 2027-03-01"]


def test_every_violation_must_be_known() -> None:
    assert known_reasons(verdicts("epochs-grow", "leader-in-isr"), run()) == []
    assert known_reasons(verdicts("leader-in-isr"), run()) == []


def test_only_where_its_faults_were_applied() -> None:
    assert known_reasons(verdicts("epochs-grow", applied=()), run()) == []
    assert known_reasons(verdicts("epochs-grow"), run(faults=["kill", "pause"])) == []
    assert known_reasons(verdicts("epochs-grow"), run(faults=[])) != []


@pytest.mark.parametrize("overall", ["held", "unknown", "environment"])
def test_no_other_verdict_is_known(overall: str) -> None:
    assert known_reasons(verdicts(overall=overall), run()) == []
