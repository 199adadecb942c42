"""Scenes of the operation deletion."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_kcontroller.cluster.topics import mark_deleted
from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.wire.messages import DeleteTopicsRequest, DeleteTopicState
from pytest_kcontroller.zookeeper.session import Create, Delete
from pytest_kcontroller.zookeeper.znodes import DELETE_TOPICS, state_parents, state_path, topic_path
from tests.fidelity.scenarios.scene import Scene
from tests.fidelity.scenes.stagehands import (
    TOPICS,
    create,
    deleted_on,
    everybody_back,
    exists,
    find_state,
    reassign_by_request,
    state_of,
)
from tests.fidelity.stage import error_name


def scene_of(inputs: Mapping[str, Any]) -> Any:
    if "sequence" in inputs:
        return _SEQUENCES.get(tuple(inputs["sequence"]))
    if inputs.get("queued") is True and "reassign" in str(inputs.get("request")):
        return reassigned_while_queued
    if inputs.get("queued") is True and "partitions" in str(inputs.get("request")):
        return extended_while_queued
    if "controller" in str(inputs.get("down")):
        return follower_and_controller_down
    if "follower" in str(inputs.get("down")):
        return follower_down
    if "delete" in inputs:
        return of_nothing if "existing" in inputs else marked_twice
    if "already removed" in str(inputs.get("state")):
        return half_deleted
    return all_alive if set(inputs) == {"rf"} else None


async def _gone(scene: Scene, topic: str, replicas: Mapping[int, list[int]]) -> list[str]:
    """What is left of a topic; `replicas`: stub -> the partitions that it was to delete."""
    paths = (topic_path(topic), f"/config/topics/{topic}", f"{DELETE_TOPICS}/{topic}")
    left = [path for path in paths if await exists(scene, path)]
    left += [f"stub {stub}" for stub, numbers in replicas.items() if deleted_on(scene.stubs[stub], topic) != numbers]
    return left


async def _with_config(scene: Scene, partitions: int = 1, brokers: int = 3) -> tuple[str, list[int]]:
    """A topic with a configuration, and its brokers."""
    topic, replicas = TOPICS.new(), list(scene.stubs)[:brokers]
    await scene.zk(Create(f"/config/topics/{topic}", json.dumps({"version": 1, "config": {}}).encode()))
    await create(scene, [replicas] * partitions, topic)
    return topic, replicas


async def _delete(scene: Scene, topic: str) -> None:
    await scene.delete(topic)
    await scene.settle()


async def all_alive(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    topic, replicas = await _with_config(scene, brokers=inputs["rf"])
    await _delete(scene, topic)
    left = await _gone(scene, topic, {key: [0] for key in replicas})
    return {"result": str(left) if left else "topic znode, config znode and /admin/delete_topics entry gone; logs gone"}


async def follower_down(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    topic, replicas = await _with_config(scene, brokers=inputs.get("rf", 3))
    follower = replicas[-1]
    await scene.stop_stub(follower)
    await scene.settle()
    await _delete(scene, topic)
    others = [deleted_on(scene.stubs[stub], topic) for stub in replicas[:-1]]
    marked = await exists(scene, f"{DELETE_TOPICS}/{topic}")
    await everybody_back(scene)
    left = await _gone(scene, topic, {follower: [0]})
    waited = marked and all(numbers == [0] for numbers in others)
    return {
        "while_down": "other logs deleted, marker stays" if waited else f"{others}, marked: {marked}",
        "after_restart": str(left) if left else "deletion completes",
    }


async def follower_and_controller_down(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    topic, replicas = await _with_config(scene)
    await scene.stop_stub(replicas[-1])
    await scene.settle()
    await _delete(scene, topic)
    await scene.depose()
    await scene.settle()
    marked = await exists(scene, f"{DELETE_TOPICS}/{topic}") and await exists(scene, topic_path(topic))
    await everybody_back(scene)
    left = await _gone(scene, topic, {})
    return {
        "while_down": "marker stays" if marked else "gone",
        "after_restart": str(left) if left else "deletion completes",
    }


async def reassigned_while_queued(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    topic, replicas = await _with_config(scene)
    await scene.stop_stub(replicas[-1])
    await scene.settle()
    await _delete(scene, topic)
    error = (await reassign_by_request(scene, {(topic, 0): list(scene.stubs)[1:]}))[topic, 0]
    await everybody_back(scene)
    return {"error": None if error is None else error.title().replace("_", "")}


async def extended_while_queued(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    topic, replicas = await _with_config(scene)
    await scene.stop_stub(replicas[-1])
    await scene.settle()
    await _delete(scene, topic)
    await scene.extend(topic, [replicas])
    await scene.settle()
    taken_out = list((await scene.json(topic_path(topic)))["partitions"]) == ["0"]
    await scene.depose()
    await scene.settle()
    await everybody_back(scene)
    left = await _gone(scene, topic, {})
    done = taken_out and not left
    there = "deletion completes; added partition is taken out of the topic znode (KAFKA-6612)"
    return {"result": there if done else f"taken out: {taken_out}; left: {left}"}


async def deleted_after_extension(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    topic, replicas = await _with_config(scene)
    await scene.extend(topic, [replicas])
    await _delete(scene, topic)
    left = await _gone(scene, topic, {key: [0, 1] for key in replicas})
    return {"result": str(left) if left else "both partitions are deleted"}


async def extended_after_deletion(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    topic, replicas = await _with_config(scene)
    await scene.stop_stub(replicas[-1])
    await scene.settle()
    await _delete(scene, topic)
    await scene.extend(topic, [replicas[:-1]])
    await scene.settle()
    tp = TopicPartition(topic, 1)
    hosted = [stub for stub in scene.stubs if tp in scene.stubs[stub].replicas]
    await everybody_back(scene)
    left = await _gone(scene, topic, {})
    return {"result": f"{left}, hosted by {hosted}" if left or hosted else "topic gone, new partition has no log"}


async def made_again(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    topic, replicas = await _with_config(scene)
    before = {stub: scene.stubs[stub].topic_ids[topic] for stub in replicas}
    await _delete(scene, topic)
    await create(scene, [replicas], topic)
    state, tp = await state_of(scene, topic), TopicPartition(topic, 0)
    fresh = all(
        scene.stubs[stub].topic_ids[topic] != before[stub] and scene.stubs[stub].replicas[tp].is_new
        for stub in replicas
    )
    right = fresh and (state.leader_epoch, list(state.isr)) == (0, replicas)
    return {"result": "fresh logs on all replicas" if right else str(state)}


async def of_nothing(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Markers for a topic that does not exist."""
    topic, _replicas = await _with_config(scene)
    state = await find_state(scene, topic)
    missing = TOPICS.new()
    await _delete(scene, missing)
    marked, now = await exists(scene, f"{DELETE_TOPICS}/{missing}"), await find_state(scene, topic)
    return {
        "error": await delete_by_request(scene, missing),
        "marker": "stays" if marked else "removed by the controller if it was written directly",
        "other_topics": "untouched" if state == now else str(now),
    }


