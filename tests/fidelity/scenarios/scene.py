"""A scene: two nodes of ours that hold no partitions, stub brokers that do, and what admins and brokers do there.

The steps are those of recorded scenarios; each returns when it has been done, not when everybody has acted on it: `settle`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

from pytest_kcontroller.cluster.contract import Cluster
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.model.cluster import Address, TopicPartition
from pytest_kcontroller.runtime.ports import Transport
from pytest_kcontroller.stubs.broker import StubBroker
from pytest_kcontroller.wire.client import RequestClient
from pytest_kcontroller.wire.messages import (
    AlterPartitionPartition,
    AlterPartitionRequest,
    AlterPartitionTopic,
    ControlledShutdownRequest,
)
from pytest_kcontroller.zookeeper.session import (
    Create,
    Delete,
    GetChildren,
    GetData,
    Multi,
    Node,
    NodeExistsError,
    NoNodeError,
    Request,
    SetData,
)
from pytest_kcontroller.zookeeper.txn import Txn
from pytest_kcontroller.zookeeper.znodes import (
    CONTROLLER,
    DELETE_TOPICS,
    TOPICS,
    broker_path,
    decode_controller,
    encode_controller,
    state_path,
    topic_path,
)

SESSION_MS, STUB_SESSION_MS = 6000, 30_000
CHILDREN = (DELETE_TOPICS, TOPICS, "/admin")
FIRST_STUB, NOBODY = 101, 999


class Ground(Protocol):
    """What a scenario is played on: two nodes of ours that hold no partitions, and room for stub brokers."""

    @property
    def cluster(self) -> Cluster: ...
    def stub(self, number: int) -> StubBroker: ...
    def address_of(self, node: int) -> tuple[Transport, Address]:
        """Where a node takes requests."""
        ...

    async def settle(self, stubs: Sequence[StubBroker]) -> bool:
        """Until nobody has anything to do. False: that time does not come."""
        ...

    async def end_session(self, node: int) -> None:
        """ZooKeeper ends the session of a node that has been killed: nobody has to wait for that."""
        ...

    async def txns(self) -> Sequence[Txn]:
        """ZooKeeper's transaction log."""
        ...


