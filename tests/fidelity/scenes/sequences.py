"""Scenes of the operation integration_sequences."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_kcontroller.model.cluster import TopicPartition
from tests.fidelity.scenarios.scene import Scene
from tests.fidelity.scenes.stagehands import (
    Cast,
    catch_up,
    create,
    everybody_back,
    exists,
    reassign_by_znode,
    state_of,
)

ELECTION = "/admin/preferred_replica_election"
REBALANCED_S = 6
"""Kafka's controller looks after leaders five seconds after its election for the first time."""


def scene_of(inputs: Mapping[str, Any]) -> Any:
    keys, steps = set(inputs), str(inputs.get("steps", ""))
    if inputs.get("auto") or "stuck_reassignment" in keys or keys >= {"assignment", "target"}:
        return rebalanced
    if "shutdown" in steps:
        return controlled_shutdowns
    if "preferred" in steps or "rounds" in keys or "preferred" in keys:
        return preferred
    if "unclean" in keys:
        return isr_goes_offline
    if "topic_znode" in keys:
        return expanded
    if "event" in keys:
        return _EVENTS.get(inputs["event"])
    return created if keys == {"assignment"} else None


async def created(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """With a topic, and with one more partition of it alike. `dead`: that broker is down."""
    names = inputs["assignment"]
    cast = Cast(scene, names)
    for name in names:
        if name == "dead":
            await scene.stop_stub(cast.stub(name))
    await scene.settle()
    others = [stub for stub in scene.stubs if scene.stubs[stub].registered]
    topic = await create(scene, [cast.stubs(names)])
    wider = await create(scene, [others[: len(names)]])
    await scene.extend(wider, [cast.stubs(names)])
    await scene.settle()
    first, added = await state_of(scene, topic), await state_of(scene, wider, 1)
    await everybody_back(scene)
    if (first.leader, first.leader_epoch, first.isr) != (added.leader, added.leader_epoch, added.isr):
        return {"leader": [first.leader, added.leader]}
    epoch = int((await scene.node("/controller_epoch")).data)
    return {
        "leader": cast.name(first.leader),
        "leader_epoch": first.leader_epoch,
        "controller_epoch": first.controller_epoch - epoch + 1,  # of the scene's first controller
    }


async def expanded(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    first, second, *_ = scene.stubs
    topic = await create(scene, [[second]])
    await scene.extend(topic, [[first]])
    await scene.settle()
    state = await state_of(scene, topic, 1)
    return {"leader": Cast(scene, [0, 1]).name(state.leader), "leader_epoch": state.leader_epoch}


async def preferred(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The preferred replica's broker goes, comes back into the ISR, and leads again; or is down when it is to lead."""
    cast = Cast(scene, inputs.get("assignment", ["o", "c"]))
    down = inputs.get("preferred") == "down"
    first = cast.stub("o")
    topic = await create(scene, [[first, cast.stub("c")]])
    epochs = [(await state_of(scene, topic)).leader_epoch]
    for _ in range(inputs.get("rounds", 1)):
        await scene.stop_stub(first)
        await scene.settle()
        epochs.append((await state_of(scene, topic)).leader_epoch)
        if not down:
            await scene.start_stub(first)
            await scene.settle()
            await catch_up(scene, topic)
        await scene.elect([(topic, 0)])
        await scene.settle()
        epochs.append((await state_of(scene, topic)).leader_epoch)
    state, gone = await state_of(scene, topic), not await exists(scene, ELECTION)
    await everybody_back(scene)
    return {
        "leader": cast.name(state.leader),
        "leader_epoch": state.leader_epoch,
        "leader_epochs": epochs,
        "final_leader_epoch": state.leader_epoch,
        "znode_removed": gone,
    }


async def isr_goes_offline(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    cast = Cast(scene, inputs["assignment"])
    topic = await create(scene, [cast.stubs(inputs["assignment"])])
    await scene.unclean(topic, "true" if inputs["unclean"] else "false")
    await scene.settle()
    for name in inputs["assignment"]:
        await scene.stop_stub(cast.stub(name))
    await scene.settle()
    state = await state_of(scene, topic)
    await everybody_back(scene)
    return {"leader": state.leader, "leader_epoch": state.leader_epoch, "isr": cast.names(state.isr)}


async def controlled_shutdowns(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """None of them really stops."""
    cast = Cast(scene, inputs["assignment"])
    topic = await create(scene, [cast.stubs(inputs["assignment"])])
    remaining, leaders, isrs = [], [], []
    order = [int(step.split()[1]) for step in inputs["steps"]]
    for name in order:
        _, error, left = await scene.shutdown(cast.stub(name))
        remaining.append(len([tp for tp in left if tp[0] == topic]) if error == 0 else f"error {error}")
        await scene.settle()
        state = await state_of(scene, topic)
        leaders.append(cast.name(state.leader))
        isrs.append(cast.names(state.isr))
    for stub in cast.stubs(order):  # they come back as others
        await scene.bounce(stub)
    await scene.settle()
    always = leaders[0] if len(dict.fromkeys(leaders)) == 1 else leaders
    return {"remaining": remaining, "leader_always": always} | {
        f"isr_after_{name}": isr for name, isr in zip(order, isrs, strict=True)
    }


async def all_restart_but_the_holder(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    holder, *others = scene.stubs
    topic = await create(scene, [[holder]])
    await scene.stop_stub(holder)
    await scene.settle()
    for stub in others:
        await scene.stop_stub(stub)
    await scene.settle()
    await scene.depose()
    await scene.settle()
    for stub in others:
        scene.stubs[stub].metadata.clear()
        await scene.start_stub(stub)
    await scene.settle()
    known = [scene.stubs[stub].metadata[TopicPartition(topic, 0)] for stub in others]
    await everybody_back(scene)
    leaders = list(dict.fromkeys(state.leader for state in known))
    return {
        "leader": leaders[0] if len(leaders) == 1 else leaders,
        "isr": "not empty" if all(state.isr for state in known) else "empty",
        "offline_replicas": "not empty" if all(holder in state.offline_replicas for state in known) else "empty",
    }


async def broker_without_replicas_dies(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    offline, idle, *others = scene.stubs
    await create(scene, [[offline]])
    await scene.stop_stub(offline)
    await scene.settle()
    await scene.stop_stub(idle)
    await scene.settle()
    propagated = all(idle not in scene.stubs[stub].live_brokers for stub in others)
    await everybody_back(scene)
    return {"live_brokers_propagated": propagated}


async def follower_dies(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    leader, follower, other, *_ = scene.stubs
    topic = await create(scene, [[leader, follower, other]])
    await scene.stop_stub(follower)
    await scene.settle()
    known = scene.stubs[leader].metadata[TopicPartition(topic, 0)]
    await everybody_back(scene)
    names: Mapping[Sequence[int], str] = {(follower,): "the follower"}
    return {
        "offline_replicas": [names[known.offline_replicas]]
        if known.offline_replicas in names
        else list(known.offline_replicas),
        "isr_shrunk": tuple(known.isr) == (leader, other),
        "replicas": "unchanged" if tuple(known.replicas) == (leader, follower, other) else list(known.replicas),
    }


async def unclean_after_all_have_gone(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """`stop A -> ...`, `stop B -> ...`, `start A, unclean on`: what a vector says of a state in between has to be true."""
    cast = Cast(scene, ["A", "B"])
    topic = await create(scene, [cast.stubs(["A", "B"])])
    wrong = []
    for step in inputs["steps"]:
        action, name = step.replace(",", "").split()[:2]
        if "unclean on" in step:
            await scene.unclean(topic, "true")
        await (scene.stop_stub if action == "stop" else scene.start_stub)(cast.stub(name))
        await scene.settle()
        state = await state_of(scene, topic)
        said = f"leader {cast.name(state.leader)} isr [{', '.join(cast.names(state.isr))}]"
        if "->" in step and not step.endswith(said):
            wrong.append(f"{step}: {said}")
    await everybody_back(scene)
    return {
        "leader": wrong or cast.name(state.leader),
        "isr": cast.names(state.isr),
        "recovery": "RECOVERING" if state.recovering else "RECOVERED",
    }


_EVENTS = {
    "all brokers restart except the only replica holder": all_restart_but_the_holder,
    "a broker without replicas dies while another partition is offline": broker_without_replicas_dies,
    "a follower dies": follower_dies,
}


async def rebalanced(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The controller looks after its leaders every second (REBALANCING). A reassignment, of this topic or of another one,
    may wait for a broker that is down."""
    target = [str(name).partition("(")[0] for name in inputs.get("target", ())]
    names = inputs.get("assignment", [1, 0])
    cast = Cast(scene, [*names, *target, "away"])
    away, first = cast.stub(target[-1] if target else "away"), cast.stub((target or names)[0])
    await scene.stop_stub(away)
    await scene.settle()
    topic = await create(scene, [cast.stubs(names)])
    states = [await state_of(scene, topic)]
    stuck = await create(scene, [[cast.stub(names[1])]])
    if "stuck_reassignment" in inputs:
        await reassign_by_znode(scene, {(stuck, 0): [away]})
    if target:
        await reassign_by_znode(scene, {(topic, 0): cast.stubs(target)})
    else:
        await scene.stop_stub(first)
        await scene.settle()
        states.append(await state_of(scene, topic))
        await scene.start_stub(first)
        await scene.settle()
        await catch_up(scene, topic)
    await asyncio.sleep(REBALANCED_S)
    await scene.settle()
    states.append(await state_of(scene, topic))
    await everybody_back(scene)  # what has waited goes on
    if target:
        states.append(await state_of(scene, topic))
    for waiting in (stuck, topic):
        await catch_up(scene, waiting)
    return {
        "leader_epochs": [state.leader_epoch for state in states],
        "leader": cast.name(states[-1].leader),
        "preferred_moves": any(state.leader != first for state in states) and states[-1].leader == first,
    }
