"""What an exception does to an event, a term and the node (controller.failures)."""

from __future__ import annotations

import logging

import pytest

from pytest_kcontroller.controller.failures import consequence
from pytest_kcontroller.hookspecs import LeaderSelector
from pytest_kcontroller.model.election import ElectionReason
from pytest_kcontroller.zookeeper.session import ConnectionLossError, Create, SessionExpiredError
from pytest_kcontroller.zookeeper.store import FencedError
from pytest_kcontroller.zookeeper.znodes import CONTROLLER_EPOCH, CorruptZnodeError
from tests.tools.controller_box import ControllerBox


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
