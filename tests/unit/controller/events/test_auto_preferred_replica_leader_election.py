"""AutoPreferredReplicaLeaderElection: when, and which partitions.

Source: kafka.controller.KafkaController.checkAndTriggerAutoLeaderRebalance (3.9).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from pytest_kcontroller.model.cluster import LeaderAndIsr
from pytest_kcontroller.zookeeper.partition_lists import encode_partitions
from pytest_kcontroller.zookeeper.session import Create
from pytest_kcontroller.zookeeper.znodes import ISR_CHANGE_NOTIFICATION, delete_topic_path
from tests.tools.controller_box import ControllerBox, partition

ON: Mapping[str, Any] = {"auto.leader.rebalance.enable": True, "leader.imbalance.check.interval.seconds": 20}


@contextmanager
def moved_away(
    moved: int, of: int, config: Mapping[str, Any] = ON, isr: tuple[int, ...] = (2, 1)
) -> Iterator[ControllerBox]:
    """`of` partitions prefer 1; the first `moved` of them are led by 2."""
    states = {
        number: LeaderAndIsr(leader=2 if number < moved else 1, leader_epoch=5, isr=isr, controller_epoch=0)
        for number in range(of)
    }
    with ControllerBox(brokers=(1, 2), config=config) as box:
        box.create_topic("t", [[1, 2]] * of, states=states)
        box.start()
        box.forget()
        yield box


def elected(box: ControllerBox) -> list[str]:
    names = [name for name, state in box.states_written() if state.leader == 1]
    box.forget()
    return names


def test_five_seconds_after_the_failover_then_after_each_interval() -> None:
    with moved_away(2, 2) as box:
        box.pass_time(4)
        assert elected(box) == []
        box.pass_time(2)
        assert elected(box) == ["t-0", "t-1"]
        box.set_state("t-0", LeaderAndIsr(leader=2, leader_epoch=7, isr=(2, 1), controller_epoch=1))
        notification = encode_partitions([partition("t-0")])
        box.write(Create(f"{ISR_CHANGE_NOTIFICATION}/isr_change_0000000000", notification))
        box.pass_time(15)
        assert elected(box) == []
        box.pass_time(5)
        assert elected(box) == ["t-0"]


@pytest.mark.parametrize(
    ("moved", "of", "percent", "expected"),
    [
        pytest.param(1, 10, 10, 0, id="as many as allowed"),
        pytest.param(2, 10, 10, 2, id="more than allowed"),
        pytest.param(1, 2, 49, 1, id="any share can be set"),
        pytest.param(1, 2, 50, 0, id="any share can be set, strictly"),
    ],
)
def test_only_if_too_many_are_elsewhere(moved: int, of: int, percent: int, expected: int) -> None:
    with moved_away(moved, of, ON | {"leader.imbalance.per.broker.percentage": percent}) as box:
        box.pass_time(6)
        assert elected(box) == [f"t-{number}" for number in range(expected)]


def test_never_unless_it_is_switched_on() -> None:
    with moved_away(2, 2, {}) as box:
        box.pass_time(1000)
        assert elected(box) == []


def test_not_where_the_first_replica_cannot_lead() -> None:
    with moved_away(2, 2, isr=(2,)) as box:
        box.pass_time(6)
        assert (elected(box), box.events("controller.state-change-failed")) == ([], [])


def test_not_what_is_being_deleted() -> None:
    with moved_away(2, 2) as box:
        box.create_topic("u", [[1, 9]])
        box.write(Create(delete_topic_path("t")), Create(delete_topic_path("u")))
        box.forget()
        box.pass_time(6)
        assert elected(box) == []


def test_the_timer_ends_with_the_term() -> None:
    with moved_away(2, 2) as box:
        box.pass_time(3)
        box.expire_session()
        assert box.controller.epoch == 2
        box.pass_time(3)
        assert elected(box) == []
        box.pass_time(3)
        assert elected(box) == ["t-0", "t-1"]