async def marked_twice(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """While a broker is down, so that the first marker is still there."""
    topic, replicas = await _with_config(scene)
    await scene.stop_stub(replicas[-1])
    await scene.settle()
    error = None
    for _ in inputs["delete"]:
        try:
            await mark_deleted(scene.ground.cluster.admin, topic)
        except UsageError as refused:
            error = "TopicAlreadyMarkedForDeletion" if "being deleted already" in refused.what else refused.what
        await scene.settle()
    await everybody_back(scene)
    return {"error": error}


async def delete_by_request(scene: Scene, topic: str) -> str | None:
    """The error of DeleteTopics, as Kafka's exception is called."""
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)], timeout_ms=10_000)
    answer = await scene.ask(request, version=6)
    await scene.settle()
    return error_name(answer.responses[0].error_code, exception=True)


async def half_deleted(scene: Scene, inputs: Mapping[str, Any]) -> dict[str, Any]:
    topic, _ = await _with_config(scene)
    tp = TopicPartition(topic, 0)
    async with scene.without_controller():
        await scene.zk(Create(f"{DELETE_TOPICS}/{topic}"))
        await scene.zk(Delete(state_path(tp)))
        await scene.zk(Delete(state_parents(tp)[1]))
    await scene.settle()
    left = await _gone(scene, topic, {})
    return {"result": str(left) if left else "new controller finishes the deletion"}


_SEQUENCES = {
    ("add partition 1", "delete topic"): deleted_after_extension,
    ("delete topic", "add partition 1"): extended_after_deletion,
    ("delete", "create same name"): made_again,
}
