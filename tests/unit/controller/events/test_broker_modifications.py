"""BrokerModifications: a broker listens elsewhere, in the same registration."""

from __future__ import annotations

import pytest

from pytest_kcontroller.zookeeper.session import SetData
from tests.tools.controller_box import ControllerBox


def test_everybody_hears_of_the_new_address_and_only_that_broker_is_read(box: ControllerBox) -> None:
    box.create_topic("t", [[1, 2]])
    box.start()
    box.forget()
    box.move_broker(2, 9999)
    assert box.reads() == ["/brokers/ids/2"]
    assert box.recipients("UpdateMetadata") == {1: [], 2: [], 3: []}
    live = {broker.id: broker.endpoints[0].port for broker in box.sent("UpdateMetadata")[0].request.live_brokers}
    assert live == {1: 9001, 2: 9999, 3: 9003}
    assert box.terms[-1].brokers[2].address.port == 9999
    assert box.terms[-1].added == [1, 2, 3], "what waits for it is not dropped"
    assert box.written() == []


@pytest.mark.parametrize("rack", [None, "r2"])
def test_the_same_address_again_is_nothing_new(box: ControllerBox, rack: str | None) -> None:
    """As in Kafka, which compares what it is reached at, and not its rack."""
    box.start()
    box.forget()
    box.move_broker(2, 9002, rack=rack)
    assert box.sent() == []
    assert box.terms[-1].added == [1, 2, 3]


def test_it_is_still_watched_afterwards(box: ControllerBox) -> None:
    box.start()
    box.move_broker(2, 9998)
    box.forget()
    box.move_broker(2, 9999)
    assert box.terms[-1].brokers[2].address.port == 9999


def test_a_broker_whose_registration_can_be_read_at_last_is_a_new_one(box: ControllerBox) -> None:
    box.create_topic("t", [[3]])
    good = box.data("/brokers/ids/3")
    assert good is not None
    box.write(SetData("/brokers/ids/3", b"{"))
    box.start()
    assert 3 not in box.terms[-1].brokers
    box.write(SetData("/brokers/ids/3", good))
    assert box.terms[-1].brokers[3].epoch == box.broker_epoch(3)
    assert box.state("t-0").leader == 3
