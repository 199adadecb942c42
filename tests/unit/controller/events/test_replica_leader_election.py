"""ReplicaLeaderElection: by request, by znode, and what is left at a failover.

Source: kafka.controller.KafkaController.processReplicaLeaderElection (3.9).
"""

from __future__ import annotations

import pytest

from pytest_kcontroller.controller.events.replica_leader_election import (
    ElectLeaders,
    ElectLeadersAnswer,
    ReplicaLeaderElection,
)
from pytest_kcontroller.model.cluster import LeaderAndIsr
from pytest_kcontroller.model.election import ElectionType
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.zookeeper.config_znodes import TOPIC_CONFIGS, config_path, encode_config
from pytest_kcontroller.zookeeper.partition_lists import PREFERRED_ELECTION, encode_partitions
from pytest_kcontroller.zookeeper.session import Create, Delete, SetData
from pytest_kcontroller.zookeeper.znodes import delete_topic_path
from tests.tools.controller_box import ControllerBox, partition


def led_by_second(box: ControllerBox) -> None:
    """t-0 and t-1 are [1, 2], led by 2 and in sync; t-2 is led by its first replica."""
    second = LeaderAndIsr(leader=2, leader_epoch=5, isr=(2, 1), controller_epoch=0)
    first = LeaderAndIsr(leader=1, leader_epoch=5, isr=(1, 2), controller_epoch=0)
    box.create_topic("t", [[1, 2]] * 3, states={0: second, 1: second, 2: first})
    box.start()
    box.forget()


def ask(box: ControllerBox, kind: ElectionType, *names: str) -> ElectLeadersAnswer:
    """Without names: all partitions."""
    asked = ElectLeaders(type=kind, partitions=tuple(map(partition, names)) if names else None)
    answer: ElectLeadersAnswer = box.put(ReplicaLeaderElection, asked).result()
    return answer


def errors(answer: ElectLeadersAnswer) -> dict[str, str]:
    assert answer.error == ErrorCode.NONE
    return {str(tp): result.error.name for tp, result in answer.results.items()}


def test_the_first_replica_leads_again_and_the_isr_stays(box: ControllerBox) -> None:
    led_by_second(box)
    answer = ask(box, ElectionType.PREFERRED, "t-0")
    assert errors(answer) == {"t-0": "NONE"}
    assert answer.results[partition("t-0")].leader == 1
    assert box.states_written() == [
        ("t-0", LeaderAndIsr(leader=1, leader_epoch=6, isr=(2, 1), controller_epoch=1, partition_epoch=1))
    ]
    assert box.recipients("LeaderAndIsr") == {1: ["t-0"], 2: ["t-0"]}
    assert box.recipients("UpdateMetadata") == {1: ["t-0"], 2: ["t-0"], 3: ["t-0"]}


def test_each_partition_has_an_answer_of_its_own(box: ControllerBox) -> None:
    led_by_second(box)
    answer = ask(box, ElectionType.PREFERRED, "t-2", "t-1", "t-7", "u-0")
    assert errors(answer) == {
        "t-2": "ELECTION_NOT_NEEDED",
        "t-1": "NONE",
        "t-7": "UNKNOWN_TOPIC_OR_PARTITION",
        "u-0": "UNKNOWN_TOPIC_OR_PARTITION",
    }
    assert [name for name, _ in box.states_written()] == ["t-1"]


def test_what_is_being_deleted_gets_no_other_leader(box: ControllerBox) -> None:
    second = LeaderAndIsr(leader=2, leader_epoch=5, isr=(2, 1), controller_epoch=0)
    box.create_topic("t", [[1, 2, 9]], states={0: second})  # 9 is away, so that it stays
    box.start()
    box.write(Create(delete_topic_path("t")))
    box.forget()
    for kind in ElectionType:
        assert errors(ask(box, kind, "t-0")) == {"t-0": "INVALID_TOPIC_EXCEPTION"}
    assert box.written() == []


def test_all_partitions_can_be_meant(box: ControllerBox) -> None:
    led_by_second(box)
    assert errors(ask(box, ElectionType.PREFERRED)) == {"t-0": "NONE", "t-1": "NONE", "t-2": "ELECTION_NOT_NEEDED"}