class Scene:
    def __init__(self, ground: Ground, stubs: int) -> None:
        self.ground = ground
        self.stubs = {number: ground.stub(number) for number in range(FIRST_STUB, FIRST_STUB + stubs)}

    async def start(self) -> None:
        for stub in self.stubs.values():
            await stub.start()
        await self.settle()

    async def stop(self) -> None:
        for stub in self.stubs.values():
            await stub.stop()

    async def settle(self) -> bool:
        return await self.ground.settle(list(self.stubs.values()))

    # --- ZooKeeper

    async def zk(self, request: Request) -> Any:
        await self.ground.cluster.admin.submit(request)

    async def node(self, path: str) -> Node:
        node = await self.ground.cluster.admin.submit(GetData(path))
        assert isinstance(node, Node)
        return node

    async def json(self, path: str) -> dict[str, Any]:
        value: dict[str, Any] = json.loads((await self.node(path)).data)
        return value

    async def names(self, path: str) -> list[str]:
        return list(getattr(await self.ground.cluster.admin.submit(GetChildren(path)), "names", ()))

    async def children(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in CHILDREN:
            try:
                found[path] = await self.names(path)
            except NoNodeError:
                continue
        return found

    # --- steps

    async def delete(self, topic: str) -> None:
        await self.zk(Create(f"{DELETE_TOPICS}/{topic}"))

    async def start_stub(self, stub: int) -> None:
        await self.stubs[stub].start()

    async def stop_stub(self, stub: int) -> None:
        await self.stubs[stub].stop()

    async def create(self, topic: str, replicas: Sequence[Sequence[int]]) -> None:
        value = {"version": 1, "partitions": {str(number): ids for number, ids in enumerate(replicas)}}
        await self.zk(Create(topic_path(topic), json.dumps(value).encode()))

    async def extend(self, topic: str, more: Sequence[Sequence[int]]) -> None:
        value = await self.json(topic_path(topic))
        count = len(value["partitions"])
        value["partitions"] |= {str(count + number): ids for number, ids in enumerate(more)}
        await self.zk(SetData(topic_path(topic), json.dumps(value).encode()))

    async def bounce(self, stub: int) -> None:
        """Its end is seen before its return, as when it was recorded."""
        await self.stubs[stub].stop()
        await self.settle()
        await self.stubs[stub].start()

    async def depose(self) -> None:
        await self.zk(Delete(CONTROLLER))
        await self.ground.cluster.wait_for_controller(timeout_s=scaled(20))

    @asynccontextmanager
    async def without_controller(self) -> AsyncIterator[None]:
        """Somebody who does nothing holds /controller meanwhile; then ours are elected."""
        nobody = Create(CONTROLLER, encode_controller(NOBODY, 0), ephemeral=True)
        await self.zk(Multi((Delete(CONTROLLER), nobody)))
        await self.settle()
        yield
        await self.depose()

    async def kill(self) -> None:
        """Its registration goes when its session expires; then it comes back."""
        cluster = self.ground.cluster
        node = decode_controller((await self.node(CONTROLLER)).data)
        await cluster.kill(node)
        await self.zk(Delete(CONTROLLER))
        await cluster.wait_for_controller(timeout_s=scaled(20))
        await self.ground.end_session(node)

        async def registered() -> str | None:
            return "it is" if await cluster.broker_owner(node) else None

        await cluster.wait_until(f"node {node} is not registered any more", registered, timeout_s=scaled(30))
        await self.settle()
        await cluster.restart(node)

    async def elect(self, partitions: Sequence[tuple[str, int]]) -> None:
        value = {"version": 1, "partitions": [{"topic": t, "partition": p} for t, p in partitions]}
        await self.zk(Create("/admin/preferred_replica_election", json.dumps(value).encode()))

    async def reassign(self, moves: Sequence[tuple[str, int, Sequence[int]]]) -> None:
        value = {"version": 1, "partitions": [{"topic": t, "partition": p, "replicas": r} for t, p, r in moves]}
        await self.zk(Create("/admin/reassign_partitions", json.dumps(value).encode()))

    async def unclean(self, topic: str, allowed: str) -> None:
        path = f"/config/topics/{topic}"
        config = {"version": 1, "config": {"unclean.leader.election.enable": allowed}}
        with contextlib.suppress(NodeExistsError):
            await self.zk(Create(path))
        await self.zk(SetData(path, json.dumps(config).encode()))
        change = {"version": 2, "entity_path": f"topics/{topic}"}
        await self.zk(Create("/config/changes/config_change_", json.dumps(change).encode(), sequence=True))

    async def isr(self, topic: str, partition: int, isr: Sequence[int]) -> None:
        """As a leader did before Kafka 2.7: the state, then a notification."""
        path = state_path(TopicPartition(topic, partition))
        state = await self.json(path) | {"isr": list(isr)}
        await self.zk(SetData(path, json.dumps(state).encode()))
        change = {"version": 1, "partitions": [{"topic": topic, "partition": partition}]}
        await self.zk(Create("/isr_change_notification/isr_change_", json.dumps(change).encode(), sequence=True))

    async def alter(self, topic: str, partition: int, isr: Sequence[int]) -> list[Any]:
        node = await self.node(state_path(TopicPartition(topic, partition)))
        state = json.loads(node.data)
        leader = (await self.node(broker_path(state["leader"]))).stat
        item = AlterPartitionPartition(
            partition_index=partition,
            leader_epoch=state["leader_epoch"],
            new_isr=tuple(isr),
            partition_epoch=node.stat.version,
        )
        asked = AlterPartitionTopic(topic_name=topic, partitions=[item])
        request = AlterPartitionRequest(broker_id=state["leader"], broker_epoch=leader.czxid, topics=[asked])
        answer = await self.ask(request, version=1)
        partitions = [
            [
                p.partition_index,
                p.error_code,
                p.leader_id,
                p.leader_epoch,
                list(p.isr),
                p.leader_recovery_state,
                p.partition_epoch,
            ]
            for each in answer.topics
            for p in each.partitions
        ]
        return ["alter", answer.error_code, [[each.topic_name, partitions] for each in answer.topics]]

    async def logdir(self, broker: int) -> None:
        value = {"version": 1, "broker": broker, "event": 1}
        path = "/log_dir_event_notification/log_dir_event_"
        await self.zk(Create(path, json.dumps(value).encode(), sequence=True))

    async def shutdown(self, broker: int) -> list[Any]:
        epoch = (await self.node(broker_path(broker))).stat.czxid
        answer = await self.ask(ControlledShutdownRequest(broker_id=broker, broker_epoch=epoch))
        remaining = sorted([p.topic_name, p.partition_index] for p in answer.remaining_partitions)
        return ["shutdown", answer.error_code, remaining]

    async def ask(self, request: Any, version: int = 3) -> Any:
        """One request to the controller."""
        controller = decode_controller((await self.node(CONTROLLER)).data)
        client = RequestClient(*self.ground.address_of(controller))
        try:
            return await client.request(request, version=version, timeout_us=30_000_000)
        finally:
            client.close()
