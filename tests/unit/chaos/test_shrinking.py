"""The fewest actions that still violate, and the campaign file of what is left."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcontroller_chaos.campaign.file import load_campaign
from kcontroller_chaos.campaign.schedule import JITTER_US, draw
from kcontroller_chaos.campaign.written import campaign_text
from kcontroller_chaos.play.shrinking import fewest

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
