"""What brokers answer to LeaderAndIsr: a leader is known to have taken over when it says so."""

from __future__ import annotations

from pytest_kcontroller.wire.errors import ErrorCode
from tests.tools.controller_box import ControllerBox


def answered(box: ControllerBox) -> int:
    """How many events of it there are."""
    return len(box.events("leader.answered"))


def test_a_leader_that_answers_is_recorded_and_a_follower_is_not(box: ControllerBox) -> None:
    box.create_topic("t", [[1, 2]])
    box.start()
    for sent in box.sent("LeaderAndIsr"):
        box.answer(sent)
    (event,) = box.events("leader.answered")
    assert (event["leader"], event["epoch"]) == (1, 1)


def test_nothing_is_recorded_of_a_partition_that_failed(box: ControllerBox) -> None:
    box.create_topic("t", [[1, 2]])
    box.start()
    (sent,) = box.sent("LeaderAndIsr", to=1)
    box.answer(sent, failed={"t-0": ErrorCode.STALE_CONTROLLER_EPOCH})
    assert answered(box) == 0
