"""What an exception does to an event, a term and the node (controller.failures)."""

from __future__ import annotations

import logging

import pytest

from pytest_kcontroller.controller.batch import UnsentRequestsError
from pytest_kcontroller.controller.failures import consequence
from pytest_kcontroller.hookspecs import LeaderSelector
from pytest_kcontroller.model.election import ElectionReason
from pytest_kcontroller.seams import Mutant, counts, installed, original
from pytest_kcontroller.zookeeper.session import ConnectionLossError, Create, SessionExpiredError
from pytest_kcontroller.zookeeper.store import FencedError
from pytest_kcontroller.zookeeper.znodes import CONTROLLER_EPOCH, CorruptZnodeError
from tests.tools.controller_box import ControllerBox, partition


def test_the_first_row_that_fits_counts() -> None:
    assert not consequence(SessionExpiredError("gone")).recorded
    assert consequence(FencedError("past")).recheck and not consequence(FencedError("past")).recorded
    assert consequence(ConnectionLossError("lost")).recorded and not consequence(ConnectionLossError("lost")).traceback
    assert not consequence(CorruptZnodeError("/x", b"", "bad")).traceback
    assert consequence(KeyError("x")).traceback and consequence(KeyError("x")).ends_failover


def test_a_bug_ends_its_event_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    """The log has the traceback, the history the event, and the next event has its turn."""
    no_selectors: dict[ElectionReason, LeaderSelector] = {}
    with ControllerBox(brokers=(1, 2, 3), selectors=no_selectors) as box:
        box.start()
        box.create_topic("t", [[2, 1]])
        box.forget()
        with caplog.at_level(logging.ERROR):
            box.remove_broker(2)
        (failed,) = box.events("controller.event-failed")
        assert failed["event"] == "BrokerChange" and "KeyError" in failed["error"]
        assert "Traceback" in caplog.text and "KeyError" in caplog.text
        assert box.controller.active
        box.create_topic("u", [[1, 3]])
        assert box.state("u-0").leader == 1


def test_a_corrupt_znode_is_recorded_and_logged_without_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    with ControllerBox() as box:
        box.write(Create(CONTROLLER_EPOCH, b"many"))
        with caplog.at_level(logging.ERROR):
            box.start()
        (failed,) = box.events("controller.event-failed")
        assert failed["event"] == "RegisterBrokerAndReelect" and CONTROLLER_EPOCH in failed["error"]
        assert CONTROLLER_EPOCH in caplog.text and "Traceback" not in caplog.text
        assert not box.controller.active


def test_a_closed_fence_ends_the_term_once_controller_is_not_ours() -> None:
    with ControllerBox() as box:
        box.start()
        box.create_topic("t", [[2, 1]])
        box.forget()
        with box.paused():
            box.remove_broker(2)
            box.depose()
        assert box.events("controller.fenced")
        assert [event["epoch"] for event in box.events("controller.resigned")] == [1]
        assert not box.events("controller.event-failed")
        assert not box.controller.active


def fails_the_second_time(replicas: tuple[int, ...], broker: int, state: object) -> list[int]:
    """Takes the place of `controller.told-of-removal`; one partition's requests are prepared by then."""
    if counts()["controller.told-of-removal"] == 2:
        raise KeyError("a bug")
    recipients: list[int] = original("controller.told-of-removal")(replicas, broker, state)
    return recipients


BUG = Mutant("BUG", "...", "our own", (("controller.told-of-removal", fails_the_second_time),))


def test_a_term_ends_by_force_when_what_it_has_written_cannot_be_told(caplog: pytest.LogCaptureFixture) -> None:
    """KAFKA-2300: the ISR is written without 2, and nobody would ever be told. The next term tells."""
    with installed(BUG), ControllerBox(brokers=(1, 2, 3)) as box:
        box.create_topic("t", [[1, 2, 3]] * 3)
        box.start()
        box.forget()
        with caplog.at_level(logging.ERROR):
            box.remove_broker(2)
        (resigned,) = box.events("controller.resigned")
        assert resigned["reason"] == "requests to brokers were prepared and could not be sent"
        assert box.controller.active and box.controller.epoch == 2
        assert box.entry("UpdateMetadata", "t-0", to=3).isr == box.state("t-0").isr == (1, 3)


def test_what_was_left_is_not_sent_with_something_else() -> None:
    with ControllerBox() as box:
        box.create_topic("t", [[1, 2]])
        box.start()
        term = box.controller.term
        assert term is not None
        term.requests.batch()  # nothing is in it
        batch = term.requests.batch()
        batch.stop_replicas(1, [partition("t-0")], delete=False)
        with pytest.raises(UnsentRequestsError):
            box.act(term.requests.update_metadata([1]))
        box.act(term.requests.send(batch))
        box.act(term.requests.update_metadata([1]))