def test_a_first_replica_that_is_not_in_sync_cannot_lead(box: ControllerBox) -> None:
    box.create_topic("t", [[1, 2]], states={0: LeaderAndIsr(leader=2, leader_epoch=5, isr=(2,), controller_epoch=0)})
    box.start()
    box.forget()
    assert errors(ask(box, ElectionType.PREFERRED, "t-0")) == {"t-0": "PREFERRED_LEADER_NOT_AVAILABLE"}
    assert box.written() == []


@pytest.mark.parametrize(
    ("isr", "expected", "leader"),
    [
        pytest.param((1,), "NONE", 2, id="nobody in sync lives: whoever lives"),
        pytest.param((1, 3), "ELECTION_NOT_NEEDED", 3, id="a leader that lives is as good as any"),
    ],
)
def test_unclean(box: ControllerBox, isr: tuple[int, ...], expected: str, leader: int) -> None:
    """Whatever the configuration says: unclean.leader.election.enable is off."""
    state = LeaderAndIsr(leader=1, leader_epoch=5, isr=isr, controller_epoch=0)
    box.create_topic("t", [[1, 2, 3]], states={0: state})
    box.remove_broker(1)
    box.start()
    assert errors(ask(box, ElectionType.UNCLEAN, "t-0")) == {"t-0": expected}
    assert box.state("t-0").leader == leader
    assert box.state("t-0").recovering == (expected == "NONE")


def test_unclean_without_anybody_alive(box: ControllerBox) -> None:
    box.create_topic("t", [[9]], states={0: LeaderAndIsr(leader=9, leader_epoch=5, isr=(9,), controller_epoch=0)})
    box.start()
    assert errors(ask(box, ElectionType.UNCLEAN, "t-0")) == {"t-0": "ELIGIBLE_LEADERS_NOT_AVAILABLE"}


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (ElectionType.PREFERRED, "PREFERRED_LEADER_NOT_AVAILABLE"),
        (ElectionType.UNCLEAN, "ELIGIBLE_LEADERS_NOT_AVAILABLE"),
    ],
)
def test_a_partition_that_never_had_a_leader_has_none_to_elect(
    box: ControllerBox, kind: ElectionType, error: str
) -> None:
    box.create_topic("t", [[9]])
    box.start()
    box.forget()
    answer = ask(box, kind, "t-0")
    assert errors(answer) == {"t-0": error}
    assert answer.results[partition("t-0")].message == "t-0: no replica may lead it"
    assert box.written() == box.events("controller.event-failed") == []


def test_a_partition_without_replicas_costs_only_itself(box: ControllerBox) -> None:
    """Its election failed with an exception, and with it each new controller's failover, since the znode stayed."""
    box.create_topic("t", [[]])
    second = LeaderAndIsr(leader=2, leader_epoch=5, isr=(2, 1), controller_epoch=0)
    box.create_topic("u", [[1, 2]], states={0: second})
    request_znode(box, "t-0", "u-0")
    box.start()
    assert box.controller.active
    assert box.state("u-0").leader == 1
    assert box.data(PREFERRED_ELECTION) is None
    assert errors(ask(box, ElectionType.PREFERRED, "t-0")) == {"t-0": "PREFERRED_LEADER_NOT_AVAILABLE"}


def test_who_is_not_the_controller_says_so(box: ControllerBox) -> None:
    led_by_second(box)
    box.depose()
    assert ask(box, ElectionType.PREFERRED, "t-0").error == ErrorCode.NOT_CONTROLLER


def request_znode(box: ControllerBox, *names: str) -> None:
    box.write(Create(PREFERRED_ELECTION, encode_partitions(map(partition, names))))


def test_the_znode_of_a_tool_goes_when_its_elections_have_ended(box: ControllerBox) -> None:
    led_by_second(box)
    request_znode(box, "t-0", "t-2", "t-9")
    assert [name for name, _ in box.states_written()] == ["t-0"]
    assert box.data(PREFERRED_ELECTION) is None
    box.forget()
    request_znode(box, "t-1")  # the next one is seen too
    assert [name for name, _ in box.states_written()] == ["t-1"]
    assert box.data(PREFERRED_ELECTION) is None


