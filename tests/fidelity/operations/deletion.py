"""deletion: which topics wait, which replicas are tried again, and what a broker's answer means."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pytest_kcontroller.controller import topic_deletion
from pytest_kcontroller.controller.events.topic_deletion_stop_replica_response import (
    TopicDeletionStopReplicaResponseReceived,
    deletion_answered,
)
from pytest_kcontroller.controller.transitions import PartitionState, ReplicaState
from pytest_kcontroller.model.cluster import Address, Broker, TopicPartition
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import (
    StopReplicaPartitionError,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
    StopReplicaTopicState,
)
from tests.fidelity.stage import TOPIC, TP, Stage, stage, state_of
from tests.fidelity.vectors import Vector
from tests.tools.controller_box import ControllerBox, partition

BROKERS = (1, 2, 3)


def observe(vector: Vector) -> dict[str, Any]:
    inputs = vector.inputs
    if "steps" in inputs:
        return _played(inputs)
    if "partitions" in inputs:
        return _answered(inputs)
    if "any_started" in inputs:
        return _resumed(inputs)
    if "delete_topic_enable" in inputs:
        return _switched_off(inputs)
    if "reassigning_topics" in inputs:
        return _reassigning(inputs)
    return _held(inputs)


def _held(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Only topics that are to be deleted can be ineligible for that."""
    with stage(brokers=BROKERS) as on:
        on.context.deletions.queue(inputs.get("to_delete", inputs.get("queued", ())))
        on.context.deletions.hold(inputs.get("ineligible", inputs.get("mark_ineligible", ())))
        return {
            "to_be_deleted": list(on.context.deletions.queued),
            "ineligible": list(on.context.deletions.ineligible),
        }


