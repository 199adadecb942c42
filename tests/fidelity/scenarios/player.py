"""Plays the steps of a scenario on a cluster of ours with stub brokers, and writes down what a record has."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.runtime.ports import ConnectionClosedError
from pytest_kcontroller.stubs.requests import ReceivedRequest, State
from pytest_kcontroller.wire.messages import (
    LeaderAndIsrPartitionState,
    StopReplicaPartitionState,
    UpdateMetadataPartitionState,
)
from pytest_kcontroller.zookeeper.session import (
    NodeExistsError,
    NoNodeError,
)
from pytest_kcontroller.zookeeper.txn import Txn
from pytest_kcontroller.zookeeper.znodes import (
    BROKER_IDS,
    TOPICS,
    parse_state_path,
    state_path,
    topic_path,
)
from tests.fidelity.scenarios.records import Entry, Record, Step
from tests.fidelity.scenarios.scene import Ground, Scene


class Player:
    def __init__(self, ground: Ground, record: Record) -> None:
        self._scene, self._record = scene, record = Scene(ground, record.stubs), record
        self._log: list[Entry] = []
        self._steps: Mapping[str, Callable[..., Awaitable[Any]]] = {
            "create": scene.create,
            "extend": scene.extend,
            "delete": scene.delete,
            "stop": scene.stop_stub,
            "start": scene.start_stub,
            "bounce": scene.bounce,
            "depose": scene.depose,
            "kill": scene.kill,
            "elect": scene.elect,
            "reassign": scene.reassign,
            "unclean": scene.unclean,
            "isr": scene.isr,
            "alter": scene.alter,
            "logdir": scene.logdir,
            "shutdown": scene.shutdown,
            "nothing": _nothing,
        }

    async def play(self) -> list[Entry]:
        try:
            await self._play()
        finally:
            await self._scene.stop()
        return json.loads(json.dumps(self._log))  # type: ignore[no-any-return]

    async def _play(self) -> None:
        await self._scene.start()
        for step in self._record.steps:
            await self._play_step(step)
            if self._log[-1].get("restless"):
                break
        self._add_znodes(await self._scene.ground.txns())

    async def _play_step(self, step: Step) -> None:
        before = {number: len(stub.requests) for number, stub in self._scene.stubs.items()}
        step = await self._decided(step)
        answer: Any = None
        try:
            answer = await self._steps[step[0]](*step[1:])
        except (NodeExistsError, NoNodeError, ConnectionClosedError) as failed:
            answer = type(failed).__name__
        rests = await self._scene.settle()
        self._log.append(
            {
                **({} if rests else {"restless": True}),
                "step": step,
                "ans": answer,
                "upto": self._scene.ground.cluster.admin.last_zxid,
                "got": {
                    number: [entry for request in stub.requests[before[number] :] for entry in got(request)]
                    for number, stub in self._scene.stubs.items()
                },
                "cache": {
                    number: {str(tp): _shown(state) for tp, state in stub.metadata.items()}
                    for number, stub in self._scene.stubs.items()
                },
                "nodes": await self._scene.children(),
            }
        )

    def _add_znodes(self, txns: Sequence[Txn]) -> None:
        """To each entry what was written in its step, by whomever."""
        after = 0
        for entry in self._log:
            entry["znodes"] = written([txn for txn in txns if after < txn.zxid <= entry["upto"]])
            after = entry["upto"]

    async def _decided(self, step: Step) -> Step:
        """A leader asks for all live replicas, whoever they are by now; where nobody leads there is nothing to ask."""
        if step[0] not in ("isr", "alter"):
            return step
        kind, topic, partition = step[:3]
        try:
            state = await self._scene.json(state_path(TopicPartition(topic, partition)))
            replicas = (await self._scene.json(topic_path(topic)))["partitions"][str(partition)]
        except (NoNodeError, KeyError):
            return ("nothing",)
        live = [int(name) for name in await self._scene.names(BROKER_IDS)]
        joining = sorted(broker for broker in replicas if broker in live and broker not in state["isr"])
        return (kind, topic, partition, state["isr"] + joining) if state["leader"] != -1 else ("nothing",)


async def _nothing() -> None:
    return


def got(request: ReceivedRequest) -> list[list[Any]]:
    """What a stub was asked for of each partition, but by UpdateMetadata."""
    return [
        [_KIND[type(state)], tp.topic, tp.partition, _shown(state)]
        for tp, state in request.states
        if type(state) in _KIND
    ]


_KIND = {LeaderAndIsrPartitionState: "LeaderAndIsr", StopReplicaPartitionState: "StopReplica"}


def _shown(state: State) -> dict[str, Any]:
    """Under the names that records have for it."""
    if isinstance(state, StopReplicaPartitionState):
        return {"le": state.leader_epoch, "delete": state.delete_partition}
    common = {
        "ce": state.controller_epoch,
        "leader": state.leader,
        "le": state.leader_epoch,
        "isr": list(state.isr),
        "replicas": list(state.replicas),
    }
    if isinstance(state, UpdateMetadataPartitionState):
        return common | {"pe": state.zk_version, "offline": list(state.offline_replicas)}
    return common | {
        "pe": state.partition_epoch,
        "adding": list(state.adding_replicas),
        "removing": list(state.removing_replicas),
        "new": state.is_new,
        "rec": state.leader_recovery_state,
    }


def written(txns: Sequence[Txn]) -> dict[str, list[Any]]:
    """Path -> every value of a partition's state, in order, and of a topic once it has been created."""
    found: dict[str, list[Any]] = {}
    for op in (op for txn in txns if not txn.refused for op in txn.ops):
        path = op.path or ""
        if parse_state_path(path) is not None:
            if op.type == "delete":
                found.setdefault(path, []).append("deleted")
            elif op.data:
                found.setdefault(path, []).append(json.loads(op.data))
        elif op.type == "set" and path.startswith(f"{TOPICS}/") and path.count("/") == 3 and op.data:
            value = json.loads(op.data)
            found.setdefault(path, []).append({k: v for k, v in value.items() if k not in ("topic_id", "version")})
    return found