def test_the_znode_goes_whatever_came_of_it(box: ControllerBox) -> None:
    """Kafka 3.9 leaves one that names a partition without a leader, and each new controller stumbles over it."""
    box.create_topic("t", [[9]])
    box.start()
    request_znode(box, "t-0")
    assert box.data(PREFERRED_ELECTION) is None
    assert box.events("controller.event-failed") == []


def test_a_request_that_waits_is_answered_at_failover(box: ControllerBox) -> None:
    second = LeaderAndIsr(leader=2, leader_epoch=5, isr=(2, 1), controller_epoch=0)
    box.create_topic("t", [[1, 2]], states={0: second})
    box.create_topic("u", [[9]])
    request_znode(box, "t-0", "u-0")
    box.start()
    assert box.controller.active
    assert box.state("t-0").leader == 1
    assert box.data(PREFERRED_ELECTION) is None


def test_its_deletion_is_fenced(box: ControllerBox) -> None:
    """One that has been deposed, and does not know it yet, leaves the request to its successor."""
    led_by_second(box)
    with box.paused():
        request_znode(box, "t-2")
        box.depose()
    assert box.data(PREFERRED_ELECTION) is not None
    assert not box.controller.active


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"partitions":[{"topic":1,"partition":0}]}', b'{"partitions":7}'])
def test_what_cannot_be_understood_is_named_and_left_alone(box: ControllerBox, data: bytes) -> None:
    led_by_second(box)
    box.write(Create(PREFERRED_ELECTION, data))
    (failed,) = box.events("controller.event-failed")
    assert PREFERRED_ELECTION in failed["error"]
    assert box.data(PREFERRED_ELECTION) == data
    box.write(Delete(PREFERRED_ELECTION))
    request_znode(box, "t-0")
    assert box.state("t-0").leader == 1


@pytest.mark.parametrize(
    ("broker", "topic", "leader"),
    [
        pytest.param(False, None, -1, id="off"),
        pytest.param(True, None, 2, id="on for all"),
        pytest.param(False, "true", 2, id="on for the topic"),
        pytest.param(True, " False ", -1, id="off for the topic"),
        pytest.param(True, "perhaps", 1, id="a value that is none: no election at all, and no other state either"),
    ],
)
def test_the_configuration_of_the_topic_is_read_when_it_is_needed(broker: bool, topic: str | None, leader: int) -> None:
    with ControllerBox(brokers=(1, 2, 3), config={"unclean.leader.election.enable": broker}) as box:
        state = LeaderAndIsr(leader=1, leader_epoch=5, isr=(1,), controller_epoch=0)
        box.create_topic("t", [[1, 2]], states={0: state})
        box.create_topic("u", [[3, 2]])
        box.start()
        if topic is not None:
            values = {"unclean.leader.election.enable": topic}
            box.write(Create(config_path(TOPIC_CONFIGS, "t"), encode_config(values)))
        box.forget()
        box.remove_broker(1)
        assert [path for path in box.reads() if path.startswith("/config")] == ["/config/topics/t"]
        assert box.state("t-0").leader == (-1 if leader == 1 else leader)
        if leader == 1:
            (failed,) = box.events("controller.event-failed")
            assert "/config/topics/t" in failed["error"]
            assert "enable is 'perhaps', which is not true or false" in failed["error"]


def test_a_configuration_that_is_corrupt_costs_only_its_topic(box: ControllerBox) -> None:
    state = LeaderAndIsr(leader=1, leader_epoch=5, isr=(1,), controller_epoch=0)
    box.create_topic("t", [[1, 2]], states={0: state})
    box.create_topic("u", [[1, 2]], states={0: state})
    box.write(Create(config_path(TOPIC_CONFIGS, "t"), b"{"))
    on = encode_config({"unclean.leader.election.enable": "true"})
    box.write(Create(config_path(TOPIC_CONFIGS, "u"), b""), SetData(config_path(TOPIC_CONFIGS, "u"), on))
    box.start()
    box.remove_broker(1)
    assert (box.state("t-0").leader, box.state("u-0").leader) == (-1, 2)
