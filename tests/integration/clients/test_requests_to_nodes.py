"""What else clients ask: metadata, configs, elections, reassignments; and requests with garbage in every field."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_kcontroller.runtime.ports import ConnectionClosedError
from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.generate.schema import SCHEMAS
from pytest_kcontroller.wire.messages import (
    APIS,
    AlterableConfig,
    AlterConfigsResource,
    AlterPartitionReassignmentsRequest,
    ApiKey,
    ApiVersionsRequest,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    ElectLeadersRequest,
    ElectLeadersTopic,
    IncrementalAlterConfigsRequest,
    ListPartitionReassignmentsRequest,
    MetadataRequest,
    MetadataRequestTopic,
    ReassignablePartition,
    ReassignableTopic,
)
from tests.tools.client_world import ClientWorld, played
from tests.tools.wire_messages import random_message, whole

UNCLEAN = "unclean.leader.election.enable"
TOPIC, BROKER = 2, 4
OF_BROKERS = (ApiKey.LEADER_AND_ISR, ApiKey.UPDATE_METADATA, ApiKey.STOP_REPLICA, ApiKey.CONTROLLED_SHUTDOWN)
"""What is done without a question if it comes from the right one, who is known by a number alone."""


def test_metadata_say_what_a_broker_was_told(tmp_path: Path) -> None:
    async def script(world: ClientWorld) -> None:
        await world.cluster.create_topic("t", assignment={0: (2, 1), 1: (1, 2)})
        await world.converge()
        everything = await world.ask(MetadataRequest(topics=None))
        assert [broker.node_id for broker in everything.brokers] == [0, 1, 2]
        assert everything.controller_id == await world.controller()
        assert everything.cluster_id == json.loads(await world.data("/cluster/id") or b"")["id"]
        (topic,) = everything.topics
        assert [(p.leader_id, p.replica_nodes, p.isr_nodes) for p in topic.partitions] == [
            (2, (2, 1), (2, 1)),
            (1, (1, 2), (1, 2)),
        ]
        assert (await world.ask(MetadataRequest(topics=[]), version=1)).topics == []
        assert [each.name for each in (await world.ask(MetadataRequest(topics=[]), version=0)).topics] == ["t"]
        asked = [("no-such", bytes(16)), ("a/b", bytes(16)), (None, b"x" * 16), (None, bytes(16))]
        answer = await world.ask(
            MetadataRequest(topics=[MetadataRequestTopic(name=name, topic_id=topic_id) for name, topic_id in asked])
        )
        assert [each.error_code for each in answer.topics] == [
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            ErrorCode.UNKNOWN_TOPIC_ID,
            ErrorCode.INVALID_TOPIC_EXCEPTION,
        ]
        assert not await world.exists("/brokers/topics/no-such"), "nobody asked that it be made"
        for version in range(1, APIS[ApiKey.METADATA].max_version + 1):
            told = await world.ask(MetadataRequest(topics=None), version=version)
            assert [len(each.partitions) for each in told.topics] == [2]

    played(tmp_path, script)


def test_a_partition_without_a_leader_says_so(tmp_path: Path) -> None:
    async def script(world: ClientWorld) -> None:
        await world.cluster.create_topic("t", assignment={0: (0,), 1: (1,), 2: (2,)})
        await world.cluster.create_topic("both", assignment={0: (0, 1, 2)})
        await world.converge()
        dead = await world.other()
        await world.cluster.kill(dead)
        await world.converge()
        topics = {each.name: each for each in (await world.ask(MetadataRequest(topics=None))).topics}
        assert [(p.error_code, p.leader_id) for p in topics["t"].partitions] == [
            (ErrorCode.LEADER_NOT_AVAILABLE, -1) if n == dead else (0, n) for n in range(3)
        ]
        (oldest,) = (
            each for each in (await world.ask(MetadataRequest(topics=[]), version=0)).topics if each.name == "both"
        )
        assert oldest.partitions[0].error_code == ErrorCode.REPLICA_NOT_AVAILABLE
        assert dead not in oldest.partitions[0].replica_nodes
        cluster = await world.ask(DescribeClusterRequest(include_cluster_authorized_operations=False))
        assert [broker.broker_id for broker in cluster.brokers] == [n for n in range(3) if n != dead]
        no_brokers = await world.ask(
            DescribeClusterRequest(include_cluster_authorized_operations=False, endpoint_type=2)
        )
        assert no_brokers.error_code == ErrorCode.UNSUPPORTED_ENDPOINT_TYPE

    played(tmp_path, script)


async def alter(
    world: ClientWorld, kind: int, name: str, *operations: tuple[str, int, str | None], **more: Any
) -> ErrorCode:
    configs = [AlterableConfig(name=key, config_operation=what, value=value) for key, what, value in operations]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=more.get("validate_only", False))
    return ErrorCode((await world.ask(request, node=more.get("node"))).responses[0].error_code)


async def describe(world: ClientWorld, kind: int, name: str, *, node: int = 0) -> Any:
    asked = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
    request = DescribeConfigsRequest(resources=[asked], include_synonyms=True, include_documentation=True)
    return (await world.ask(request, node=node)).results[0]


def values(result: Any) -> dict[str, tuple[str, int]]:
    assert result.error_code == 0, result.error_message
    return {each.name: (each.value, each.config_source) for each in result.configs}


def test_configs_are_changed_and_said_with_their_source(tmp_path: Path) -> None:
    async def script(world: ClientWorld) -> None:
        await world.cluster.create_topic("t", partitions=1, replication_factor=3)
        await world.converge()
        assert values(await describe(world, TOPIC, "t")) == {UNCLEAN: ("false", 5)}
        assert await alter(world, TOPIC, "t", (UNCLEAN, 0, "true"), validate_only=True) == ErrorCode.NONE
        assert values(await describe(world, TOPIC, "t")) == {UNCLEAN: ("false", 5)}
        assert await alter(world, BROKER, "", (UNCLEAN, 0, "true")) == ErrorCode.NONE
        assert values(await describe(world, TOPIC, "t")) == {UNCLEAN: ("true", 3)}
        assert await alter(world, BROKER, "0", (UNCLEAN, 0, "false"), node=0) == ErrorCode.NONE
        assert await alter(world, TOPIC, "t", (UNCLEAN, 0, "true"), node=1) == ErrorCode.NONE
        (only,) = (await describe(world, TOPIC, "t")).configs
        assert [(s.value, s.source) for s in only.synonyms] == [("true", 1), ("false", 2), ("true", 3), ("false", 5)]
        assert only.documentation and (only.read_only, only.config_type) == (False, 1)
        changes = await world.children("/config/changes")
        told = [json.loads(await world.data(f"/config/changes/{name}") or b"") for name in sorted(changes)]
        assert [each["entity_path"] for each in told] == ["brokers/<default>", "brokers/0", "topics/t"]
        assert await alter(world, TOPIC, "t", (UNCLEAN, 1, None), ("retention.ms", 1, None)) == ErrorCode.NONE
        assert values(await describe(world, TOPIC, "t")) == {UNCLEAN: ("false", 2)}
        broker = values(await describe(world, BROKER, "0"))
        assert broker["num.partitions"] == ("2", 4)
        assert values(await describe(world, BROKER, "")) == {UNCLEAN: ("true", 3)}

    played(tmp_path, script, config={"num.partitions": 2})


def test_configs_that_are_wrong_are_refused(tmp_path: Path) -> None:
    async def script(world: ClientWorld) -> None:
        await world.cluster.create_topic("t", partitions=1, replication_factor=3)
        await world.converge()
        for asked, error in (
            ((TOPIC, "u", (UNCLEAN, 0, "true")), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            ((TOPIC, "a/b", (UNCLEAN, 0, "true")), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            ((TOPIC, "t", (UNCLEAN, 0, "yes")), ErrorCode.INVALID_CONFIG),
            ((TOPIC, "t", ("no.such", 0, "1")), ErrorCode.INVALID_CONFIG),
            ((TOPIC, "t", (UNCLEAN, 0, None)), ErrorCode.INVALID_REQUEST),
            ((TOPIC, "t", (UNCLEAN, 2, "true")), ErrorCode.INVALID_REQUEST),
            ((TOPIC, "t", (UNCLEAN, 0, "true"), (UNCLEAN, 1, None)), ErrorCode.INVALID_REQUEST),
            ((BROKER, "9", (UNCLEAN, 0, "true")), ErrorCode.INVALID_REQUEST),
            ((BROKER, "../x", (UNCLEAN, 0, "true")), ErrorCode.INVALID_REQUEST),
            ((BROKER, "", ("num.partitions", 0, "3")), ErrorCode.INVALID_REQUEST),
            ((8, "0", (UNCLEAN, 0, "true")), ErrorCode.INVALID_REQUEST),
        ):
            assert (asked, await alter(world, *asked)) == (asked, error)  # type: ignore[arg-type]
        assert await world.children("/config/changes") == []
        for kind, name, error in (
            (TOPIC, "u", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            (BROKER, "1", ErrorCode.INVALID_REQUEST),
            (BROKER, "x", ErrorCode.INVALID_REQUEST),
            (9, "", ErrorCode.INVALID_REQUEST),
        ):
            assert (await describe(world, kind, name)).error_code == error

    played(tmp_path, script)


def test_elections_and_reassignments_by_request(tmp_path: Path) -> None:
    async def script(world: ClientWorld) -> None:
        await world.cluster.create_topic("t", assignment={0: (0, 1), 1: (1, 2)})
        await world.converge()
        preferred = ElectLeadersRequest(
            election_type=0, topic_partitions=[ElectLeadersTopic(topic="t", partitions=(0, 7))]
        )
        answer = await world.ask(preferred)
        assert [
            (each.partition_id, each.error_code) for each in answer.replica_election_results[0].partition_result
        ] == [
            (0, ErrorCode.ELECTION_NOT_NEEDED),
            (7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ]
        assert (
            await world.ask(ElectLeadersRequest(election_type=0, topic_partitions=None))
        ).replica_election_results == []
        assert (await world.ask(ElectLeadersRequest(election_type=5, topic_partitions=None))).error_code == 42
        elsewhere = await world.ask(preferred, node=await world.other(), version=0)
        assert [each.error_code for each in elsewhere.replica_election_results[0].partition_result] == [41, 41]
        moved = [
            ReassignablePartition(partition_index=0, replicas=(2, 1)),
            ReassignablePartition(partition_index=9, replicas=(1,)),
        ]
        request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name="t", partitions=moved)])
        other = await world.other()
        assert (await world.ask(request, node=other)).error_code == ErrorCode.NOT_CONTROLLER
        begun = await world.ask(request)
        assert [each.error_code for each in begun.responses[0].partitions] == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        await world.converge()
        znode = json.loads(await world.data("/brokers/topics/t") or b"")
        assert (znode["partitions"]["0"], znode["adding_replicas"]) == ([2, 1], {})
        under_way = await world.ask(ListPartitionReassignmentsRequest())
        assert (under_way.error_code, under_way.topics) == (0, [])
        assert (await world.ask(ListPartitionReassignmentsRequest(), node=other)).error_code == ErrorCode.NOT_CONTROLLER

    played(tmp_path, script)


def test_what_is_said_to_be_served_is_served(tmp_path: Path) -> None:
    async def script(world: ClientWorld) -> None:
        answer = await world.ask(ApiVersionsRequest(client_software_name="t", client_software_version="1"))
        said = {each.api_key: range(each.min_version, each.max_version + 1) for each in answer.api_keys}
        assert sorted(said) == sorted(APIS), "nodes serve whatever they have schemas of"
        draw = NamedRng(1).stream("requests")
        for key, versions in said.items():
            content = whole(json.loads((SCHEMAS / f"{APIS[key].request.__name__}.json").read_text()))
            for version in versions:
                request: Any = random_message(APIS[key].request, content, draw, version)
                response = await world.ask(request, version=version)
                assert f"error_code={int(ErrorCode.UNSUPPORTED_VERSION)}" not in repr(response)

    played(tmp_path, script)


@pytest.mark.parametrize("seed", range(3))
def test_garbage_in_every_field_is_answered_and_changes_nothing_else(tmp_path: Path, seed: int) -> None:
    """Random values in requests of every kind and version, and damaged bytes of them: each gets an answer or the end of its
    connection, all nodes live, and what there was goes on."""
    draw = NamedRng(seed).stream("garbage")
    contents = {
        key: whole(json.loads((SCHEMAS / f"{api.request.__name__}.json").read_text())) for key, api in APIS.items()
    }
    clients = [key for key in contents if key not in OF_BROKERS]

    async def script(world: ClientWorld) -> None:
        await world.cluster.create_topic("healthy", partitions=2, replication_factor=3)
        await world.converge()
        for _ in range(150):
            key = draw.choice(clients)
            version = draw.randint(APIS[key].min_version, APIS[key].max_version)
            request: Any = random_message(APIS[key].request, contents[key], draw, version)
            if hasattr(request, "timeout_ms"):
                request.timeout_ms = min(request.timeout_ms, 10)
            await world.ask(request, node=draw.randrange(3), version=version)
        for _ in range(50):
            await send_damaged(world, draw)
        assert world.cluster.running == (0, 1, 2)
        await world.converge()
        (topic,) = (each for each in (await world.ask(MetadataRequest(topics=None))).topics if each.name == "healthy")
        assert [each.error_code for each in topic.partitions] == [0, 0]

    async def send_damaged(world: ClientWorld, draw: Any) -> None:
        transport, address = world.cluster.route("0", str(draw.choice((1, 2))))
        stream = await transport.connect(address)
        length = draw.choice((0, 1, 7, 8, 20, 60))
        payload = bytes((0, draw.choice(clients), 0, draw.randrange(5))) + draw.randbytes(max(0, length - 4))
        stream.write(length.to_bytes(4, "big") + payload[:length])
        with contextlib.suppress(ConnectionClosedError):
            await stream.read_exactly(4)
        stream.close()

    world = played(tmp_path, script, seed=seed)
    refused = [event["why"] for event in world.events if event["kind"] == "node.refused-request"]
    assert refused and all("sent " in why for why in refused)
