"""Who does not hear whom in each shape of a partition."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from kcontroller_chaos.campaign.file import load_campaign
from kcontroller_chaos.campaign.schedule import draw
from kcontroller_chaos.faults import _shapes

COUNTS = range(1, 10)


def heard(node: int, count: int, split: _shapes.Split) -> set[int]:
    """By `node`, itself among them."""
    return {other for other in range(count) if (node, other) not in split and (other, node) not in split}


def others(node: int, count: int) -> Sequence[int]:
    return [other for other in range(count) if other != node]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("shape", [_shapes.halves, _shapes.majority, _shapes.minority, _shapes.majorities_ring])
def test_each_pair_is_named_once_and_nobody_is_apart_from_itself(shape: object, count: int) -> None:
    for node in range(count):
        split = shape(node, others(node, count))  # type: ignore[operator]
        assert len({frozenset(pair) for pair in split}) == len(split)
        assert all(one != other for one, other in split)


@pytest.mark.parametrize("count", COUNTS)
def test_majority_and_minority_say_on_which_side_the_node_is(count: int) -> None:
    for node in range(count):
        large = heard(node, count, _shapes.majority(node, others(node, count)))
        assert len(large) == count // 2 + 1
        if count > 2:
            small = heard(node, count, _shapes.minority(node, others(node, count)))
            assert len(small) == count - len(large)


@pytest.mark.parametrize("count", range(2, 10))
def test_halves_are_two_sides(count: int) -> None:
    for node in range(count):
        split = _shapes.halves(node, others(node, count))
        mine = heard(node, count, split)
        assert len(mine) == max(1, count // 2)
        assert all(heard(one, count, split) == mine for one in mine)


@pytest.mark.parametrize("count", COUNTS)
def test_on_a_ring_everybody_hears_a_majority_and_no_two_the_same(count: int) -> None:
    for node in range(count):
        split = _shapes.majorities_ring(node, others(node, count))
        seen = [heard(one, count, split) for one in range(count)]
        assert all(one in seen[one] and 2 * len(seen[one]) > count for one in range(count))
        if count > 3:
            assert len({frozenset(each) for each in seen}) == count


@pytest.mark.parametrize("count", range(3, 10))
def test_a_bridge_is_heard_by_two_halves_that_do_not_hear_each_other(count: int) -> None:
    for node in range(count):
        split = _shapes.bridge(node, others(node, count))
        assert heard(node, count, split) == set(range(count))
        sides = {frozenset(heard(one, count, split) - {node}) for one in others(node, count)}
        assert sorted(map(len, sides)) == [(count - 1) // 2, count // 2]


def test_jepsens_names_are_taken_for_ours(tmp_path: Path) -> None:
    text = """\
[campaign]
name = "x"
duration_s = 9

[[faults]]
kind = "partition"
mode = "one"
at_s = 1
duration_s = 1

[[faults]]
kind = "partition"
mode = "from-zookeeper"
at_s = 2
duration_s = 1

[generator]
faults = ["partition:one"]
every_s = [1, 2]
"""
    (tmp_path / "x.toml").write_text(text)
    actions = draw(load_campaign(tmp_path / "x.toml"), 1).actions
    assert {action.mode for action in actions} == {"control", "zookeeper"}
