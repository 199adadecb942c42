"""What a client was answered was in ZooKeeper by then, whatever happens to the nodes meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.runtime.ports import ConnectionClosedError
from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import (
    AlterableConfig,
    AlterConfigsResource,
    CreatableTopic,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DeleteTopicState,
    IncrementalAlterConfigsRequest,
)
from pytest_kcontroller.wire.topic_ids import topic_id_text
from tests.tools.client_world import ClientWorld, played

UNCLEAN = "unclean.leader.election.enable"
ROUNDS = 40

Proof = Callable[[str, Any], bool]
"""Whether a write (path, value) is what an answer says."""
Answer = tuple[int, str, Proof]
"""When it came, what was asked, and what proves it."""


class Client:
    """Asks one thing after the other of whatever node, and keeps what was answered without an error."""

    def __init__(self, world: ClientWorld, draw: Any) -> None:
        self._world, self._draw = world, draw
        self.topics: list[str] = []
        self.answers: list[Answer] = []

    async def ask_for_something(self, number: int) -> None:
        what = self._draw.choice((self._create, self._create, self._delete, self._enlarge, self._configure))
        try:
            await what(number)
        except ConnectionClosedError:
            return  # no answer: nothing was said

    def _note(self, what: str, error: int, proof: Proof) -> None:
        if error == ErrorCode.NONE:
            self.answers.append((self._world.world.scheduler.now_us, what, proof))

    async def _ask(self, request: Any) -> Any:
        """The controller, if there is one; now and then any node."""
        controller = await self._world.cluster.controller()
        anybody = controller is None or self._draw.random() < 0.2
        return await self._world.ask(request, node=self._draw.randrange(3) if anybody else controller)

    async def _create(self, number: int) -> None:
        name = f"t{number}"
        topic = CreatableTopic(name=name, num_partitions=2, replication_factor=2, assignments=[], configs=[])
        (answer,) = (await self._ask(CreateTopicsRequest(topics=[topic], timeout_ms=2000))).topics
        made, path = topic_id_text(answer.topic_id), f"/brokers/topics/{name}"
        self._note(f"create {name}", answer.error_code, lambda at, value: at == path and value["topic_id"] == made)
        self.topics.append(name)

    async def _delete(self, _: int) -> None:
        name = self._draw.choice(self.topics or ["t"])
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=2000)
        (answer,) = (await self._ask(request)).responses
        marker = f"/admin/delete_topics/{name}"
        self._note(f"delete {name}", answer.error_code, lambda at, _: at == marker)

    async def _enlarge(self, _: int) -> None:
        name, count = self._draw.choice(self.topics or ["t"]), self._draw.choice((3, 4, 5))
        topic = CreatePartitionsTopic(name=name, count=count, assignments=None)
        request = CreatePartitionsRequest(topics=[topic], timeout_ms=2000, validate_only=False)
        (answer,) = (await self._ask(request)).results
        path = f"/brokers/topics/{name}"
        self._note(
            f"enlarge {name}", answer.error_code, lambda at, value: at == path and len(value["partitions"]) == count
        )

    async def _configure(self, _: int) -> None:
        name, to = self._draw.choice(self.topics or ["t"]), self._draw.choice(("true", "false"))
        config = AlterableConfig(name=UNCLEAN, config_operation=0, value=to)
        resource = AlterConfigsResource(resource_type=2, resource_name=name, configs=[config])
        request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
        (answer,) = (await self._ask(request)).responses
        path = f"/config/topics/{name}"
        self._note(
            f"configure {name}",
            answer.error_code,
            lambda at, value: at == path and value["config"].get(UNCLEAN) == to,
        )


async def trouble(world: ClientWorld, draw: Any) -> None:
    """Something happens to a node, and is mended a little later."""
    node = draw.randrange(3)
    what = draw.choice(("expire", "cut", "kill", "controller"))
    cluster = world.cluster
    if what == "controller":
        node = await cluster.controller() or 0
    if what == "cut":
        await cluster.cut(str(node), "zookeeper", "zk")
        await asyncio.sleep(draw.uniform(0.1, 2))
        await cluster.heal(str(node), "zookeeper", "zk")
    elif what == "expire":
        try:
            await cluster.expire_session_server(node)
        except EnvironmentFailure:
            return  # it has no session just now
    else:
        await cluster.kill(node)
        await asyncio.sleep(draw.uniform(0.1, 2))
        await cluster.restart(node)


@pytest.mark.parametrize("seed", range(4))
def test_what_was_answered_is_in_zookeepers_log(tmp_path: Path, seed: int) -> None:
    answers: list[Answer] = []

    async def script(world: ClientWorld) -> None:
        rng = NamedRng(seed)
        client = Client(world, rng.stream("client"))
        troubled = asyncio.ensure_future(troubles(world, rng.stream("trouble")))
        for number in range(ROUNDS):
            await client.ask_for_something(number)
            await asyncio.sleep(0.1)
        await troubled
        await world.converge()
        answers.extend(client.answers)

    async def troubles(world: ClientWorld, draw: Any) -> None:
        for _ in range(6):
            await asyncio.sleep(draw.uniform(0, 1))
            await trouble(world, draw)

    txns = played(tmp_path, script, seed=seed).zookeeper.txns
    writes = [
        (t_us, op.path, json.loads(op.data) if op.data else None)
        for t_us, txn in txns
        if not txn.refused
        for op in txn.ops
        if op.type in ("create", "create2", "set") and (op.path or "").startswith(("/brokers/", "/admin/", "/config/t"))
    ]
    assert len(answers) > 10
    for answered_us, what, proof in answers:
        proven = [t_us for t_us, path, value in writes if t_us <= answered_us and proof(str(path), value)]
        assert proven, f"{what} was answered at {answered_us} us, and nothing of it had been written"
