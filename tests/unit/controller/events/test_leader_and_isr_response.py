"""LeaderAndIsrResponseReceived: a broker that cannot reach a replica says so.

Source: kafka.controller.KafkaController.processLeaderAndIsrResponseReceived (3.9), KIP-112.
"""

from __future__ import annotations

from pytest_kcontroller.model.cluster import LeaderAndIsr
from pytest_kcontroller.wire.errors import ErrorCode
from tests.tools.controller_box import ControllerBox

FAILED = ErrorCode.KAFKA_STORAGE_ERROR


def answer(box: ControllerBox, broker: int, *, failed: tuple[str, ...] = (), error: ErrorCode = FAILED) -> None:
    """The broker answers the last LeaderAndIsr that it was sent."""
    (*_, sent) = box.sent("LeaderAndIsr", to=broker)
    box.forget()
    box.answer(sent, failed=dict.fromkeys(failed, error))


def started(box: ControllerBox) -> None:
    box.create_topic("t", [[1, 2, 3], [2, 1]])
    box.start()


def test_a_leader_whose_disk_failed_is_replaced_and_leaves_the_isr(box: ControllerBox) -> None:
    started(box)
    answer(box, 1, failed=("t-0",))
    expected = LeaderAndIsr(leader=2, leader_epoch=1, isr=(2, 3), controller_epoch=1, partition_epoch=1)
    assert box.states_written() == [("t-0", expected)]
    assert box.recipients("StopReplica") == {1: ["t-0"]}
    assert sorted(box.recipients("LeaderAndIsr")) == [2, 3]
    assert box.entry("UpdateMetadata", "t-0", to=3).offline_replicas == (1,)


def test_only_that_replica_is_offline_not_its_broker(box: ControllerBox) -> None:
    started(box)
    answer(box, 1, failed=("t-0",))
    box.create_topic("u", [[1, 2]])
    assert box.state("u-0").leader == 1
    box.remove_broker(2)
    assert (box.state("t-0").leader, box.state("t-1").leader) == (3, 1)
    assert box.state("t-0").isr == (3,)


def test_the_last_in_sync_replica_stays_in_the_isr_without_a_leader(box: ControllerBox) -> None:
    box.create_topic("t", [[1, 2]], states={0: LeaderAndIsr(leader=1, leader_epoch=5, isr=(1,), controller_epoch=0)})
    box.start()
    answer(box, 1, failed=("t-0",))
    assert (box.state("t-0").leader, box.state("t-0").isr) == (-1, (1,))


def test_members_that_are_no_replicas_do_not_count_as_others_in_sync(box: ControllerBox) -> None:
    """A controller has cancelled a reassignment in the assignment, and died before it wrote the state."""
    left = LeaderAndIsr(leader=1, leader_epoch=5, isr=(1, 3, 2), controller_epoch=0)
    box.create_topic("t", [[1]], states={0: left})
    box.start()
    box.remove_broker(1)
    assert (box.state("t-0").leader, box.state("t-0").isr) == (-1, (1,))
    box.register_broker(1)
    assert (box.state("t-0").leader, box.state("t-0").isr) == (1, (1,))


def test_the_same_again_is_no_news(box: ControllerBox) -> None:
    started(box)
    (*_, sent) = box.sent("LeaderAndIsr", to=2)
    box.answer(sent, failed={"t-0": FAILED})
    box.forget()
    box.answer(sent, failed={"t-0": FAILED})
    assert box.written() == box.sent() == []


def test_it_is_back_when_it_can_be_led_again(box: ControllerBox) -> None:
    """Or when the broker has registered again: it looks at its disks when it starts."""
    box.create_topic("t", [[1, 2]], states={0: LeaderAndIsr(leader=1, leader_epoch=5, isr=(1,), controller_epoch=0)})
    box.start()
    (*_, sent) = box.sent("LeaderAndIsr", to=1)
    box.answer(sent, failed={"t-0": FAILED})
    box.answer(sent)
    box.register_broker(4)  # whatever is offline is tried again
    assert box.state("t-0").leader == 1
    box.answer(sent, failed={"t-0": FAILED})
    assert box.state("t-0").leader == -1
    box.bounce_broker(1)
    assert box.state("t-0").leader == 1


def test_other_errors_say_nothing_of_a_disk(box: ControllerBox) -> None:
    started(box)
    answer(box, 1, failed=("t-0",), error=ErrorCode.STALE_CONTROLLER_EPOCH)
    assert box.written() == box.sent() == []


def test_what_an_earlier_term_asked_concerns_nobody(box: ControllerBox) -> None:
    started(box)
    (*_, sent) = box.sent("LeaderAndIsr", to=1)
    box.expire_session()
    assert box.controller.epoch == 2
    box.forget()
    box.answer(sent, failed={"t-0": FAILED})
    assert box.written() == box.sent() == []
