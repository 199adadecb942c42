"""Scenes of the operation reassignment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_kcontroller.wire.messages import CreatePartitionsRequest, CreatePartitionsTopic
from pytest_kcontroller.zookeeper.session import Create
from pytest_kcontroller.zookeeper.znodes import topic_path
from tests.fidelity.scenarios.scene import Scene
from tests.fidelity.scenes.stagehands import (
    TOPICS,
    Cast,
    assignment_of,
    catch_up,
    create,
    everybody_back,
    exists,
    reassign_by_request,
    reassign_by_znode,
    request_gone,
    state_of,
)
from tests.fidelity.stage import error_name


def scene_of(inputs: Mapping[str, Any]) -> Any:
    keys = set(inputs)
    if keys >= {"start", "target"}:
        return moved
    if keys >= {"target", "topic"}:
        return missing_topic
    if "after" in keys:
        return no_phantoms
    if keys >= {"assignment", "target"}:
        return moved_to_one
    if keys >= {"znode", "assignment"}:
        return found_at_start
    if "topic_znode" in keys:
        return znode_precedes
    if keys >= {"first", "second"}:
        return mixed if isinstance(inputs["first"], Mapping) else latest_order
    if keys >= {"zk", "api"}:
        return request_after_znode if isinstance(inputs["zk"], Mapping) else znode_after_request
    if "then" in keys and keys & {"zk", "api"}:
        return cancelled
    return partitions_while_moving if "create" in str(inputs.get("request")) else None


def _numbers(inputs: Mapping[str, Any]) -> list[int]:
    """All brokers that are named, ascending."""
    return sorted({int(n) for n in _flat(inputs)})


def _flat(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [n for inner in value.values() for n in _flat(inner)]
    if isinstance(value, list):
        return [n for inner in value for n in _flat(inner)]
    return [value] if isinstance(value, int) and not isinstance(value, bool) else []


async def moved(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    cast = Cast(scene, _numbers(inputs))
    topic = await create(scene, [cast.stubs(inputs["start"])])
    await reassign_by_znode(scene, {(topic, 0): cast.stubs(inputs["target"])})
    await catch_up(scene, topic)
    final, state = await assignment_of(scene, topic), await state_of(scene, topic)
    led = state.leader in final.replicas and not set(state.isr) - set(final.replicas)
    moving = final.adding or final.removing
    return {
        "final": cast.names(final.replicas) if led and not moving else f"{final}, {state}",
        "znode_removed": await request_gone(scene),
    }


async def missing_topic(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    cast, name = Cast(scene, inputs["target"]), TOPICS.new()
    await reassign_by_znode(scene, {(name, 0): cast.stubs(inputs["target"])})
    refused = (await reassign_by_request(scene, {(name, 0): cast.stubs(inputs["target"])}))[name, 0]
    return {"accepted": await exists(scene, topic_path(name)) or refused is None or not await request_gone(scene)}


async def no_phantoms(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    a, b, c, d = scene.stubs
    found = []
    for start, target in (([a, b], [c, d]), ([a, b, c], [b, c, d]), ([a], [b])):
        topic = await create(scene, [start])
        await reassign_by_znode(scene, {(topic, 0): target})
        await catch_up(scene, topic)
        state, assignment = await state_of(scene, topic), await assignment_of(scene, topic)
        found += [replica for replica in state.isr if replica not in assignment.replicas]
    return {"invariant": str(found) if found else "ISR is a subset of the assigned replicas"}


async def moved_to_one(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """From one broker to another, which may be down, or come back later."""
    cast = Cast(scene, [*inputs["assignment"], *inputs["target"]])
    (target,), note = inputs["target"], str(inputs["target"])
    topic = await create(scene, [cast.stubs(inputs["assignment"])])
    if "down" in note:
        await scene.stop_stub(cast.stub(target))
        await scene.settle()
    await reassign_by_znode(scene, {(topic, 0): [cast.stub(target)]})
    if "then up" in note:
        await scene.start_stub(cast.stub(target))
        await scene.settle()
    await catch_up(scene, topic)
    state, gone = await state_of(scene, topic), await request_gone(scene)
    if not gone:
        await reassign_by_request(scene, {(topic, 0): None})
    await everybody_back(scene)
    return {
        "leader": cast.name(state.leader),
        "leader_epoch": state.leader_epoch,
        "final_leader": cast.name(state.leader),
        "final_leader_epoch": state.leader_epoch,
        "znode_removed": gone,
        "znode": "removed" if gone else "stays",
    }


async def found_at_start(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The request is there before there is a controller that could see it."""
    cast = Cast(scene, _numbers(inputs))
    names = {name.partition("-")[0]: TOPICS.new() for name in [*inputs["assignment"], *inputs["znode"]]}
    partitions = {(names[name.partition("-")[0]], int(name.partition("-")[2])): name for name in inputs["znode"]}
    replicas: dict[str, list[list[int]]] = {}
    for name, brokers in sorted(inputs["assignment"].items()):
        replicas.setdefault(names[name.partition("-")[0]], []).append(cast.stubs(brokers))
    for topic, lists in replicas.items():
        await create(scene, lists, topic)
    async with scene.without_controller():
        await scene.reassign([(t, p, cast.stubs(inputs["znode"][name])) for (t, p), name in partitions.items()])
    await scene.settle()
    found: dict[str, Any] = {}
    for (topic, partition), name in partitions.items():
        if topic in replicas:
            await catch_up(scene, topic, partition)
            found[name] = cast.names((await assignment_of(scene, topic, partition)).replicas)
        else:
            dropped = not await exists(scene, topic_path(topic)) and await request_gone(scene)
            found[name] = "unknown topic, dropped" if dropped else "there"
    return found


