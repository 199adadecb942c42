"""Which ISR a leader may have, where Kafka's own tests (tests/fidelity) do not look.

Broker 1 leads t-0, ISR [1, 2], leader epoch 5, partition epoch 7; broker 3 is assigned and dead.
"""

from __future__ import annotations

from typing import Any

import pytest

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.controller.decide.isr import AlterPartitionItem, check, check_broker
from pytest_kcontroller.model.cluster import Address, Assignment, Broker, LeaderAndIsr, TopicPartition
from pytest_kcontroller.wire.errors import ErrorCode

TP = TopicPartition("t", 0)


def broker(number: int) -> Broker:
    return Broker(id=number, address=Address("127.0.0.1", 9000 + number), epoch=100 + number)


def term(*, recovering: bool = False) -> Context:
    context = Context(9, 9)
    for number in (1, 2, 4):
        context.register(broker(number))
    context.add_topic("t", None)
    context.assign("t", {0: Assignment((1, 2, 4, 3))})
    state = LeaderAndIsr(
        leader=1,
        leader_epoch=5,
        isr=(1,) if recovering else (1, 2),
        controller_epoch=8,
        partition_epoch=7,
        recovering=recovering,
    )
    context.set_leadership({TP: state})
    return context


def item(**changes: Any) -> AlterPartitionItem:
    return AlterPartitionItem(**{"leader_epoch": 5, "partition_epoch": 7, "isr": (1, 2, 4), **changes})


def test_who_is_shutting_down_does_not_join_the_isr() -> None:
    context = term()
    context.begin_shutdown(4)
    assert check(context, TP, item()) == ErrorCode.INELIGIBLE_REPLICA


def test_what_is_accepted_keeps_the_leader_epoch_and_carries_our_controller_epoch() -> None:
    state = check(term(), TP, item())
    assert state == LeaderAndIsr(leader=1, leader_epoch=5, isr=(1, 2, 4), controller_epoch=9, partition_epoch=7)


def test_recovery_ends_when_the_leader_says_so() -> None:
    state = check(term(recovering=True), TP, item(isr=(1,)))
    assert isinstance(state, LeaderAndIsr) and not state.recovering


@pytest.mark.parametrize(("number", "epoch"), [(1, 100), (1, 102), (99, 199), (1, -1)])
def test_a_broker_epoch_must_be_the_registered_one(number: int, epoch: int) -> None:
    assert check_broker(term(), number, epoch) == ErrorCode.STALE_BROKER_EPOCH
    assert check_broker(term(), 1, 101) == ErrorCode.NONE
