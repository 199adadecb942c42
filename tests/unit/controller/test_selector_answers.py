"""What a leader selector of a plugin answers, and what it tries with what it is shown: broker 1 dies, of 1, 2 and 3."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from pytest_kcontroller.model.election import BrokerView, ElectionReason, LeaderChoice, PartitionView
from pytest_kcontroller.plugin.manager import load_plugins
from tests.tools.controller_box import ControllerBox

Answer = Callable[[PartitionView], Any]
STOCK = load_plugins(installed=False).selectors_for({})
PARTITIONS = ("t-0", "t-1")


class Mine:
    name = "mine"

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def select(self, partition: PartitionView, reason: ElectionReason) -> Any:
        return self._answer(partition)


def elected(answer: Answer) -> tuple[list[tuple[int, tuple[int, ...]]], list[int], list[str]]:
    """Leader and ISR of both partitions, who was told of t-0, and why the answers were not heeded."""
    with ControllerBox(brokers=(1, 2, 3), selectors={**STOCK, ElectionReason.OFFLINE: Mine(answer)}) as box:
        box.create_topic("t", [[1, 2, 3]] * 2)
        box.start()
        box.forget()
        box.remove_broker(1)
        states = [box.state(name) for name in PARTITIONS]
        told = [sent.broker for sent in box.sent("LeaderAndIsr") if "t-0" in sent.entries]
        whys = [bad["why"] for bad in box.events("selector.bad-answer")]
        return [(state.leader, state.isr) for state in states], list(dict.fromkeys(told)), whys


def live(view: PartitionView) -> list[int]:
    return [replica for replica in view.isr if view.brokers.live(replica)]


def test_a_list_is_as_good_as_a_tuple() -> None:
    assert elected(lambda view: LeaderChoice(3, live(view), [3, 2])) == ([(3, (2, 3))] * 2, [2, 3], [])  # type: ignore[arg-type]


def test_a_list_that_is_used_again_for_the_next_partition_is_what_it_was() -> None:
    isr: list[int] = []

    def answer(view: PartitionView) -> LeaderChoice:
        isr[:] = live(view)[1 if view.partition else 0 :]
        return LeaderChoice(3, isr)  # type: ignore[arg-type]

    assert elected(answer) == ([(3, (2, 3)), (3, (3,))], [2, 3], [])


@pytest.mark.parametrize(
    "answer",
    [
        lambda view: LeaderChoice(3, set(live(view))),  # type: ignore[arg-type]
        lambda view: LeaderChoice(3, frozenset(live(view))),  # type: ignore[arg-type]
        lambda view: LeaderChoice(3, (replica for replica in live(view))),  # type: ignore[arg-type]
        lambda _view: LeaderChoice(3, 3),  # type: ignore[arg-type]
        lambda _view: LeaderChoice(3, (3.0, 2)),  # type: ignore[arg-type]
        lambda _view: LeaderChoice(True, (True, 2)),
        lambda _view: LeaderChoice(3, (2, 3), (replica for replica in (2, 3))),  # type: ignore[arg-type]
        lambda _view: LeaderChoice(3, (2, 3), {2, 3}),  # type: ignore[arg-type]
        lambda _view: LeaderChoice(3, (2, 3), (True, 2)),
        lambda _view: LeaderChoice(3, (2, 3), 0),  # type: ignore[arg-type]
    ],
)
def test_who_names_brokers_otherwise_is_not_heeded(answer: Answer) -> None:
    states, told, whys = elected(answer)
    assert (states, told) == ([(2, (2, 3))] * 2, [2, 3])
    assert len(whys) == 2
    assert all(why.endswith(" names brokers by something else than their ids, in lists or tuples") for why in whys)


def assign(view: PartitionView) -> None:
    view.assignment.replicas = (7,)  # type: ignore[misc]


def revive(view: PartitionView) -> None:
    view.brokers.brokers[7] = BrokerView(id=7)  # type: ignore[index]


def count(view: PartitionView) -> None:
    view.brokers.leader_counts[2] = 9  # type: ignore[index]


@pytest.mark.parametrize(
    ("change", "raises"),
    [(assign, dataclasses.FrozenInstanceError), (revive, TypeError), (count, TypeError)],
)
def test_what_it_is_shown_is_the_controllers_and_cannot_be_changed(
    change: Callable[[PartitionView], None], raises: type[Exception]
) -> None:
    def answer(view: PartitionView) -> LeaderChoice:
        change(view)
        return LeaderChoice(7, (7,))

    states, _told, whys = elected(answer)
    assert states == [(2, (2, 3))] * 2
    assert [why.split("(")[0] for why in whys] == [f"it raised {raises.__name__}"] * 2
