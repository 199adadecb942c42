"""The greatest epochs that there are: what comes after them is what comes in Kafka, and nobody ends because of it."""

from __future__ import annotations

from pytest_kcontroller.model.cluster import LeaderAndIsr
from pytest_kcontroller.zookeeper.session import SetData
from pytest_kcontroller.zookeeper.znodes import CONTROLLER_EPOCH, encode_controller_epoch
from tests.tools.controller_box import ControllerBox

MOST, LEAST = 2**31 - 1, -(2**31)


def test_the_leader_epoch_begins_again_at_the_least() -> None:
    state = LeaderAndIsr(
        leader=1, leader_epoch=MOST, isr=(1, 2), controller_epoch=0, partition_epoch=0, recovering=False
    )
    with ControllerBox(brokers=(1, 2)) as box:
        box.create_topic("t", [[1, 2]], states={0: state})
        box.start()
        box.remove_broker(1)
        assert (box.state("t-0").leader, box.state("t-0").leader_epoch) == (2, LEAST)
        assert box.entry("LeaderAndIsr", "t-0", to=2).leader_epoch == LEAST
        box.create_topic("u", [[2]])
        assert box.state("u-0").leader == 2


def test_the_controller_epoch_too() -> None:
    with ControllerBox(brokers=(1,)) as box:
        box.create_topic("t", [[1]])
        box.start()
        box.write(SetData(CONTROLLER_EPOCH, encode_controller_epoch(MOST)))
        box.expire_session()
        box.create_topic("u", [[1]])
        assert box.state("u-0").controller_epoch == LEAST
