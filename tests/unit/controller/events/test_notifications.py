"""IsrChangeNotification and LogDirEventNotification: what brokers tell the controller through znodes.

Source: kafka.controller.KafkaController.processIsrChangeNotification, processLogDirEventNotification (3.9).
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_kcontroller.model.cluster import LeaderAndIsr
from pytest_kcontroller.zookeeper.partition_lists import encode_partitions
from pytest_kcontroller.zookeeper.session import Create
from pytest_kcontroller.zookeeper.znodes import (
    ISR_CHANGE_NOTIFICATION,
    LOG_DIR_EVENT_NOTIFICATION,
    encode_log_dir_event,
)
from tests.tools.controller_box import ControllerBox, partition

ISR, LOG_DIR = f"{ISR_CHANGE_NOTIFICATION}/isr_change_", f"{LOG_DIR_EVENT_NOTIFICATION}/log_dir_event_"


def tell_isr(box: ControllerBox, number: int, *names: str, data: bytes | None = None) -> None:
    content = encode_partitions(map(partition, names)) if data is None else data
    box.write(Create(f"{ISR}{number:010d}", content))


def started(box: ControllerBox) -> None:
    box.create_topic("t", [[1, 2, 3], [2, 3]])
    box.start()
    box.forget()


def test_what_a_leader_has_written_is_read_and_told_to_all(box: ControllerBox) -> None:
    started(box)
    with box.paused():
        box.set_state("t-0", replace(box.state("t-0"), isr=(1, 3)))
        tell_isr(box, 0, "t-0", "gone-7")
    assert box.recipients("UpdateMetadata") == {1: ["t-0"], 2: ["t-0"], 3: ["t-0"]}
    entry = box.entry("UpdateMetadata", "t-0", to=2)
    assert (entry.isr, entry.zk_version) == ((1, 3), 1)
    assert box.sent("LeaderAndIsr") == []
    assert box.children(ISR_CHANGE_NOTIFICATION) == []


def test_several_are_read_at_once_and_the_next_one_is_seen(box: ControllerBox) -> None:
    started(box)
    with box.paused():
        tell_isr(box, 0, "t-0")
        tell_isr(box, 1, "t-1", "t-0")
    assert [sent.broker for sent in box.sent("UpdateMetadata")] == [1, 2, 3]
    assert list(box.sent("UpdateMetadata")[0].entries) == ["t-0", "t-1"]
    box.forget()
    tell_isr(box, 2, "t-1")
    assert box.recipients("UpdateMetadata")[1] == ["t-1"]
    assert box.children(ISR_CHANGE_NOTIFICATION) == []


def test_one_that_cannot_be_understood_is_named_and_goes_with_the_others(box: ControllerBox) -> None:
    started(box)
    with box.paused():
        tell_isr(box, 0, data=b"{")
        tell_isr(box, 1, "t-1")
    (failed,) = box.events("controller.event-failed")
    assert f"{ISR}0000000000" in failed["error"]
    assert box.recipients("UpdateMetadata")[1] == ["t-1"]
    assert box.children(ISR_CHANGE_NOTIFICATION) == []


def test_at_failover_they_are_deleted_unread(box: ControllerBox) -> None:
    box.create_topic("t", [[1, 2]], states={0: LeaderAndIsr(leader=1, leader_epoch=3, isr=(1,), controller_epoch=0)})
    tell_isr(box, 7, "t-0")
    box.write(Create(f"{LOG_DIR}0000000001", encode_log_dir_event(1)))
    box.start()
    assert (box.children(ISR_CHANGE_NOTIFICATION), box.children(LOG_DIR_EVENT_NOTIFICATION)) == ([], [])
    paths = [path for path in box.reads() if "notification" in path]
    assert paths == [LOG_DIR_EVENT_NOTIFICATION, ISR_CHANGE_NOTIFICATION] * 2  # once more, since they are watched
    box.forget()
    tell_isr(box, 8, "t-0")
    assert box.recipients("UpdateMetadata")[1] == ["t-0"]


def test_who_was_deposed_deletes_none(box: ControllerBox) -> None:
    started(box)
    with box.paused():
        tell_isr(box, 0, "t-0")
        box.depose()
    assert box.children(ISR_CHANGE_NOTIFICATION) == ["isr_change_0000000000"]
    assert not box.controller.active


@pytest.mark.parametrize("data", [None, b'{"broker":"x"}'])
def test_a_broker_whose_disk_failed_is_asked_for_all_its_replicas(box: ControllerBox, data: bytes | None) -> None:
    started(box)
    with box.paused():
        if data is not None:
            box.write(Create(f"{LOG_DIR}0000000000", data))
        box.write(Create(f"{LOG_DIR}0000000001", encode_log_dir_event(2)))
    assert box.recipients("LeaderAndIsr") == {2: ["t-0", "t-1"]}
    assert not box.entry("LeaderAndIsr", "t-0", to=2).is_new
    assert box.children(LOG_DIR_EVENT_NOTIFICATION) == []
    assert box.written() and all(op.type == "delete" for op in box.written())
    assert len(box.events("controller.event-failed")) == (data is not None)
