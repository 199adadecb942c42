"""ConfigChange: unclean election is switched on and off while the controller runs, for a topic and for all.

Sources: kafka.server.TopicConfigHandler, kafka.server.DynamicLogConfig, kafka.controller.KafkaController (3.9), KIP-21.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_kcontroller.model.cluster import LeaderAndIsr
from pytest_kcontroller.zookeeper.config_znodes import (
    BROKER_CONFIGS,
    CONFIG_CHANGES,
    DEFAULT,
    TOPIC_CONFIGS,
    config_path,
    encode_config,
    encode_config_change,
)
from pytest_kcontroller.zookeeper.session import Create, SetData
from tests.tools.controller_box import NODE, ControllerBox

UNCLEAN = "unclean.leader.election.enable"


class Admin:
    """Configures as Kafka's tools do."""

    def __init__(self, box: ControllerBox) -> None:
        self._box, self._changes = box, 0

    def set(self, kind: str, name: str, value: str, *, notification: bytes | None = None) -> None:
        path, data = config_path(kind, name), encode_config({UNCLEAN: value})
        self._box.write(Create(path, data) if self._box.data(path) is None else SetData(path, data))
        self.notify(notification or encode_config_change(kind, name))

    def notify(self, data: bytes) -> None:
        self._box.write(Create(f"{CONFIG_CHANGES}/config_change_{self._changes:010d}", data))
        self._changes += 1


@pytest.fixture
def box() -> Iterator[ControllerBox]:
    """t-0 and u-0 are offline: 1, the only one in sync, is down, and 2 lives."""
    with ControllerBox(brokers=(2, 3)) as box:
        state = LeaderAndIsr(leader=1, leader_epoch=5, isr=(1,), controller_epoch=0)
        for topic in ("t", "u"):
            box.create_topic(topic, [[1, 2]], states={0: state})
        yield box


@pytest.fixture
def admin(box: ControllerBox) -> Admin:
    return Admin(box)


def leaders(box: ControllerBox) -> dict[str, int]:
    return {topic: box.state(f"{topic}-0").leader for topic in ("t", "u")}


@pytest.mark.parametrize("notification", [None, b'{"version":1,"entity_type":"topics","entity_name":"t"}'])
def test_a_topic_that_allows_it_gets_a_leader_at_once(
    box: ControllerBox, admin: Admin, notification: bytes | None
) -> None:
    """Its notification may be of version 2, as since Kafka 0.10.1, or 1."""
    box.start()
    box.forget()
    admin.set(TOPIC_CONFIGS, "t", "true", notification=notification)
    assert leaders(box) == {"t": 2, "u": -1}
    assert box.state("t-0").recovering
    assert [name for name, _ in box.states_written()] == ["t-0"]


def test_a_topic_that_does_not_is_left_alone(box: ControllerBox, admin: Admin) -> None:
    box.start()
    box.forget()
    admin.set(TOPIC_CONFIGS, "t", "false")
    admin.notify(encode_config_change(TOPIC_CONFIGS, "nowhere"))
    admin.notify(encode_config_change("clients", "t"))
    assert box.written() == []


@pytest.mark.parametrize("name", [DEFAULT, str(NODE)])
def test_all_topics_that_say_nothing_else(box: ControllerBox, admin: Admin, name: str) -> None:
    box.start()
    admin.set(TOPIC_CONFIGS, "u", "false")
    admin.set(BROKER_CONFIGS, name, "true")
    assert leaders(box) == {"t": 2, "u": -1}


def test_what_is_said_of_another_broker_counts_there(box: ControllerBox, admin: Admin) -> None:
    box.start()
    box.forget()
    admin.set(BROKER_CONFIGS, "2", "true")
    assert box.written() == []


def test_the_broker_s_own_word_is_above_that_of_all(box: ControllerBox, admin: Admin) -> None:
    box.start()
    admin.set(BROKER_CONFIGS, str(NODE), "false")
    admin.set(BROKER_CONFIGS, DEFAULT, "true")
    assert leaders(box) == {"t": -1, "u": -1}


def test_it_can_be_switched_off_again(box: ControllerBox, admin: Admin) -> None:
    admin.set(BROKER_CONFIGS, DEFAULT, "true")
    box.start()
    assert leaders(box) == {"t": 2, "u": 2}  # what was configured before counts from the beginning
    admin.set(BROKER_CONFIGS, DEFAULT, "false")
    box.remove_broker(2)
    box.register_broker(1)  # not in sync any more
    assert leaders(box) == {"t": -1, "u": -1}


def test_each_notification_is_read_once(box: ControllerBox, admin: Admin) -> None:
    admin.set(TOPIC_CONFIGS, "t", "false")
    box.start()
    box.forget()
    admin.set(TOPIC_CONFIGS, "u", "false")
    assert [path for path in box.reads() if path.startswith("/config/topics")] == ["/config/topics/u"]


def test_old_notifications_are_deleted(box: ControllerBox, admin: Admin) -> None:
    box.start()
    admin.set(TOPIC_CONFIGS, "t", "false")
    box.pass_time(15 * 60 + 1)
    box.forget()
    admin.set(TOPIC_CONFIGS, "t", "true")
    assert box.children(CONFIG_CHANGES) == ["config_change_0000000001"]
    assert leaders(box) == {"t": 2, "u": -1}


@pytest.mark.parametrize("data", [b"{", b'{"version":3}', b'{"version":2,"entity_path":"topics"}', b"7"])
def test_what_cannot_be_understood_hides_nothing_else(box: ControllerBox, admin: Admin, data: bytes) -> None:
    box.start()
    with box.paused():
        admin.notify(data)
        admin.set(TOPIC_CONFIGS, "t", "true")
    assert leaders(box) == {"t": 2, "u": -1}
    (failed,) = box.events("controller.event-failed")
    assert f"{CONFIG_CHANGES}/config_change_0000000000" in failed["error"]