async def znode_precedes(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Two kinds of reassignments are found at once: those that topics are in, and those that are asked for."""
    cast, topic = Cast(scene, _numbers(inputs)), TOPICS.new()
    under_way = inputs["topic_znode"]
    value = {
        "version": 2,
        "partitions": {n: cast.stubs(a["replicas"]) for n, a in under_way.items()},
        "adding_replicas": {n: cast.stubs(a["adding"]) for n, a in under_way.items()},
        "removing_replicas": {n: cast.stubs(a["removing"]) for n, a in under_way.items()},
    }
    async with scene.without_controller():
        await scene.zk(Create(topic_path(topic), json.dumps(value).encode()))
        await scene.reassign([(topic, int(n), cast.stubs(r)) for n, r in inputs["reassign_znode"].items()])
    await scene.settle()
    found: dict[str, Any] = {}
    for number in under_way:
        await catch_up(scene, topic, int(number))
        found[number] = cast.names((await assignment_of(scene, topic, int(number))).replicas)
    return found


async def latest_order(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    cast = Cast(scene, _numbers(inputs))
    topic = await create(scene, [cast.stubs(inputs["start"])])
    for target in (inputs["first"], inputs["second"]):
        await reassign_by_request(scene, {(topic, 0): cast.stubs(target)})
    await catch_up(scene, topic)
    return {"final": cast.names((await assignment_of(scene, topic)).replicas)}


async def znode_after_request(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    cast = Cast(scene, _numbers(inputs))
    topic = await create(scene, [cast.stubs(inputs["start"])])
    await reassign_by_request(scene, {(topic, 0): cast.stubs(inputs["api"])})
    await reassign_by_znode(scene, {(topic, 0): cast.stubs(inputs["zk"])})
    await catch_up(scene, topic)
    final = await assignment_of(scene, topic)
    return {"final": cast.names(final.replicas), "znode_removed": await request_gone(scene)}


async def request_after_znode(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """What is asked for is taken out of the znode; the rest of it goes on."""
    partitions = sorted({*inputs["zk"], *inputs["api"]})
    start = min(_numbers(inputs)) - 1
    cast = Cast(scene, [start, *_numbers(inputs)])
    names = {name.partition("-")[0]: TOPICS.new() for name in partitions}
    count = {name.partition("-")[0]: 1 + int(name.partition("-")[2]) for name in partitions}
    for name, topic in names.items():
        await create(scene, [[cast.stub(start)]] * count[name], topic)

    def tp(name: str) -> tuple[str, int]:
        topic, _, number = name.partition("-")
        return names[topic], int(number)

    await reassign_by_znode(scene, {tp(name): cast.stubs(replicas) for name, replicas in inputs["zk"].items()})
    await reassign_by_request(scene, {tp(name): cast.stubs(replicas) for name, replicas in inputs["api"].items()})
    there: list[bool] = []
    found: dict[str, Any] = {}
    waiting = [name for name in inputs["zk"] if name not in inputs["api"]]
    for name in [*(name for name in partitions if name not in waiting), *waiting]:
        there.append(not await request_gone(scene))
        await catch_up(scene, *tp(name))
        found[name] = cast.names((await assignment_of(scene, *tp(name))).replicas)
    ended = all(there) and await request_gone(scene)
    return found | {"znode": f"removed when {' and '.join(waiting)} finishes" if ended else f"there before: {there}"}


async def cancelled(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    cast = Cast(scene, _numbers(inputs))
    topic = await create(scene, [cast.stubs(inputs["start"])])
    if "zk" in inputs:
        await reassign_by_znode(scene, {(topic, 0): cast.stubs(inputs["zk"])})
    else:
        await reassign_by_request(scene, {(topic, 0): cast.stubs(inputs["api"])})
    await reassign_by_request(scene, {(topic, 0): None})
    final = cast.names((await assignment_of(scene, topic)).replicas)
    return {
        "final": final,
        "final_set": sorted(final),
        "order": "not guaranteed" if sorted(final) == sorted(inputs["start"]) else "of other replicas",
        "znode_removed": await request_gone(scene),
    }


async def mixed(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    cast = Cast(scene, _numbers(inputs))
    topic = await create(scene, [cast.stubs(inputs["start"][number]) for number in sorted(inputs["start"])])

    def targets(wanted: Mapping[str, Any]) -> dict[tuple[str, int], list[int] | None]:
        return {(topic, int(n)): None if t == "cancel" else cast.stubs(t) for n, t in wanted.items()}

    await reassign_by_request(scene, targets(inputs["first"]))
    answers = await reassign_by_request(scene, targets(inputs["second"]))
    found: dict[str, Any] = {}
    for number in inputs["start"]:
        await catch_up(scene, topic, int(number))
        replicas = cast.names((await assignment_of(scene, topic, int(number))).replicas)
        refused = answers.get((topic, int(number)))
        name = None if refused is None else refused.title().replace("_", "")
        found[number] = replicas if name is None else f"{name}, stays {replicas}"
    return found


async def partitions_while_moving(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    a, b, *_ = scene.stubs
    moving, other = await create(scene, [[a]]), await create(scene, [[a]])
    await reassign_by_request(scene, {(moving, 0): [b]})
    wanted = [CreatePartitionsTopic(name=name, count=2, assignments=None) for name in (moving, other)]
    answer = await scene.ask(CreatePartitionsRequest(topics=wanted, timeout_ms=10_000, validate_only=False), version=2)
    await reassign_by_request(scene, {(moving, 0): None})
    errors = {result.name: result.error_code for result in answer.results}
    return {
        "error": error_name(errors[moving], exception=True),
        "other_topics": "succeed" if errors[other] == 0 else error_name(errors[other]),
    }
