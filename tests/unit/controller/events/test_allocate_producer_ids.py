"""AllocateProducerIds: blocks of ids for Kafka's own brokers. Source: kafka.coordinator.transaction.ZkProducerIdManager."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import AllocateProducerIdsRequest
from pytest_kcontroller.zookeeper.session import SetData
from tests.tools.controller_box import ControllerBox

PATH = "/latest_producer_id_block"


@pytest.fixture
def box(box: ControllerBox) -> ControllerBox:
    box.start()
    box.forget()
    return box


def ask(box: ControllerBox, broker: int, *, epoch: int | None = None) -> tuple[ErrorCode, int, int]:
    broker_epoch = box.broker_epoch(broker) if epoch is None else epoch
    answer: Any = box.ask(AllocateProducerIdsRequest(broker_id=broker, broker_epoch=broker_epoch)).result()
    return ErrorCode(answer.error_code), answer.producer_id_start, answer.producer_id_len


def test_each_block_follows_the_one_before(box: ControllerBox) -> None:
    assert ask(box, 1) == (ErrorCode.NONE, 0, 1000)
    assert ask(box, 2) == (ErrorCode.NONE, 1000, 1000)
    assert json.loads(box.data(PATH) or b"") == {
        "version": 1,
        "broker": 2,
        "block_start": "1000",
        "block_end": "1999",
    }


def test_what_another_has_been_given_meanwhile_is_not_given_again(box: ControllerBox) -> None:
    box.write(SetData(PATH, b'{"version":1,"broker":7,"block_start":"5000","block_end":"5999"}'))
    assert ask(box, 1) == (ErrorCode.NONE, 6000, 1000)


def test_who_is_not_registered_as_it_says_gets_none(box: ControllerBox) -> None:
    assert ask(box, 9, epoch=1)[0] == ErrorCode.BROKER_ID_NOT_REGISTERED
    assert ask(box, 1, epoch=box.broker_epoch(1) + 1)[0] == ErrorCode.STALE_BROKER_EPOCH
    assert box.data(PATH) == b""


@pytest.mark.parametrize(
    "data", [b"{", b"[]", b'{"block_end":"x"}', b'{"block_end":"-7"}', b'{"block_end":"%d"}' % 2**63]
)
def test_a_block_that_cannot_be_understood_is_left_alone(box: ControllerBox, data: bytes) -> None:
    box.write(SetData(PATH, data))
    assert ask(box, 1)[0] == ErrorCode.UNKNOWN_SERVER_ERROR
    assert box.data(PATH) == data
    assert box.events("controller.event-failed")


def test_a_controller_that_is_fenced_gives_none(box: ControllerBox) -> None:
    box.write(SetData("/controller_epoch", b"7"))
    assert ask(box, 1)[0] == ErrorCode.NOT_CONTROLLER
    assert box.data(PATH) == b""
