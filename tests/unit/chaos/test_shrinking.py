"""The fewest actions that still violate, and the campaign file of what is left."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcontroller_chaos.campaign.file import load_campaign
from kcontroller_chaos.campaign.schedule import JITTER_US, Schedule, draw
from kcontroller_chaos.campaign.written import campaign_text
from kcontroller_chaos.play.shrinking import Shrinking, Tried, fewest

CAMPAIGNS = Path(__file__).parents[3] / "chaos" / "campaigns"


@given(st.integers(0, 40), st.sets(st.frozensets(st.integers(0, 40), max_size=4), min_size=1, max_size=3))
def test_what_is_left_violates_and_nothing_of_it_can_be_left_out(count: int, causes: set[frozenset[int]]) -> None:
    items = [*range(count)]

    def violates(some: object) -> bool:
        return any(cause <= {*some} for cause in causes)  # type: ignore[misc]

    if violates(items):
        left = fewest(items, violates)
        assert violates(left) and left == sorted(left)
        assert not any(violates(left[:at] + left[at + 1 :]) for at in range(len(left)))


def test_few_of_many_are_found_in_few_runs() -> None:
    asked = []

    def violates(some: object) -> bool:
        asked.append(some)
        return {7, 50} <= {*some}  # type: ignore[misc]

    assert fewest([*range(64)], violates) == [7, 50]
    assert len(asked) < 64


class Rarely:
    """What real nodes may do: a schedule with this action violates in every second play only."""

    def __init__(self, cause: str) -> None:
        self._cause, self._plays = cause, Counter[tuple[str, ...]]()

    def __call__(self, seed: int, schedule: Schedule | None) -> tuple[str, tuple[str, ...]]:
        assert schedule is not None and schedule.seed == seed
        names = tuple(action.id for action in schedule.actions)
        self._plays[names] += 1
        violated = self._cause in names and self._plays[names] % 2 == 0
        return ("violated", ("a-rule",)) if violated else ("held", ())


def shrinking(plays: int, most: int = 100) -> Shrinking:
    schedule = draw(load_campaign(CAMPAIGNS / "explore.toml"), 1)
    return Shrinking(
        schedule=schedule,
        wanted="a-rule",
        play=Rarely(schedule.actions[-4].id),
        plays=plays,
        over=lambda runs: "enough" if runs >= most else "",
        tell=lambda tried, runs: None,
    )


def test_what_violates_now_and_then_is_found_with_more_plays() -> None:
    often = shrinking(plays=2)
    assert often.comes_back() and often.tried == [Tried(len(often.schedule.actions), ("held", "violated"), True)]
    assert often.shrunk().actions == often.schedule.actions[-4:-3]
    assert often.stopped == "" and often.runs == sum(len(tried.verdicts) for tried in often.tried)
    assert {tried.verdicts for tried in often.tried if not tried.violated} == {("held", "held")}

    once = shrinking(plays=1)
    assert not once.comes_back() and once.tried == [Tried(len(once.schedule.actions), ("held",), False)]


def test_when_it_is_over_what_is_left_violates() -> None:
    early = shrinking(plays=2, most=5)
    assert early.comes_back()
    left = early.shrunk().actions
    assert early.stopped == "enough" and early.runs == 5
    assert early.schedule.actions[-4] in left and 1 < len(left) < len(early.schedule.actions)


@pytest.mark.parametrize(("faults", "operations"), [(0, 0), (1, 1), (0, 3), (3, 0), (9, 9)])
def test_no_more_is_asked_for_than_is_left(faults: int, operations: int, tmp_path: Path) -> None:
    """What a generator draws in plenty, of which some is enough for the violation."""
    asked = "\n[thresholds]\nfaults_applied = 5\noperations_ok = 2\ninvariants_exercised = 0\n"
    (tmp_path / "asking.toml").write_text((CAMPAIGNS / "explore.toml").read_text() + asked)
    campaign = load_campaign(tmp_path / "asking.toml")
    drawn = draw(campaign, 1).actions
    some = [action for action in drawn if action.what == "fault"][:faults]
    some += [action for action in drawn if action.what == "admin"][:operations]
    (tmp_path / "x.toml").write_text(campaign_text(campaign, some, 7, "what is left"))
    least = load_campaign(tmp_path / "x.toml").thresholds
    assert (least.faults_applied, least.operations_ok) == (min(5, faults), min(2, operations))
    assert least.invariants_exercised == 0, "what the actions have no part in"


LATE = """
[campaign]
name = "late"
duration_s = 10

[[topics]]
name = "orders"

[[workload]]
kind = "admin"
action = "create_topic"
at_s = 9.9
topic = "new"

[[faults]]
kind = "kill"
at_s = 10
"""


def test_what_a_seed_moves_to_after_the_end_is_written_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "late.toml").write_text(LATE)
    campaign = load_campaign(tmp_path / "late.toml")
    drawn = [draw(campaign, seed).actions for seed in range(1, 51)]
    late = next(actions for actions in drawn if all((action.at_us or 0) > 10_000_000 for action in actions))
    (tmp_path / "x.toml").write_text(campaign_text(campaign, late, 7, "what is left"))
    again = load_campaign(tmp_path / "x.toml")
    assert (again.workload[0].at_s, again.faults[0].at_s) == (10, 10)


@pytest.mark.parametrize("name", ["smoke", "zombie", "links", "everything", "explore"])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_file_of_a_schedule_has_the_same_actions(name: str, seed: int, tmp_path: Path) -> None:
    campaign = load_campaign(CAMPAIGNS / f"{name}.toml")
    drawn = draw(campaign, seed)
    (tmp_path / "x.toml").write_text(campaign_text(campaign, drawn.actions, 7, "what is left"))
    again = load_campaign(tmp_path / "x.toml")
    assert (again.seeds, again.cluster, again.topics, again.duration_s) == (
        (7,),
        campaign.cluster,
        campaign.topics,
        campaign.duration_s,
    )
    found = {(action.kind, action.id): action for action in draw(again, 7).actions if action.what == "fault"}
    for action in (action for action in drawn.actions if action.what == "fault"):
        other = found.pop((action.kind, action.id))
        assert (other.does, other.target, other.when, other.until) == (
            action.does,
            action.target,
            action.when,
            action.until,
        )
        assert (other.duration_us, other.after_us, other.still_us) == (
            action.duration_us,
            action.after_us,
            action.still_us,
        )
        assert abs((other.at_us or 0) - (action.at_us or 0)) <= JITTER_US
    assert not found
    admin = sorted(str(action.does) for action in drawn.actions if action.what == "admin")
    assert sorted(str(action.does) for action in draw(again, 7).actions if action.what == "admin") == admin
