"""The stock selectors, where Kafka's own elections (tests/fidelity) do not look."""

from __future__ import annotations

import pytest

from pytest_kcontroller.model.cluster import Assignment, LeaderAndIsr
from pytest_kcontroller.model.election import (
    BrokerTable,
    BrokerView,
    ElectionReason,
    LeaderChoice,
    PartitionView,
    told,
)
from pytest_kcontroller.plugin.manager import load_plugins
from tests.tools.controller_box import ControllerBox

STOCK = load_plugins(installed=False).selectors_for({})


def test_a_reassigned_partition_is_led_by_a_target_only() -> None:
    view = PartitionView(
        topic="t",
        partition=0,
        assignment=Assignment((1, 2, 3), adding=(3,), removing=(1, 2)),
        leader=1,
        isr=(1, 2, 3),
        leader_epoch=0,
        partition_epoch=0,
        controller_epoch=1,
        unclean_allowed=False,
        brokers=BrokerTable({broker: BrokerView(id=broker) for broker in (1, 2, 3)}),
    )
    choice = STOCK[ElectionReason.REASSIGNED].select(view, ElectionReason.REASSIGNED)
    assert choice == LeaderChoice(3, (1, 2, 3), (3,))


def elected(name: str, reason: ElectionReason, config: dict[str, bool]) -> tuple[LeaderAndIsr, list[str]]:
    """What a controller makes of a partition on 1, 2 and 3 whose leader dies; and why the selector was not heeded."""
    selectors = load_plugins(installed=False).selectors_for({reason.value: name})
    with ControllerBox(brokers=(1, 2, 3), selectors=selectors, config=config) as box:
        state = LeaderAndIsr(leader=1, leader_epoch=5, isr=(1, 3, 2) if config else (1,), controller_epoch=0)
        box.create_topic("t", [[1, 2, 3]], states={0: state})
        box.start()
        box.remove_broker(1)
        return box.state("t-0"), [bad["why"] for bad in box.events("selector.bad-answer")]


def test_an_older_rule_decides_in_a_running_controller_where_it_is_safe() -> None:
    state, bad = elected("offline@0.8.0", ElectionReason.OFFLINE, {"unclean.leader.election.enable": True})
    assert (state.leader, bad) == (3, [])  # in the order of the ISR; by today's rule it is 2
    state, bad = elected("offline@0.8.0", ElectionReason.OFFLINE, {})
    assert state.leader == -1  # nobody in sync lives, and Kafka 0.8.0 did not ask whether that matters
    assert bad == ["leader 2 was not in the ISR [1], and unclean election is not allowed"]


@pytest.mark.parametrize(
    ("reason", "brokers"),
    [
        (ElectionReason.OFFLINE, (3,)),
        (ElectionReason.CONTROLLED_SHUTDOWN, (3, 2)),
        (ElectionReason.PREFERRED, (3, 2, 1)),
        (ElectionReason.REASSIGNED, (3, 2)),
    ],
)
def test_who_is_told_by_the_rule_of_each_reason(reason: ElectionReason, brokers: tuple[int, ...]) -> None:
    """2 is shutting down, 1 is dead and on its way out."""
    table = BrokerTable({3: BrokerView(id=3), 2: BrokerView(id=2, shutting_down=True)})
    assert told(Assignment((3, 2, 1), removing=(1,)), table, reason) == brokers
