"""ControlledShutdown: a broker that is about to stop asks that others lead what it leads.

Source: kafka.controller.KafkaController.doControlledShutdown (3.9).
"""

from __future__ import annotations

from dataclasses import replace

from pytest_kcontroller.model.cluster import LeaderAndIsr
from pytest_kcontroller.runtime.holds import BEFORE_STATE_WRITE
from pytest_kcontroller.wire.errors import ErrorCode
from tests.tools.controller_box import ControllerBox


def running(box: ControllerBox, replicas: list[list[int]]) -> None:
    box.create_topic("t", replicas)
    box.start()
    box.forget()


def test_what_it_leads_gets_another_leader_in_an_isr_without_it(box: ControllerBox) -> None:
    """The broker hears of the new leader too (KAFKA-7482)."""
    running(box, [[1, 2, 3]])
    response = box.shut_down(1).result()
    assert (response.error_code, list(response.remaining_partitions)) == (0, [])
    expected = LeaderAndIsr(leader=2, leader_epoch=1, isr=(2, 3), controller_epoch=1, partition_epoch=1)
    assert box.states_written() == [("t-0", expected)]
    assert box.recipients("LeaderAndIsr") == {1: ["t-0"], 2: ["t-0"], 3: ["t-0"]}
    assert box.recipients("StopReplica") == {}
    assert box.events("leader.elected")[0]["reason"] == "controlled_shutdown"


def test_what_it_follows_it_stops_and_leaves_the_isr(box: ControllerBox) -> None:
    running(box, [[2, 1, 3]])
    assert list(box.shut_down(1).result().remaining_partitions) == []
    expected = LeaderAndIsr(leader=2, leader_epoch=1, isr=(2, 3), controller_epoch=1, partition_epoch=1)
    assert box.states_written() == [("t-0", expected)]
    assert set(box.recipients("StopReplica")) == {1}
    assert not box.entry("StopReplica", "t-0", to=1).delete_partition
    assert set(box.recipients("LeaderAndIsr")) == {2, 3}


def test_a_partition_that_nobody_else_can_lead_remains(box: ControllerBox) -> None:
    running(box, [[1, 2]])
    box.remove_broker(2)
    box.forget()
    response = box.shut_down(1).result()
    assert [(left.topic_name, left.partition_index) for left in response.remaining_partitions] == [("t", 0)]
    assert box.state("t-0").leader == 1
    assert box.written() == []


def test_an_isr_that_it_widened_unseen_counts(box: ControllerBox) -> None:
    """As a leader before Kafka 2.7 may have done just before it stops."""
    running(box, [[1, 2]])
    box.alter_partition("t-0", [1])
    box.set_state("t-0", replace(box.state("t-0"), isr=(1, 2)))
    assert list(box.shut_down(1).result().remaining_partitions) == []
    assert (box.state("t-0").leader, box.state("t-0").isr) == (2, (2,))


def test_partitions_with_one_replica_do_not_count(box: ControllerBox) -> None:
    running(box, [[1]])
    assert list(box.shut_down(1).result().remaining_partitions) == []
    assert box.written() == []


def test_it_is_shutting_down_until_its_registration_goes(box: ControllerBox) -> None:
    """Also when it does not stop after all: nobody elects it, and no new partition gets it as leader."""
    running(box, [[1, 2]])
    box.shut_down(1)
    box.create_topic("new", [[1, 2]])
    assert (box.state("new-0").leader, box.state("new-0").isr) == (2, (2,))
    box.remove_broker(2)
    assert box.state("t-0").leader == -1
    box.bounce_broker(1)
    box.create_topic("newer", [[1, 2]])
    assert box.state("newer-0").leader == 1


def test_it_goes_on_getting_metadata_as_long_as_it_is_registered(box: ControllerBox) -> None:
    running(box, [[1, 2]])
    box.shut_down(1)
    assert 1 in box.recipients("UpdateMetadata")
    assert list(box.entry("UpdateMetadata", "t-0", to=3).offline_replicas) == [1]


def test_two_that_shut_down_leave_the_third(box: ControllerBox) -> None:
    running(box, [[1, 2, 3]])
    box.shut_down(1)
    box.shut_down(2)
    assert (box.state("t-0").leader, box.state("t-0").isr) == (3, (3,))


def test_nothing_is_read(box: ControllerBox) -> None:
    running(box, [[1, 2, 3], [2, 1, 3], [3, 1]])
    box.shut_down(1)
    assert box.reads() == []


def test_an_older_life_of_the_broker_is_refused(box: ControllerBox) -> None:
    """KAFKA-7235. Without an epoch it is taken at its word."""
    running(box, [[1, 2]])
    assert box.shut_down(1, broker_epoch=box.broker_epoch(1) - 1).result().error_code == ErrorCode.STALE_BROKER_EPOCH
    assert box.written() == []
    assert box.shut_down(1, broker_epoch=-1).result().error_code == ErrorCode.NONE


def test_an_unknown_broker_is_refused(box: ControllerBox) -> None:
    running(box, [[1, 2]])
    assert box.shut_down(9).result().error_code == ErrorCode.BROKER_NOT_AVAILABLE


def test_who_is_no_controller_says_so(box: ControllerBox) -> None:
    running(box, [[1, 2]])
    box.depose()
    assert box.shut_down(1).result().error_code == ErrorCode.NOT_CONTROLLER


def test_a_newer_controller_fences_it_off(box: ControllerBox) -> None:
    running(box, [[1, 2]])
    box.hold(BEFORE_STATE_WRITE)
    task = box.shut_down(1)
    box.depose()
    box.release(BEFORE_STATE_WRITE)
    assert task.result().error_code == ErrorCode.NOT_CONTROLLER
    assert box.state("t-0").leader == 1
    assert not box.controller.active
