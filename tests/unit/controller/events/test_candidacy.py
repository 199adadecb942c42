"""Startup, Reelect, ControllerChange, Expire: how a term begins and ends, and what becomes of events that wait meanwhile.

Sources: kafka.controller.KafkaController.elect, maybeResign, processExpire (3.9); KAFKA-6082, KAFKA-13407, KAFKA-2437.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_kcontroller.controller.channels import Answered
from pytest_kcontroller.model.cluster import Broker, LeaderAndIsr
from pytest_kcontroller.runtime.holds import BEFORE_STATE_WRITE, BEFORE_TOPIC_WRITE
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.zookeeper.session import Create, Delete, SetData
from pytest_kcontroller.zookeeper.znodes import CONTROLLER, CONTROLLER_EPOCH, decode_controller, encode_controller
from tests.tools.controller_box import NODE, ControllerBox
from tests.tools.recording_channels import RecordingChannels

STATE = LeaderAndIsr(leader=1, leader_epoch=5, isr=(1, 2), controller_epoch=1)


def epoch_in(box: ControllerBox) -> tuple[bytes | None, bytes | None]:
    return box.data(CONTROLLER), box.data(CONTROLLER_EPOCH)


# --- being elected


def test_the_first_controller_makes_the_epoch_and_raises_it_with_its_election(box: ControllerBox) -> None:
    """2.1+: created as 0, then 1 in the transaction that creates /controller."""
    box.start()
    controller, epoch = epoch_in(box)
    assert (decode_controller(controller or b""), epoch, box.controller.epoch) == (NODE, b"1", 1)
    made, election = box.txns()
    assert [(op.type, op.path, op.data) for op in made.ops] == [("create", CONTROLLER_EPOCH, b"0")]
    assert [(op.type, op.path) for op in election.ops] == [("create", CONTROLLER), ("set", CONTROLLER_EPOCH)]
    assert election.ops[0].ephemeral


def test_the_epoch_goes_on_from_what_is_there(box: ControllerBox) -> None:
    box.write(Create(CONTROLLER_EPOCH, b"41"))
    box.start()
    assert (box.data(CONTROLLER_EPOCH), box.controller.epoch) == (b"42", 42)
    assert box.events("controller.elected")[0]["epoch"] == 42


def test_while_another_one_is_the_controller_nothing_is_written_or_sent(box: ControllerBox) -> None:
    box.write(Create(CONTROLLER, encode_controller(2, 0), ephemeral=True))
    box.create_topic("t", [[1, 2]])
    box.start()
    assert (box.controller.active, box.controller.phase) == (False, "follower")
    box.remove_broker(1)
    assert box.written() == []
    assert box.sent() == []


def test_it_stands_again_when_the_other_one_goes(box: ControllerBox) -> None:
    box.write(Create(CONTROLLER, encode_controller(2, 0), ephemeral=True))
    box.start()
    box.write(Delete(CONTROLLER))
    assert (box.controller.active, box.controller.phase) == (True, "active")


def test_its_own_id_in_a_controller_of_another_session_is_not_its_own(box: ControllerBox) -> None:
    """KAFKA-13407: what an earlier life has left is waited for."""
    box.write(Create(CONTROLLER, encode_controller(NODE, 0), ephemeral=True))
    box.start()
    assert not box.controller.active


def test_it_stands_again_when_its_own_controller_goes_before_it_watches_it(box: ControllerBox) -> None:
    """The watch of its election has told of the creation, and the next one is set when that event is handled. Kafka resigns
    then, and nobody is elected: no event tells of the deletion."""
    box.create_topic("t", [[1, 2]])
    box.hold(BEFORE_STATE_WRITE)
    box.start()
    box.write(Delete(CONTROLLER))
    box.release(BEFORE_STATE_WRITE)
    assert (box.controller.phase, box.controller.epoch) == ("active", 2)
    (resigned,) = box.events("controller.resigned")
    assert resigned["reason"] == "/controller is not ours any more"


# --- failing over


def test_a_failover_that_is_fenced_in_its_own_controller_ends_and_there_is_a_new_election(box: ControllerBox) -> None:
    """Somebody has written the epoch by hand: /controller is still ours, and nothing can be written in this term."""
    box.create_topic("t", [[1, 2]])
    box.hold(BEFORE_STATE_WRITE)
    box.start()
    box.write(SetData(CONTROLLER_EPOCH, b"7"))
    box.release(BEFORE_STATE_WRITE)
    assert (box.controller.phase, box.controller.epoch) == ("active", 8)
    assert box.state("t-0").controller_epoch == 8
    (resigned,) = box.events("controller.resigned")
    assert resigned["reason"] == "its failover was fenced"


def test_a_failover_tells_who_is_live_first_then_every_live_replica_its_state(box: ControllerBox) -> None:
    """KAFKA-4443."""
    box.create_topic("t", [[1, 2], [2, 3]], states={0: STATE, 1: replace(STATE, leader=2, isr=(2, 3))})
    box.start()
    kinds = [(sent.kind, sent.broker, list(sent.entries)) for sent in box.sent()]
    assert kinds[:3] == [("UpdateMetadata", broker, []) for broker in (1, 2, 3)]
    assert kinds[3:6] == [
        ("LeaderAndIsr", 1, ["t-0"]),
        ("LeaderAndIsr", 2, ["t-0", "t-1"]),
        ("LeaderAndIsr", 3, ["t-1"]),
    ]
    assert kinds[6:9] == [("UpdateMetadata", broker, ["t-0", "t-1"]) for broker in (1, 2, 3)]
    assert box.states_written() == []
    assert not any(entry.is_new for sent in box.sent("LeaderAndIsr") for entry in sent.entries.values())


def test_who_died_while_nobody_was_the_controller_leaves_the_isr(box: ControllerBox) -> None:
    """KAFKA-3143: replicas come before partitions, so the leader epoch rises twice."""
    box.create_topic("t", [[9, 2, 3]], states={0: replace(STATE, leader=9, isr=(9, 2, 3))})
    box.start()
    gone = LeaderAndIsr(leader=-1, leader_epoch=6, isr=(2, 3), controller_epoch=1, partition_epoch=1)
    led = LeaderAndIsr(leader=2, leader_epoch=7, isr=(2, 3), controller_epoch=1, partition_epoch=2)
    assert box.states_written() == [("t-0", gone), ("t-0", led)]


def test_new_partitions_that_nobody_has_led_yet_get_a_leader(box: ControllerBox) -> None:
    box.create_topic("t", [[2, 1]])
    box.start()
    assert (box.state("t-0").leader, box.state("t-0").isr) == (2, (2, 1))


def test_a_state_of_a_newer_controller_is_left_alone(box: ControllerBox) -> None:
    newer = replace(STATE, controller_epoch=50, leader=9, isr=(9, 2))
    box.create_topic("t", [[9, 2]], states={0: newer})
    box.start()
    assert box.state("t-0") == newer
    assert box.states_written() == []


def test_what_no_request_takes_costs_only_itself(box: ControllerBox) -> None:
    """A topic id of two bytes, a number over 32 bits, half a character: no term would ever begin."""
    box.create_topic("t", [[9, 2]], states={0: replace(STATE, leader=9, isr=(9, 2))})
    box.create_topic("id", [[1, 2]], topic_id="xyz")
    box.create_topic("number", [[1, 2**31]])
    box.write(SetData("/brokers/ids/3", b'{"host":"h","port":1,"rack":"\\ud800"}'))
    box.start()
    assert (box.controller.phase, box.state("t-0").leader) == ("active", 2)
    named = [event["error"].split(":")[0] for event in box.events("controller.event-failed")]
    assert named == [f"znode /brokers/{path}" for path in ("ids/3", "topics/id", "topics/number")]


def test_a_corrupt_state_costs_only_its_partition(box: ControllerBox) -> None:
    box.create_topic("t", [[9, 2], [9, 2]], states={0: STATE, 1: replace(STATE, leader=9, isr=(9, 2))})
    box.write(SetData("/brokers/topics/t/partitions/0/state", b"{"))
    box.start()
    assert (box.controller.phase, box.state("t-1").leader) == ("active", 2)
    assert "/brokers/topics/t/partitions/0/state" in box.events("controller.event-failed")[0]["error"]
    assert box.data("/brokers/topics/t/partitions/0/state") == b"{"


# --- ending


@pytest.mark.parametrize("how", ["deposed", "deleted", "expired"])
def test_a_term_ends_with_its_controller_znode_and_nothing_of_it_is_left(box: ControllerBox, how: str) -> None:
    """KAFKA-5310, KAFKA-2437."""
    box.create_topic("t", [[1, 2]])
    box.start()
    term = box.terms[-1]
    if how == "deposed":
        box.depose()
    elif how == "deleted":
        box.write(Delete(CONTROLLER))
    else:
        box.expire_session()
    assert term.brokers == {}
    assert box.events("controller.resigned")[0]["epoch"] == 1
    assert box.controller.active == (how != "deposed")
    assert box.controller.epoch == (0 if how == "deposed" else 2)


def test_a_new_session_means_a_new_term_that_reads_everything_anew(box: ControllerBox) -> None:
    box.create_topic("t", [[1, 2]])
    box.start()
    box.forget()
    box.expire_session()
    assert "/brokers/topics/t/partitions/0/state" in box.reads()
    assert {sent.request.controller_epoch for sent in box.sent("LeaderAndIsr")} == {2}
    assert len(box.sessions) == 2


def test_events_that_wait_when_the_session_expires_are_preempted(box: ControllerBox) -> None:
    """Whoever waits for an answer gets one: NOT_CONTROLLER."""
    box.create_topic("t", [[1, 2]])
    box.start()
    box.hold(BEFORE_STATE_WRITE)
    running = box.alter_partition("t-0", [1])
    waiting = [box.alter_partition("t-0", [1]), box.shut_down(2)]
    assert not any(task.done() for task in (running, *waiting))
    box.expire_session()
    assert [task.result().error_code for task in waiting] == [ErrorCode.NOT_CONTROLLER] * 2
    assert not running.done()  # its turn had come: it is waited for
    box.release(BEFORE_STATE_WRITE)
    assert running.result().error_code == ErrorCode.NOT_CONTROLLER
    assert box.controller.epoch == 2


def test_events_of_watches_that_wait_are_forgotten_with_the_session(box: ControllerBox) -> None:
    box.create_topic("t", [[1, 2]])
    box.start()
    with box.paused():
        box.remove_broker(1)
        box.expire_session()
    assert box.state("t-0") == LeaderAndIsr(
        leader=2, leader_epoch=2, isr=(2,), controller_epoch=2, partition_epoch=2
    )  # as a new controller finds it


# --- fenced off


def test_a_controller_that_has_been_replaced_changes_nothing_any_more(box: ControllerBox) -> None:
    """KAFKA-6082: it learns so by its own write, before any watch."""
    box.create_topic("t", [[1, 2, 3]])
    box.start()
    box.hold(BEFORE_STATE_WRITE)
    box.remove_broker(1)
    box.forget()
    box.depose()
    box.release(BEFORE_STATE_WRITE)
    assert box.written() == []
    assert box.state("t-0").leader == 1
    assert box.events("controller.fenced")[0]["paths"] == ["/brokers/topics/t/partitions/0/state"]
    assert box.recipients("LeaderAndIsr") == {}
    assert not box.controller.active


def test_every_write_carries_the_check_of_the_epoch(box: ControllerBox) -> None:
    box.create_topic("t", [[1, 2], [2, 3]])
    box.start()
    box.create_topic("u", [[1, 2]], topic_id=None)
    box.alter_partition("t-0", [1])
    box.shut_down(2)
    box.remove_broker(2)
    written = [txn for txn in box.txns() if any(op.path and op.path.startswith("/brokers") for op in txn.ops)]
    assert len(written) > 5
    assert {(txn.ops[0].type, txn.ops[0].path) for txn in written if not txn.refused} == {("check", CONTROLLER_EPOCH)}


class Bug(Exception):
    """Nobody expects it."""


class BrokenChannels(RecordingChannels):
    """Cannot reach anybody."""

    def add(self, broker: Broker) -> None:
        raise Bug("no more sockets")


class BrokenBox(ControllerBox):
    def make_channels(self, answered: Answered) -> RecordingChannels:
        self.terms.append(BrokenChannels(answered, []))
        return self.terms[-1]


def test_a_failed_failover_gives_the_controller_back() -> None:
    """Somebody else may do better."""
    with BrokenBox(brokers=(1, 2)) as box:
        box.start()
        assert box.events("controller.resigned")[0]["reason"].startswith("its failover failed: Bug")
        assert box.data(CONTROLLER) is None
        assert not box.controller.active


def test_the_controller_of_another_one_is_not_deleted_by_a_failed_failover() -> None:
    with BrokenBox(brokers=(1, 2)) as box:
        box.create_topic("t", [[1, 2]], topic_id=None)
        box.hold(BEFORE_TOPIC_WRITE)
        box.start()
        box.depose(by=2)
        box.release(BEFORE_TOPIC_WRITE)
        assert decode_controller(box.data(CONTROLLER) or b"") == 2
        assert box.topic_id("t") is None
        assert not box.controller.active
