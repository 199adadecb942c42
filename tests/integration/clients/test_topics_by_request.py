"""CreateTopics, DeleteTopics and CreatePartitions: what is refused, what is written, and when it is answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DeleteTopicState,
    MetadataRequest,
    MetadataRequestTopic,
)
from pytest_kcontroller.wire.topic_ids import topic_id_text
from pytest_kcontroller.zookeeper.session import Create, SetData
from tests.tools.client_world import ClientWorld, played


def topic(name: str, partitions: int = -1, replicas: int = -1, **more: Any) -> CreatableTopic:
    """`assignments`: partition -> brokers, or pairs of these; `configs`: name -> value."""
    assignments = more.get("assignments", {})
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=[
            CreatableReplicaAssignment(partition_index=number, broker_ids=tuple(brokers))
            for number, brokers in (assignments.items() if isinstance(assignments, dict) else assignments)
        ],
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in more.get("configs", {}).items()],
    )


async def create(world: ClientWorld, *topics: CreatableTopic, **more: Any) -> list[tuple[ErrorCode, str | None]]:
    answer = await world.ask(CreateTopicsRequest(topics=list(topics), **more))
    return [(ErrorCode(each.error_code), each.error_message) for each in answer.topics]


REFUSED = {
    "exists": (topic("there"), ErrorCode.TOPIC_ALREADY_EXISTS),
    "no name": (topic(""), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "two dots": (topic(".."), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "a way up": (topic("a/../b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "too long": (topic("x" * 250), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "a collision": (topic("with_dots"), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "no partitions": (topic("t", 0, 1), ErrorCode.INVALID_PARTITIONS),
    "fewer than none": (topic("t", -2, 1), ErrorCode.INVALID_PARTITIONS),
    "too many": (topic("t", 2**31 - 1, 1), ErrorCode.INVALID_PARTITIONS),
    "no replicas": (topic("t", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
    "more replicas than brokers": (topic("t", 1, 4), ErrorCode.INVALID_REPLICATION_FACTOR),
    "both": (topic("t", 1, 1, assignments={0: (0,)}), ErrorCode.INVALID_REQUEST),
    "differently many": (topic("t", assignments={0: (0,), 1: (1, 2)}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "a broker twice": (topic("t", assignments={0: (1, 1)}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "no broker": (topic("t", assignments={0: ()}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "a broker below 0": (topic("t", assignments={0: (-1,)}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "a gap": (topic("t", assignments={0: (0,), 2: (1,)}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "a partition twice": (topic("t", assignments=[(0, (0,)), (0, (1,))]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "an unknown config": (topic("t", 1, 1, configs={"no.such": "1"}), ErrorCode.INVALID_CONFIG),
    "a wrong config": (
        topic("t", 1, 1, configs={"unclean.leader.election.enable": "perhaps"}),
        ErrorCode.INVALID_CONFIG,
    ),
    "no value": (topic("t", 1, 1, configs={"unclean.leader.election.enable": None}), ErrorCode.INVALID_CONFIG),
}


def test_what_is_wrong_is_refused_and_nothing_written(tmp_path: Path) -> None:
    async def script(world: ClientWorld) -> None:
        await world.cluster.create_topic("there", partitions=1, replication_factor=3)
        await world.cluster.create_topic("with.dots", partitions=1, replication_factor=1)
        await world.converge()
        for case, (asked, error) in REFUSED.items():
            ((answered, message),) = await create(world, asked)
            assert (case, answered) == (case, error)
            assert message, case
        twice = await create(world, topic("t", 1, 1), topic("t", 2, 1), topic("good", 1, 1))
        assert [error for error, _ in twice] == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]
        assert await world.children("/brokers/topics") == ["good", "there", "with.dots"]
        assert await world.children("/config/topics") == ["good", "there", "with.dots"]
        other = await world.ask(CreateTopicsRequest(topics=[topic("u", 1, 1)]), node=await world.other())
        assert other.topics[0].error_code == ErrorCode.NOT_CONTROLLER

    played(tmp_path, script)


def test_a_topic_is_answered_when_it_is_led_and_known_where_it_was_asked_for(tmp_path: Path) -> None:
    async def script(world: ClientWorld) -> None:
        made = topic("made", 4, 3, configs={"unclean.leader.election.enable": "true"})
        tried = await world.ask(CreateTopicsRequest(topics=[made], validate_only=True))
        assert (tried.topics[0].error_code, tried.topics[0].num_partitions) == (ErrorCode.NONE, 4)
        assert not await world.exists("/brokers/topics/made")
        assert not await world.exists("/config/topics/made")
        answer = (await world.ask(CreateTopicsRequest(topics=[made]))).topics[0]
        assert (answer.error_code, answer.num_partitions, answer.replication_factor) == (0, 4, 3)
        assert [(each.name, each.value) for each in answer.configs or []] == [
            ("unclean.leader.election.enable", "true")
        ]
        known = await world.ask(MetadataRequest(topics=[MetadataRequestTopic(name="made", topic_id=bytes(16))]))
        assert [each.error_code for each in known.topics[0].partitions] == [0, 0, 0, 0]
        by_id = await world.ask(MetadataRequest(topics=[MetadataRequestTopic(name=None, topic_id=answer.topic_id)]))
        assert by_id.topics == known.topics
        znode = json.loads(await world.data("/brokers/topics/made") or b"")
        assert znode["topic_id"] == topic_id_text(answer.topic_id)
        assert {n: sorted(replicas) for n, replicas in znode["partitions"].items()} == {
            str(n): [0, 1, 2] for n in range(4)
        }
        config = json.loads(await world.data("/config/topics/made") or b"")
        assert config == {"version": 1, "config": {"unclean.leader.election.enable": "true"}}

    txns = played(tmp_path, script).zookeeper.txns
    paths = [op.path for _, txn in txns for op in txn.ops if op.type == "create" and "made" in (op.path or "")]
    assert paths[:2] == ["/config/topics/made", "/brokers/topics/made"], "the config first"


def test_who_does_not_wait_long_enough_hears_that_it_took_longer(tmp_path: Path) -> None:
    async def script(world: ClientWorld) -> None:
        assert await create(world, topic("at-once", 1, 1), timeout_ms=0) == [(ErrorCode.REQUEST_TIMED_OUT, None)]
        assert await world.exists("/brokers/topics/at-once")
        began = world.world.scheduler.now_us
        nobody = topic("nobody", assignments={0: (7,)})
        assert await create(world, nobody, timeout_ms=3000) == [(ErrorCode.REQUEST_TIMED_OUT, None)]
        assert 3_000_000 <= world.world.scheduler.now_us - began < 3_500_000
        await create(world, topic("later", assignments={0: (8, 1)}), timeout_ms=3000)

    played(tmp_path, script)


async def delete(world: ClientWorld, *asked: str | bytes, version: int | None = None, **more: Any) -> list[ErrorCode]:
    """By name, or by id."""
    states = [
        DeleteTopicState(name=each) if isinstance(each, str) else DeleteTopicState(topic_id=each) for each in asked
    ]
    names = [each for each in asked if isinstance(each, str)]
    node = more.pop("node", None)
    request = DeleteTopicsRequest(topics=states, topic_names=names, **({"timeout_ms": 5000} | more))
    answer = await world.ask(request, version=version, node=node)
    return [ErrorCode(each.error_code) for each in answer.responses]


def test_topics_are_deleted_by_name_and_by_id(tmp_path: Path) -> None:
    async def script(world: ClientWorld) -> None:
        made = [topic(name, 2, 3) for name in ("a", "b", "c")]
        answer = await world.ask(CreateTopicsRequest(topics=made))
        ids = {each.name: each.topic_id for each in answer.topics}
        assert await delete(world, "a", node=await world.other()) == [ErrorCode.NOT_CONTROLLER]
        assert await delete(world, "a", ids["b"]) == [ErrorCode.NONE, ErrorCode.NONE]
        assert [each.name for each in (await world.ask(MetadataRequest(topics=None))).topics] == ["c"]
        assert await delete(world, "c", version=1) == [ErrorCode.NONE]
        await world.converge()
        for path in ("/brokers/topics", "/config/topics", "/admin/delete_topics"):
            assert await world.children(path) == []
        errors = await delete(world, "a", "..", "a/b", ids["b"], bytes(16))
        unknown, no_id = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID
        assert errors == [unknown, unknown, unknown, no_id, no_id]
        again = (await world.ask(CreateTopicsRequest(topics=[made[0]]))).topics[0]
        assert (again.error_code, again.topic_id == ids["a"]) == (ErrorCode.NONE, False)
        both = DeleteTopicsRequest(topics=[DeleteTopicState(name="a", topic_id=again.topic_id)], timeout_ms=5000)
        assert (await world.ask(both)).responses[0].error_code == ErrorCode.INVALID_REQUEST

    played(tmp_path, script)


def test_a_deletion_that_is_not_waited_for_or_switched_off(tmp_path: Path) -> None:
    async def hurried(world: ClientWorld) -> None:
        assert [error for error, _ in await create(world, topic("t", 1, 3))] == [ErrorCode.NONE]
        assert await delete(world, "t", timeout_ms=0) == [ErrorCode.REQUEST_TIMED_OUT]
        await world.converge()
        assert not await world.exists("/brokers/topics/t"), "it was deleted all the same"

    async def forbidden(world: ClientWorld) -> None:
        await create(world, topic("t", 1, 3))
        assert await delete(world, "t") == [ErrorCode.TOPIC_DELETION_DISABLED]
        assert await delete(world, "t", version=2) == [ErrorCode.INVALID_REQUEST]
        assert not await world.exists("/admin/delete_topics/t")

    played(tmp_path, hurried)
    played(tmp_path, forbidden, config={"delete.topic.enable": False})


def more(name: str, count: int, *chosen: tuple[int, ...]) -> CreatePartitionsTopic:
    assignments = [CreatePartitionsAssignment(broker_ids=brokers) for brokers in chosen] or None
    return CreatePartitionsTopic(name=name, count=count, assignments=assignments)


MORE_REFUSED = {
    "unknown": (more("other", 3), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    "no name": (more("a/b", 3), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    "fewer": (more("t", 1), ErrorCode.INVALID_PARTITIONS),
    "as many": (more("t", 2), ErrorCode.INVALID_PARTITIONS),
    "too many": (more("t", 2**31 - 1), ErrorCode.INVALID_PARTITIONS),
    "unknown brokers": (more("t", 3, (0, 9)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "too few chosen": (more("t", 4, (0, 1)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "a broker twice": (more("t", 3, (1, 1)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "other replication factor": (more("t", 3, (0,)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
}


async def add(
    world: ClientWorld, asked: CreatePartitionsTopic, *, validate: bool = False, node: int | None = None
) -> ErrorCode:
    request = CreatePartitionsRequest(topics=[asked], timeout_ms=5000, validate_only=validate)
    return ErrorCode((await world.ask(request, node=node)).results[0].error_code)


def test_partitions_are_added(tmp_path: Path) -> None:
    async def script(world: ClientWorld) -> None:
        await world.cluster.create_topic("t", assignment={0: (0, 1), 1: (1, 2)})
        await world.converge()
        assert await add(world, more("t", 4), validate=True) == ErrorCode.NONE
        assert await add(world, more("t", 4), node=await world.other()) == ErrorCode.NOT_CONTROLLER
        before = await world.data("/brokers/topics/t")
        for case, (asked, error) in MORE_REFUSED.items():
            assert (case, await add(world, asked)) == (case, error)
        assert await world.data("/brokers/topics/t") == before
        assert await add(world, more("t", 4, (2, 0), (0, 1))) == ErrorCode.NONE
        znode = json.loads(await world.data("/brokers/topics/t") or b"")
        assert znode["partitions"] == {"0": [0, 1], "1": [1, 2], "2": [2, 0], "3": [0, 1]}
        assert await add(world, more("t", 6)) == ErrorCode.NONE
        await world.converge()
        assert len((await world.cluster.tree()).partitions) == 6

    played(tmp_path, script)


def test_a_topic_that_is_being_reassigned_or_deleted_gets_no_partitions(tmp_path: Path) -> None:
    async def script(world: ClientWorld) -> None:
        await world.cluster.create_topic("moving", assignment={0: (0, 1)})
        await world.cluster.create_topic("gone", assignment={0: (0, 1, 2)})
        await world.converge()
        controller = await world.controller()
        await world.cluster.kill((controller + 1) % 3)  # so that the deletion has to wait
        moving = b'{"version":2,"partitions":{"0":[0,1,2]},"adding_replicas":{"0":[2]},"removing_replicas":{}}'
        await world.cluster.admin.submit(SetData("/brokers/topics/moving", moving, -1))
        await world.cluster.admin.submit(Create("/admin/delete_topics/gone"))
        assert await add(world, more("moving", 3)) == ErrorCode.REASSIGNMENT_IN_PROGRESS
        assert await add(world, more("gone", 3)) == ErrorCode.INVALID_TOPIC_EXCEPTION

    played(tmp_path, script)
