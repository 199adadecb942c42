"""What `[generator]` draws: a function of the seed, within its limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from kcontroller_chaos.backends import simulated
from kcontroller_chaos.campaign.actions import ADMIN, Action
from kcontroller_chaos.campaign.file import Campaign, load_campaign
from kcontroller_chaos.campaign.generator import PROVOKED_S
from kcontroller_chaos.campaign.schedule import Schedule, draw
from kcontroller_chaos.catalogue import load_catalogue
from kcontroller_chaos.catalogue.placement import POINTS
from kcontroller_chaos.play.runner import Options, check
from pytest_kcontroller.errors import NotOnThisBackend, UsageError

EXPLORE = Path(__file__).parents[3] / "chaos" / "campaigns" / "explore.toml"
SEEDS = range(1, 51)
HEAD = '[campaign]\nname = "x"\nduration_s = 20\n'
TOPIC = '[[topics]]\nname = "t"\n'


@pytest.fixture(scope="module")
def explore() -> Campaign:
    return load_campaign(EXPLORE)


def drawn(campaign: Campaign) -> Iterator[Action]:
    for seed in SEEDS:
        yield from draw(campaign, seed).actions


def loaded(tmp_path: Path, text: str) -> Campaign:
    (tmp_path / "campaign.toml").write_text(text)
    return load_campaign(tmp_path / "campaign.toml")


def test_the_seed_alone_decides_and_a_saved_schedule_is_the_same(explore: Campaign, tmp_path: Path) -> None:
    assert draw(explore, 7) == draw(explore, 7)
    assert len({repr(draw(explore, seed).actions) for seed in (1, 2, 3)}) == 3
    draw(explore, 7).save(tmp_path / "s")
    assert Schedule.load(tmp_path / "s", explore) == draw(explore, 7)


@pytest.mark.parametrize(
    ("called", "beside"),
    [
        ("drawn-0", '[generator]\nfaults = ["kill"]\n'),
        ("admin-0", '[[workload]]\nkind = "admin"\naction = "create_topic"\nat_s = 1\ntopic = "t"\n'),
    ],
)
def test_no_fault_is_called_as_another_action(tmp_path: Path, called: str, beside: str) -> None:
    fault = f'[[faults]]\nkind = "kill"\nat_s = 1\nid = "{called}"\n'
    with pytest.raises(UsageError, match=rf"campaign.toml:7: `faults.id`: '{called}' is what an action of "):
        loaded(tmp_path, HEAD + fault + beside)
    assert loaded(tmp_path, HEAD + fault).faults[0].id == called, "as shrinking writes it"


def with_mode(name: str) -> str:
    """A kind that has modes and is named without one is drawn with its first."""
    modes = () if ":" in name else load_catalogue().kind(name).modes
    return f"{name}:{modes[0]}" if modes else name


def test_everything_that_is_named_is_drawn(explore: Campaign) -> None:
    actions = list(drawn(explore))
    assert explore.generator is not None
    names = {action.kind if action.mode is None else f"{action.kind}:{action.mode}" for action in actions}
    assert names == {*map(with_mode, explore.generator.faults), *explore.generator.admin}
    assert {(action.when or "").partition(":")[0] for action in actions} == {"", *POINTS}
    targets = {str(action.target).partition(":")[0] for action in actions if action.what != ADMIN}
    assert targets == {"any", "controller", "leader-of", "node", "others", "random"}


def test_whoever_is_drawn_to_be_deposed_is_the_controller(explore: Campaign) -> None:
    assert {action.target for action in drawn(explore) if action.kind == "depose"} == {"controller"}


def test_no_drawn_fault_is_planned_into_the_time_of_healing(explore: Campaign) -> None:
    spec = explore.generator
    assert spec is not None
    limit_us = (explore.duration_s - spec.heal_before_end_s) * 1e6
    for action in drawn(explore):
        assert (action.at_us or 0) + (action.within_us or 0) + (action.duration_us or 0) <= limit_us
        assert action.what == ADMIN or action.if_possible


def test_never_more_faults_at_once_than_allowed_and_one_that_provokes(explore: Campaign) -> None:
    spec = explore.generator
    assert spec is not None
    for seed in SEEDS:
        spans = [
            (a.at_us or 0, (a.at_us or 0) + (a.within_us or 0) + (a.duration_us or 0))
            for a in draw(explore, seed).actions
            if a.what != ADMIN and not down(a)
        ]
        for begin, _ in spans:
            assert sum(1 for other, end in spans if other <= begin < end) <= spec.max_concurrent + 1


def down(action: Action) -> bool:
    """Whether it is that of a node which is down all the time."""
    return str(action.target).startswith("node:")


def test_something_follows_a_crash_point_at_once(explore: Campaign) -> None:
    for seed in SEEDS:
        actions = [action for action in draw(explore, seed).actions if not down(action)]
        for one, other in pairwise(actions):
            if one.when is not None:
                assert other.when is None
                assert int(PROVOKED_S[0] * 1e6) <= (other.at_us or 0) - (one.at_us or 0) <= int(PROVOKED_S[1] * 1e6)


def test_seeds_differ_in_what_they_are_about(explore: Campaign) -> None:
    """Swarm testing: some of the faults each, and in half of the seeds nodes that are down all the time."""
    spec = explore.generator
    assert spec is not None
    in_use, downs = [], []
    for seed in SEEDS:
        actions = draw(explore, seed).actions
        downs.append(sum(map(down, actions)))
        in_use.append({(a.kind, a.mode) for a in actions if a.what != ADMIN and not down(a)})
    assert max(map(len, in_use)) <= len(spec.faults) // 2
    assert len({tuple(sorted(map(str, used))) for used in in_use}) > len(SEEDS) // 2
    assert len(SEEDS) / 4 < sum(1 for number in downs if number) < len(SEEDS) * 3 / 4
    assert max(downs) == explore.cluster.nodes - 1
    only = {
        name: replace(explore, generator=replace(spec, faults=(name, "pause"))) for name in ("kill", "graceful_stop")
    }
    assert {name: any(map(down, drawn(campaign))) for name, campaign in only.items()} == {
        "kill": True,
        "graceful_stop": False,
    }
    all_of_it = replace(explore, generator=replace(spec, swarm=False))
    assert not any(down(action) for action in drawn(all_of_it))
    assert (
        max(len({(a.kind, a.mode) for a in draw(all_of_it, seed).actions}) for seed in SEEDS)
        > len(spec.faults) // 2 + 1
    )


@pytest.mark.parametrize("faults", ['["pause"]', '["pause", "pause"]'])
def test_a_swarm_of_one_fault_is_that_fault(tmp_path: Path, faults: str) -> None:
    campaign = loaded(tmp_path, HEAD + TOPIC + f"[generator]\nswarm = true\nfaults = {faults}\n")
    assert {action.kind for action in drawn(campaign)} == {"pause"}


def test_a_fault_more_in_the_file_moves_no_drawn_one(tmp_path: Path) -> None:
    text = HEAD + TOPIC + '[generator]\nfaults = ["kill", "pause"]\n'
    alone = draw(loaded(tmp_path, text), 3).actions
    both = draw(loaded(tmp_path, text + '[[faults]]\nkind = "depose"\nat_s = 1\n'), 3).actions
    assert set(map(repr, alone)) < set(map(repr, both))


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("faults = []", "`generator.faults`: `faults` is empty"),
        ('faults = ["kil"]', "did you mean `kill`"),
        ('faults = ["kill:hard"]', "'kill:hard' is not known"),
        ('faults = ["kill"]\nevery_s = [3, 1]', "the smaller one first"),
        ('faults = ["kill"]\nlasting_s = 3', "3 is not [least, most]"),
        ('faults = ["kill"]\ncrash_points = 2', "2 is more than 1"),
        ('faults = ["kill"]\nheal_before_end_s = 30', "no fault can be healed 30 s before the end"),
        ('faults = ["kill"]\ntargets = ["leader"]', "no partition whose leader could be drawn"),
        ("every_s = [1, 2]", "the key `faults` is missing"),
    ],
)
def test_a_bad_generator_is_named_with_line_and_key(tmp_path: Path, lines: str, says: str) -> None:
    with pytest.raises(UsageError) as raised:
        loaded(tmp_path, f"{HEAD}[generator]\n{lines}\n")
    assert says in str(raised.value)
    assert "campaign.toml:" in str(raised.value)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ('when = "write:0"', "'write:0' is no trigger"),
        ('when = "write:x"', "did you mean `write:N`?"),
        ('when = "write:²"', "'write:²' is no trigger"),
        (f'when = "write:{"9" * 5000}"', "is no trigger"),
        (f'at_s = 1\ntarget = "node:{"9" * 5000}"', "is no target"),
        (f'at_s = 1\ntarget = "leader-of:orders-{"9" * 5000}"', "is no target"),
        ('when = "write:1"\ntarget = "others"', "say `any`"),
        ('when = "write:1"\nafter_ms = 5', "a crash point is a moment"),
        ("at_s = 1\nstill_ms = 5", "only at a crash point does a node stand still"),
        ('when = "epoch.changed"\nat_s = 1', "either `at_s` or `when`"),
        ('at_s = 1\ntarget = "any"', "`any` is for crash points"),
        ('at_s = 1\nuntil = "write:1"', "is no trigger"),
    ],
)
def test_a_bad_crash_point_is_named(tmp_path: Path, lines: str, says: str) -> None:
    with pytest.raises(UsageError) as raised:
        loaded(tmp_path, f'{HEAD}[[faults]]\nkind = "kill"\n{lines}\n')
    assert says in str(raised.value)


@pytest.mark.parametrize("when", ["write:2", "written:1", "request:7"])
def test_crash_points_are_refused_where_they_cannot_be(tmp_path: Path, when: str) -> None:
    campaign = loaded(tmp_path, f'{HEAD}[[faults]]\nkind = "kill"\nwhen = "{when}"\n')
    with pytest.raises(NotOnThisBackend, match="the backend process has no crash points"):
        check(campaign, Options(backend="process"))
    check(campaign, Options(backend="sim"))


def test_what_a_generator_may_do_can_be_replaced_by_nothing(explore: Campaign) -> None:
    """--noop-fault knows the kinds that are only drawn."""
    check(explore, Options(backend="sim", noop_fault="partition:inbound"))
    with pytest.raises(UsageError, match="has no fault"):
        check(explore, Options(backend="sim", noop_fault="partition:nowhere"))


def test_the_campaigns_that_explore_may_do_everything_that_there_is(explore: Campaign) -> None:
    """The one that known bugs are found with has fewer faults: with all of them each comes less often."""
    everything = load_campaign(EXPLORE.with_name("everything.toml"))
    assert explore.generator is not None and everything.generator is not None
    assert set(explore.generator.faults) <= set(everything.generator.faults)
    assert explore.generator.admin == everything.generator.admin
    named = {name.partition(":")[0] for name in everything.generator.faults}
    kinds = load_catalogue(installed=False).kinds.values()
    here = {kind.name for kind in kinds if not set(kind.classes[0].needs) & set(simulated().lacks)}
    assert named == here, "`faults` in chaos/campaigns/everything.toml"
    assert not explore.faults, "it names no bug and reacts to no event"
