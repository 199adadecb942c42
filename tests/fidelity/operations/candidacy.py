"""controller_epoch_and_election: how a controller is elected, and what becomes of one that is none any more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from pytest_kcontroller.controller.candidacy import Won, win
from pytest_kcontroller.controller.events.api_partition_reassignment import ApiPartitionReassignment
from pytest_kcontroller.controller.events.controlled_shutdown import ControlledShutdown
from pytest_kcontroller.controller.events.list_partition_reassignments import ListPartitionReassignments
from pytest_kcontroller.controller.events.replica_leader_election import ElectLeaders, ReplicaLeaderElection
from pytest_kcontroller.controller.machines.states import StateZnodes
from pytest_kcontroller.controller.transitions import Why
from pytest_kcontroller.model.cluster import LeaderAndIsr, TopicPartition
from pytest_kcontroller.model.election import ElectionType
from pytest_kcontroller.runtime.holds import BEFORE_STATE_WRITE
from pytest_kcontroller.runtime.scheduler import Scheduler, SimRuntime
from pytest_kcontroller.sim.world import World
from pytest_kcontroller.wire.messages import ControlledShutdownRequest
from pytest_kcontroller.zookeeper.partition_lists import PREFERRED_ELECTION, encode_partitions
from pytest_kcontroller.zookeeper.recursive import delete_recursively
from pytest_kcontroller.zookeeper.session import (
    BadVersionError,
    ConnectionLossError,
    Create,
    NodeExistsError,
    NoNodeError,
    SetData,
)
from pytest_kcontroller.zookeeper.store import Fence, FencedError, Store
from pytest_kcontroller.zookeeper.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    REASSIGN_PARTITIONS,
    decode_controller_epoch,
    encode_controller,
    encode_controller_epoch,
    encode_reassignments,
    state_path,
)
from tests.fidelity.operations import broker_epoch
from tests.fidelity.stage import TP, Stage, error_name, stage
from tests.fidelity.vectors import Vector
from tests.tools.controller_box import ControllerBox, partition

T = TypeVar("T")
STATE = LeaderAndIsr(leader=3, leader_epoch=0, isr=(3, 2), controller_epoch=1)
MOVED = "ControllerMoved"


def observe(vector: Vector) -> dict[str, Any]:
    inputs = vector.inputs
    for key, seen in _BY_KEY.items():
        if (key in inputs and "event" not in inputs) or (key == "queued" and key in inputs):
            return seen(inputs)
    return _EVENTS[inputs["event"]](inputs)


def knows(inputs: Mapping[str, Any]) -> bool:
    """Whether its words are known."""
    if "setup" in inputs:
        return any(step in _ACTIONS for step in inputs["setup"].split("; "))
    return any(key in inputs for key in _BY_KEY) or inputs.get("event") in _EVENTS


# --- the epoch


def _first(inputs: Mapping[str, Any]) -> dict[str, Any]:
    with ControllerBox(brokers=range(1, inputs["brokers"] + 1)) as box:
        box.start()
        return _epoch(box)


def _epoch(box: ControllerBox) -> dict[str, Any]:
    epoch = int(box.data(CONTROLLER_EPOCH) or b"-1")
    return {
        "controller_epoch": epoch,
        "controller_epoch_zk_version": box.version(CONTROLLER_EPOCH),
        "controller": "absent" if box.data(CONTROLLER) is None else "there",
    }


def _all_stop(inputs: Mapping[str, Any]) -> dict[str, Any]:
    with ControllerBox(brokers=(1,)) as box:
        box.start()
        box.end()
        return _epoch(box)


def _restarts(inputs: Mapping[str, Any]) -> dict[str, Any]:
    with ControllerBox(brokers=(1,)) as box:
        box.start()
        box.expire_session()
        return _epoch(box)


def _leader_and_controller_stops(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The next controller finds the leader dead."""
    before = LeaderAndIsr(leader=9, leader_epoch=inputs["leader_epoch"], isr=(9, 2), controller_epoch=1)
    with ControllerBox(brokers=(2,)) as box:
        box.create_topic("t", [[9, 2]], states={0: before})
        box.start()
        return {"leader_epoch": box.state("t-0").leader_epoch}