def _resumed(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Of a topic with three replicas: is its deletion started, and are those that failed tried again?"""
    with stage(brokers=BROKERS) as on:
        on.place([list(BROKERS)], states={0: state_of({"leader": 1, "isr": BROKERS})})
        on.context.set_partition_state([TP], PartitionState.ONLINE)
        started, failed = inputs.get("any_started"), inputs.get("any_ineligible")
        states = {
            1: ReplicaState.DELETION_STARTED if started else ReplicaState.ONLINE,
            2: ReplicaState.DELETION_INELIGIBLE if failed else ReplicaState.ONLINE,
            3: ReplicaState.DELETION_SUCCESSFUL if started or failed else ReplicaState.ONLINE,
        }
        for broker, state in states.items():
            done = ReplicaState.DELETION_SUCCESSFUL if inputs.get("all_successful") else state
            on.context.set_replica_state(broker, [TP], done)
        if inputs.get("queued", True):
            on.context.deletions.queue([TOPIC])
        if inputs.get("ineligible") or failed:
            on.context.deletions.hold([TOPIC])
        on.box.run(topic_deletion.resume(on.term))
        again = failed and on.context.replica_state(TP, 2) is ReplicaState.OFFLINE
        return {
            "eligible": TOPIC in on.context.deletions.started,
            "retry": "Ineligible replicas -> OfflineReplica" if again else None,
        }


def _answered(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """A broker's answer to a StopReplica that deletes."""
    names = list(inputs["partitions"])
    topics: dict[str, list[int]] = {}
    for tp in map(partition, names):
        topics.setdefault(tp.topic, []).append(tp.partition)
    with stage(brokers=BROKERS) as on:
        for topic, numbers in topics.items():
            on.place([[1]] * (max(numbers) + 1), topic=topic)
            on.context.deletions.queue([topic])
            on.context.deletions.start([topic])
        request, response = _stop(topics, on.context.brokers[1].epoch), _stopped(inputs)
        event = deletion_answered(on.context, 1, request, response)
        assert event is not None
        order: list[tuple[str, list[TopicPartition]]] = []
        on.term.replicas.transition = _noting(order)  # type: ignore[method-assign]
        on.box.run(TopicDeletionStopReplicaResponseReceived.act(event, on.term))
        moved = {target: sorted(map(str, tps)) for target, tps in reversed(order)}
        targets = [target for target, _ in order]
        failed, done = ReplicaState.DELETION_INELIGIBLE.value, ReplicaState.DELETION_SUCCESSFUL.value
        return {
            "failed": moved.get(failed, []),
            "completed": moved.get(done, []),
            "order": "fail first, then complete" if targets[:2] == [failed, done] else ", ".join(targets),
        }


def _noting(order: list[tuple[str, list[TopicPartition]]]) -> Any:
    async def note(replicas: Any, to: Any) -> dict[Any, Any]:
        order.append((to.target.value, [tp for tps in replicas.values() for tp in tps]))
        return {}

    return note


def _stop(topics: Mapping[str, Sequence[int]], broker_epoch: int) -> StopReplicaRequest:
    return StopReplicaRequest(
        controller_id=1,
        controller_epoch=1,
        broker_epoch=broker_epoch,
        topic_states=[
            StopReplicaTopicState(
                topic_name=topic,
                partition_states=[StopReplicaPartitionState(partition_index=n, delete_partition=True) for n in numbers],
            )
            for topic, numbers in topics.items()
        ],
    )


def _stopped(inputs: Mapping[str, Any]) -> StopReplicaResponse:
    errors = [
        StopReplicaPartitionError(
            topic_name=partition(name).topic, partition_index=partition(name).partition, error_code=ErrorCode[error]
        )
        for name, error in inputs["partitions"].items()
    ]
    whole = ErrorCode[inputs["request_error"] or "NONE"]
    return StopReplicaResponse(error_code=whole, partition_errors=errors)


def _switched_off(inputs: Mapping[str, Any]) -> dict[str, Any]:
    with ControllerBox(brokers=BROKERS, config={"delete.topic.enable": inputs["delete_topic_enable"]}) as box:
        box.create_topic(TOPIC, [list(BROKERS)])
        box.start()
        box.delete_topic(TOPIC)
        kept = box.children("/admin/delete_topics") == [] and box.find_state(str(TP)) is not None
        return {"result": "marker is removed, topic is kept" if kept else "the topic is gone, or its marker is not"}


def _reassigning(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Its replicas are on the move to a broker that is not there."""
    away = 9
    with ControllerBox(brokers=BROKERS) as box:
        for topic in inputs["reassigning_topics"]:
            box.create_topic(topic, [[*BROKERS[:1], away]], adding={0: [away]}, removing={0: BROKERS[:1]})
        box.start()
        assert box.controller.term is not None
        context = box.controller.term.context
        box.delete_topic(*inputs["enqueue"])
        waiting = list(context.deletions.ineligible)
        return {"ineligible": waiting, "resume_on": "reassignment completes" if waiting else "nothing"}


def _played(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The steps of a deletion, in words: `enqueue`, `complete ...`, `broker 2 dies ...`, `broker 2 back ...`."""
    topics, dead = inputs.get("topics") or [inputs["topic"]], inputs.get("dead_before", [])
    with stage(brokers=[broker for broker in inputs["brokers"] if broker not in dead]) as on:
        for topic in topics:
            replicas = [list(inputs["brokers"])] * inputs.get("partitions", 1)
            led = state_of({"leader": inputs["brokers"][0], "isr": inputs["brokers"]})
            tps = on.place(replicas, topic=topic, states=dict.fromkeys(range(len(replicas)), led))
            on.context.set_partition_state(tps, PartitionState.ONLINE)
            for broker in inputs["brokers"]:
                on.context.set_replica_state(
                    broker, tps, ReplicaState.OFFLINE if broker in dead else ReplicaState.ONLINE
                )
        return _Deletion(on, topics, inputs["brokers"], dead).play(inputs["steps"])


class _Deletion:
    """Kafka's unit tests call the manager itself, and count what it asks of the state machines: so does this."""

    def __init__(self, on: Stage, topics: Sequence[str], brokers: Sequence[int], dead: Sequence[int]) -> None:
        self._on, self._topics, self._brokers, self._dead = on, topics, brokers, list(dead)
        self._calls: Counter[str] = Counter()
        self._updates = 0

    def play(self, steps: Sequence[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        with self._counted():
            for step in steps:
                self._updates = 0
                self._on.box.run(self._do(step))
                found |= dict.fromkeys(_names(step), self._seen())
        return found | {"end": self._seen(), "state_machine_calls": dict(self._calls)}

    async def _do(self, step: str) -> None:
        on, numbers = self._on, [int(number) for number in re.findall(r"\d+", step)]
        if step.startswith("enqueue"):
            await topic_deletion.enqueue(on.term, self._topics)
        elif "dies" in step:
            self._dead += numbers
            for broker in numbers:
                on.context.unregister(broker)
            await topic_deletion.fail(on.term, on.context.replicas_on(numbers))
        elif "back" in step:
            for broker in numbers:
                on.context.register(Broker(id=broker, address=Address("127.0.0.1", 9000 + broker), epoch=99))
            await topic_deletion.resume_for(on.term, self._topics)
        else:
            away = [broker for broker in self._dead if broker not in on.context.brokers]
            brokers = numbers or [broker for broker in self._brokers if broker not in away]
            await topic_deletion.complete(on.term, on.context.replicas_on(brokers))

    @contextmanager
    def _counted(self) -> Iterator[None]:
        on = self._on
        move, transition, update = topic_deletion._move, on.term.partitions.transition, on.term.requests.update_metadata

        async def noted_move(term: Any, replicas: Any, target: ReplicaState) -> None:
            self._calls[target.value] += 1
            await move(term, replicas, target)

        async def noted_transition(tps: Any, to: Any) -> Any:
            self._calls[to.target.value] += 1
            return await transition(tps, to)

        async def noted_update(brokers: Any, tps: Any = ()) -> None:
            self._updates += 1
            await update(brokers, tps)

        on.term.partitions.transition = noted_transition  # type: ignore[method-assign]
        on.term.requests.update_metadata = noted_update  # type: ignore[method-assign]
        topic_deletion._move = noted_move
        try:
            yield
        finally:
            topic_deletion._move = move

    def _seen(self) -> dict[str, Any]:
        context = self._on.context
        tps = [tp for topic in self._topics for tp in context.partitions_of(topic)]
        of = {broker: [context.replica_state(tp, broker).value for tp in tps] for broker in self._brokers}
        online = [state for broker, states in of.items() if broker not in self._dead for state in states]
        return {
            "partitions": _one([context.partition_state(tp).value for tp in tps]),
            "replicas": _one([state for states in of.values() for state in states]),
            "replica_states": [state for states in of.values() for state in states],
            "online": _one(online),
            "dead": _one([state for broker in self._dead for state in of[broker]]),
            "to_be_deleted": [topic for topic in self._topics if topic in context.deletions.queued],
            "deletion_started": [topic for topic in self._topics if topic in context.deletions.started],
            "ineligible": [topic for topic in self._topics if topic in context.deletions.ineligible],
            "metadata_updates": self._updates,
            "topic": "there" if any(map(context.has_topic, self._topics)) else "gone",
        }


def _names(step: str) -> list[str]:
    """Under which a vector has what is seen after a step."""
    for word, name in (("enqueue", "after_enqueue"), ("dies", "after_fail"), ("back", "after_resume")):
        if word in step:
            return [name]
    return ["after_complete", *(["after_complete_online"] if "online" in step else [])]


def _one(states: Sequence[str]) -> Any:
    """The state that all are in; else all of them."""
    return states[0] if len(dict.fromkeys(states)) == 1 else list(states)
