"""broker_epoch: the czxid of a registration, which tells a broker's lives apart; for the broker and for the controller."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pytest_kcontroller.broker.handlers import handlers_of
from pytest_kcontroller.broker.registration import register
from pytest_kcontroller.broker.state import BrokerState
from pytest_kcontroller.model.cluster import Address, Broker, TopicPartition
from pytest_kcontroller.runtime.scheduler import Scheduler
from pytest_kcontroller.sim.world import World
from pytest_kcontroller.wire.messages import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from pytest_kcontroller.wire.server import Handler
from pytest_kcontroller.zookeeper.store import Store
from pytest_kcontroller.zookeeper.znodes import BROKER_IDS
from tests.fidelity.stage import error_name
from tests.fidelity.vectors import Vector
from tests.tools.controller_box import ControllerBox

EPOCH = 100
TP = TopicPartition("t", 0)


def observe(vector: Vector) -> dict[str, Any]:
    inputs = vector.inputs
    if isinstance(inputs.get("request_epoch"), str):
        return _controlled_shutdown(inputs)
    if "event" in inputs:
        return _bounced()
    if "request" in inputs or "request_epoch" in inputs:
        return _received(inputs)
    return _registered()


def _received(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """By a broker. Where no request is named each of them has to be treated alike."""
    epoch = inputs.get("request_epoch", EPOCH + inputs.get("request_epoch_minus_current", 0))
    kinds = [inputs["request"]] if "request" in inputs else ["LeaderAndIsr", "UpdateMetadata", "StopReplica"]
    outcomes = [asyncio.run(_handle(kind, epoch)) for kind in kinds]
    return outcomes[0] if all(outcome == outcomes[0] for outcome in outcomes) else {"error": outcomes}


def broker() -> tuple[BrokerState, Mapping[int, Handler]]:
    """Broker 1, registered with the epoch EPOCH, and what it serves."""
    state = BrokerState(1, lambda event: None, lambda broker: None)
    state.broker_epoch = EPOCH
    return state, handlers_of(state)


async def _handle(kind: str, epoch: int) -> dict[str, Any]:
    state, handlers = broker()
    if kind == "StopReplica":  # it must have something to stop
        await handlers[LeaderAndIsrRequest.API_KEY](request("LeaderAndIsr", EPOCH))
    asked = request(kind, epoch)
    response = await handlers[asked.API_KEY](asked)
    applied = {
        "LeaderAndIsr": state.replicas.get(TP) is not None,
        "UpdateMetadata": TP.partition in state.metadata.topics.get(TP.topic, {}),
        "StopReplica": state.replicas.get(TP) is None,
    }
    return {"error": error_name(response.error_code), "applied": applied[kind]}


def request(kind: str, epoch: int) -> Any:
    """A controller's, of this kind, about t-0, which broker 1 is to lead or to delete."""
    common: dict[str, Any] = {"controller_id": 9, "controller_epoch": 1, "broker_epoch": epoch}
    state: dict[str, Any] = {"partition_index": 0, "controller_epoch": 1, "leader": 1, "leader_epoch": 0, "isr": (1,)}
    if kind == "StopReplica":
        stop = StopReplicaPartitionState(partition_index=0, leader_epoch=0, delete_partition=True)
        return StopReplicaRequest(
            topic_states=[StopReplicaTopicState(topic_name="t", partition_states=[stop])], **common
        )
    if kind == "UpdateMetadata":
        known = UpdateMetadataPartitionState(zk_version=0, replicas=(1,), **state)
        topics = [UpdateMetadataTopicState(topic_name="t", partition_states=[known])]
        return UpdateMetadataRequest(topic_states=topics, live_brokers=[], **common)
    led = LeaderAndIsrPartitionState(partition_epoch=0, replicas=(1,), **state)
    to_lead = [LeaderAndIsrTopicState(topic_name="t", partition_states=[led])]
    return LeaderAndIsrRequest(topic_states=to_lead, live_leaders=[], **common)


def _controlled_shutdown(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """`request_epoch`: `current`, `current-1`."""
    delta = int(inputs["request_epoch"].removeprefix("current") or 0)
    with ControllerBox(brokers=(1, 2)) as box:
        box.start()
        answer = box.shut_down(2, broker_epoch=box.broker_epoch(2) + delta).result()
        return {"error": error_name(answer.error_code, exception=True)}


def _bounced() -> dict[str, Any]:
    with ControllerBox(brokers=(1, 2)) as box:
        box.create_topic("t", [[2, 1]])
        box.start()
        before = box.broker_epoch(2)
        box.forget()
        with box.paused():
            box.bounce_broker(2)
        states = [(state.leader, state.isr) for _, state in box.states_written()]
        failed = states[:1] == [(1, (1,))] and box.entry("LeaderAndIsr", "t-0", to=1).leader == 1
        again = box.entry("LeaderAndIsr", "t-0", to=2).leader_epoch == box.state("t-0").leader_epoch
        return {
            "detected_by": "larger czxid" if box.broker_epoch(2) > before and box.sent(to=2) else "nobody",
            "effect": "treated as failure then start-up; broker gets its partitions again"
            if failed and again
            else f"{states} was written",
        }


def _registered() -> dict[str, Any]:
    """What a registration gives: the first one, and one in place of that of an own session that has not ended yet."""
    seen: dict[str, Any] = {}

    async def live() -> None:
        first, second = [await Store.open(runtime.zookeeper, lambda store, event: None) for _ in range(2)]
        await first.ensure_paths([BROKER_IDS])
        own = Broker(id=1, address=Address("127.0.0.1", 9092))
        epoch = await register(first, first.session, own, runtime.clock)
        there = await first.get(f"{BROKER_IDS}/1")
        assert there is not None
        seen["epoch"] = "czxid of /brokers/ids/<id>" if there.stat.czxid == epoch else f"{epoch}"
        again = await register(second, second.session, own, runtime.clock, previous_session=first.session.session_id)
        now = await second.get(f"{BROKER_IDS}/1")
        assert now is not None
        new = now.stat.czxid == again > epoch and now.stat.ephemeral_owner == second.session.session_id
        seen["result"] = "deleted and re-created, new czxid" if new else f"epoch {again} after {epoch}"

    with Scheduler() as scheduler:
        world, loop = World(scheduler, seed=1), scheduler.process("broker")
        runtime = world.runtime(loop, "broker", session_timeout_ms=6000)
        scheduler.run_until_complete(loop.create_task(live(), name="broker"))
    return seen