def _znode_calls(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """What ZooKeeper answers to writes of /controller_epoch."""
    op, there = inputs["op"], inputs.get("znode", "present") == "present"

    async def act(store: Store, runtime: SimRuntime) -> str:
        if there:
            await store.write_all([Create(CONTROLLER_EPOCH, b"0")])
        tries = 2 if "twice" in op else 1
        expected = 0 if "expecting" in op else -1
        for attempt in range(tries):
            write = (
                Create(CONTROLLER_EPOCH, b"0") if op.startswith("create") else SetData(CONTROLLER_EPOCH, b"1", expected)
            )
            try:
                await store.write_all([write])
            except (NoNodeError, NodeExistsError, BadVersionError) as refused:
                name = type(refused).__name__.removesuffix("Error").upper()
                return f"{name} on the second" if attempt else name
        return "done"

    return {"code": _with_store(act)}


# --- candidates


def _registration(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The multi of an election is refused, by what somebody wrote in between, or its answer is lost."""
    named = 1 if inputs.get("controller_znode_id") == "own" else 2
    own = named == 1 and inputs.get("epoch_znode", "own new epoch").startswith("own")
    exists = inputs["multi_result"] == "NODEEXISTS"

    async def act(store: Store, runtime: SimRuntime) -> dict[str, Any]:
        await store.write_all([Create(CONTROLLER_EPOCH, b"7")])
        refused: list[bool] = []
        outside = await Store.open(runtime.zookeeper, lambda store, event: None)
        read, write = store.get, store.write_all

        async def get(path: str, *, watch: bool = False) -> Any:
            node = await read(path, watch=watch)
            if path == CONTROLLER_EPOCH and not own and not refused:
                other = Create(CONTROLLER, encode_controller(named, 0), ephemeral=True)
                await outside.write_all([other] if exists else [SetData(CONTROLLER_EPOCH, encode_controller_epoch(8))])
            return node

        async def write_all(ops: Any, **fence: Any) -> Any:
            try:
                results = await write(ops, **fence)
            except (NodeExistsError, BadVersionError):
                refused.append(True)
                raise
            if own and not refused:
                refused.append(True)
                raise ConnectionLossError
            return results

        store.get, store.write_all = get, write_all  # type: ignore[method-assign]
        won = await win(store, 1, runtime.clock)
        epoch = await read(CONTROLLER_EPOCH)
        assert epoch is not None
        took = won == Won(decode_controller_epoch(epoch.data), epoch.stat.version)
        there = "success, take the znode version (the multi had gone through before the connection loss)"
        moved = bool(refused) and (won is None or won.epoch > 8)
        return {
            "result": there if own and took and refused else str(won),
            "error": MOVED if moved and not own else None,
        }

    return _with_store(act)


def _with_store(act: Callable[[Store, SimRuntime], Awaitable[T]]) -> T:
    given: list[T] = []

    async def live() -> None:
        given.append(await act(await Store.open(runtime.zookeeper, lambda store, event: None), runtime))

    with Scheduler() as scheduler:
        world, loop = World(scheduler, seed=1), scheduler.process("candidate")
        runtime = world.runtime(loop, "candidate", session_timeout_ms=6000)
        scheduler.run_until_complete(loop.create_task(live(), name="candidate"))
    return given[0]


# --- the fence


def _fenced(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """A write, and a recursive deletion, under another version of the epoch's znode than there is."""
    delta = int(inputs["expected_epoch_zk_version"].removeprefix("actual") or 0)
    with stage(brokers=[2, 3]) as on:
        on.place([[3, 2]], states={0: STATE})
        fence = Fence(on.context.epoch_version + delta)
        writes = (
            on.term.store.write_each([SetData(state_path(TP), b"{}")], fence=fence),
            delete_recursively(on.term.store, ["/brokers/topics/t"], fence=fence),
        )
        errors = [on.box.run(_raised(write)) for write in writes]
        there = on.box.data(state_path(TP)) is not None
        return {"error": errors[0] if errors[0] == errors[1] else errors, "deleted": not there}


async def _raised(work: Awaitable[Any]) -> str | None:
    try:
        await work
    except FencedError:
        return MOVED
    return None


def _updates(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Several states at once, of which some are stale and some have no znode."""
    wanted = inputs["writes"]
    writes = wanted if isinstance(wanted, Mapping) else {"t1-0": "no node", "t1-1": "no node"}
    with stage(brokers=[2, 3]) as on:
        tps = {name: partition(name) for name in writes}
        for topic in dict.fromkeys(tp.topic for tp in tps.values()):
            _place(on, topic, {tp.partition: writes[name] for name, tp in tps.items() if tp.topic == topic})
        states = dict.fromkeys(tps.values(), STATE)
        znodes: StateZnodes = on.term.states
        changed = on.box.run(znodes.compare_and_set(states))
        failed = {str(tp): "NoNode" for tp, why in changed.refused.items() if why is Why.VANISHED}
        all_failed = sorted(failed) == sorted(writes) and not isinstance(wanted, Mapping)
        return {
            "finished": sorted(map(str, changed.written)),
            "retry": sorted(map(str, changed.stale)),
            "failed": "NoNode per partition" if all_failed else failed,
        }


def _place(on: Stage, topic: str, versions: Mapping[int, str]) -> None:
    there = {number: STATE for number, version in versions.items() if version != "no node"}
    on.place([[3, 2]] * (max(versions) + 1), topic=topic, states=there)
    for number, version in versions.items():
        if version == "version old":
            on.box.set_state(f"{topic}-{number}", replace(STATE, leader_epoch=1))


def _of_broker(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """A broker that has heard of a newer controller."""
    outcome = asyncio.run(_after(inputs["broker_known_epoch"], inputs["request"], inputs["request_epoch"]))
    return {"error": outcome}


async def _after(known: int, kind: str, epoch: int) -> str | None:
    _, handlers = broker_epoch.broker()
    first = broker_epoch.request("UpdateMetadata", broker_epoch.EPOCH)
    first.controller_epoch = known
    await handlers[first.API_KEY](first)
    asked = broker_epoch.request(kind, broker_epoch.EPOCH)
    asked.controller_epoch = epoch
    return error_name((await handlers[asked.API_KEY](asked)).error_code)


# --- replaced


_ACTIONS: Mapping[str, Callable[[ControllerBox], None]] = {
    "create topic": lambda box: box.create_topic("new", [[2, 3]]),
    "delete topic": lambda box: box.delete_topic("t"),
    f"write {PREFERRED_ELECTION}": lambda box: box.write(Create(PREFERRED_ELECTION, encode_partitions([TP]))),
    f"write {REASSIGN_PARTITIONS}": lambda box: box.write(
        Create(REASSIGN_PARTITIONS, encode_reassignments({TP: (2,)}))
    ),
}


def _replaced(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """While the controller stands still something is asked of it, and another one is elected."""
    with ControllerBox(brokers=(2, 3)) as box:
        box.create_topic("t", [[2, 3]], states={0: STATE})
        box.start()
        box.forget()
        with box.paused():
            for step in inputs["setup"].split("; "):
                if step in _ACTIONS:
                    _ACTIONS[step](box)
            box.depose()
        fenced, resigned = [txn for txn in box.txns() if txn.refused], box.events("controller.resigned")
        there = "ControllerMoved in the event, then resignation; no write lands"
        right = bool(fenced) and bool(resigned) and not box.written() and not box.controller.active
        return {"result": there if right else f"fenced: {fenced}, resigned: {resigned}, written: {box.written()}"}


def _preempted(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Requests wait in the queue when it is cleared."""
    asked: Mapping[str, tuple[Any, Any]] = {
        "election": (ReplicaLeaderElection, ElectLeaders(type=ElectionType.PREFERRED, partitions=None)),
        "controlled shutdown": (ControlledShutdown, ControlledShutdownRequest(broker_id=2, broker_epoch=-1)),
        "api reassignment": (ApiPartitionReassignment, {TopicPartition("t", 0): (2,)}),
        "list reassignments": (ListPartitionReassignments, None),
    }
    with ControllerBox(brokers=(2, 3)) as box:
        box.create_topic("t", [[2, 3]], states={0: STATE})
        box.start()
        box.hold(BEFORE_STATE_WRITE)
        box.alter_partition("t-0", [3])  # its turn has come
        answers = [box.put(*asked[name]) for name in inputs["queued"]]
        box.expire_session()
        box.release(BEFORE_STATE_WRITE)
        callbacks = []
        for name, answer in zip(inputs["queued"], answers, strict=True):
            code = getattr(answer.result(), "error_code", None)
            refused = error_name(code if code is not None else answer.result().error)
            callbacks.append(MOVED if name == "controlled shutdown" and refused == "NOT_CONTROLLER" else refused)
        return {"callbacks": callbacks}


_BY_KEY: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "zk": _first,
    "op": _znode_calls,
    "multi_result": _registration,
    "expected_epoch_zk_version": _fenced,
    "writes": _updates,
    "broker_known_epoch": _of_broker,
    "setup": _replaced,
    "queued": _preempted,
}
_EVENTS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "all brokers stop": _all_stop,
    "controller restarts": _restarts,
    "leader that is also controller stops; new controller takes over": _leader_and_controller_stops,
}
