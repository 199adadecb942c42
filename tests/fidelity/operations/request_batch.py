"""request_batch: which requests become of what was added to a batch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from pytest_kcontroller.controller.batch import Batch, UnsentRequestsError
from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.controller.events.topic_deletion_stop_replica_response import deletion_answered
from pytest_kcontroller.model.cluster import Address, Assignment, Broker, LeaderAndIsr, TopicPartition
from pytest_kcontroller.wire.messages import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from tests.fidelity.vectors import Vector
from tests.tools.broker_answers import answer_of
from tests.tools.controller_box import ControllerBox

BROKERS = (1, 2, 3)
TP = TopicPartition("foo", 0)
STATE = LeaderAndIsr(leader=1, leader_epoch=4, isr=(1, 2), controller_epoch=1)
Sent = list[tuple[int, Any]]


def observe(vector: Vector) -> dict[str, Any]:
    inputs = vector.inputs
    if "previous_batch" in inputs:
        return _after(inputs["previous_batch"])
    if "adds" in inputs:
        return _added_twice(inputs["adds"])
    if "targets" in inputs:
        return _to_targets(inputs)
    if "delete" in inputs:
        return _answered(inputs)
    if "version" in inputs:
        return {"requests_new": _mixed(), "requests_old": None}
    if "queued" in inputs:
        return _metadata_of_queued(inputs["queued"])
    if "leader_and_isr_to" in inputs:
        return _implied(inputs["leader_and_isr_to"])
    if "leadership" in inputs:
        return _without_leadership(inputs)
    return {"order": _order()}


def _context(registered: Iterable[int] = BROKERS, topics: Collection[str] = ("foo",), partitions: int = 1) -> Context:
    context = Context(1, 1)
    for broker in registered:
        context.register(Broker(id=broker, address=Address("127.0.0.1", 9000 + broker), epoch=broker))
    for topic in topics:
        context.add_topic(topic, None)
        context.assign(topic, {number: Assignment(BROKERS) for number in range(partitions)})
        context.set_leadership({TopicPartition(topic, number): STATE for number in range(partitions)})
    return context


def _built(context: Context, add: Callable[[Batch], None]) -> Sent:
    batch = Batch(0, context)
    add(batch)
    return list(batch.build())


def _of(sent: Sent, kind: type) -> dict[int, list[Any]]:
    """Broker -> its requests of a kind."""
    found: dict[int, list[Any]] = {}
    for broker, request in sent:
        if isinstance(request, kind):
            found.setdefault(broker, []).append(request)
    return found


def _entry(request: Any) -> Any:
    return request.topic_states[0].partition_states[0]


def _added_twice(adds: Sequence[bool]) -> dict[str, Any]:
    """The same partition for the same broker, with what each of them says."""

    def new(batch: Batch) -> None:
        for is_new in adds:
            batch.leader_and_isr([2], TP, STATE, is_new=is_new)

    def stop(batch: Batch) -> None:
        for delete in adds:
            batch.stop_replicas(2, [TP], delete=delete)

    told = _of(_built(_context(), new), LeaderAndIsrRequest)[2]
    stopped = _of(_built(_context(), stop), StopReplicaRequest)[2]
    return {
        "is_new": _entry(told[-1]).is_new,
        "delete": _entry(stopped[-1]).delete_partition,
        "requests": max(len(told), len(stopped)),
    }


def _to_targets(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Each kind of request to the targets, in a batch of its own: all kinds go to the same brokers."""
    targets, dead = inputs["targets"], inputs.get("dead", ())
    context = _context(broker for broker in targets if broker >= 0 and broker not in dead)
    for broker in inputs.get("shutting_down", ()):
        context.begin_shutdown(broker)

    def stop(batch: Batch) -> None:
        for broker in targets:
            batch.stop_replicas(broker, [TP], delete=False)

    led = _built(context, lambda batch: batch.leader_and_isr(targets, TP, STATE, is_new=False))
    updated = _built(context, lambda batch: batch.update_metadata(targets, [TP]))
    sent_to = [
        sorted(_of(led, LeaderAndIsrRequest)),
        sorted(_of(updated, UpdateMetadataRequest)),
        sorted(_of(_built(context, stop), StopReplicaRequest)),
    ]
    return {
        "sent_to": sent_to[0] if all(brokers == sent_to[0] for brokers in sent_to) else sent_to,
        "update_metadata_sent_to": sorted(_of(led, UpdateMetadataRequest)),
        "live_brokers": [broker.id for broker in updated[0][1].live_brokers],
    }


def _implied(brokers: Sequence[int]) -> dict[str, Any]:
    sent = _built(_context(), lambda batch: batch.leader_and_isr(brokers, TP, STATE, is_new=False))
    updates = _of(sent, UpdateMetadataRequest)
    led = _of(sent, LeaderAndIsrRequest)
    counts = [len(updates.get(broker, ())) for broker in BROKERS] + [len(led.get(broker, ())) for broker in brokers]
    return {"update_metadata": max(counts[: len(BROKERS)]), "one_request_per_broker": set(counts) == {1}}


def _without_leadership(inputs: Mapping[str, Any]) -> dict[str, Any]:
    context = _context(topics=())
    context.add_topic("foo", None)
    tps = context.assign("foo", {number: Assignment(BROKERS) for number in range(inputs["partitions"])})
    context.set_leadership(dict.fromkeys(tps[: inputs["leadership"]], STATE))
    request = _built(context, lambda batch: batch.update_metadata(BROKERS, tps))[0][1]
    return {
        "partitions_in_request": sum(len(topic.partition_states) for topic in request.topic_states),
        "live_brokers": [broker.id for broker in request.live_brokers],
    }


def _metadata_of_queued(queued: Sequence[str]) -> dict[str, Any]:
    """Of foo and bar, of which some are to be deleted."""
    context = _context(topics=("foo", "bar"))
    context.deletions.queue(queued)
    tps = list(context.partitions())
    request = _built(context, lambda batch: batch.update_metadata(BROKERS, tps))[0][1]
    entries = {topic.topic_name: topic.partition_states[0] for topic in request.topic_states}
    normal = entries["bar"].leader == STATE.leader and entries["bar"].isr == STATE.isr
    return {
        "foo_leader": entries["foo"].leader,
        "isr": "unchanged" if entries["foo"].isr == STATE.isr else list(entries["foo"].isr),
        "bar": "normal" if normal else f"led by {entries['bar'].leader}",
    }


def _answered(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """A StopReplica for foo and bar is answered without an error: whose deletion is that an event of?"""
    context = _context(topics=("foo", "bar"))
    context.deletions.queue([*inputs.get("queued", ()), *inputs.get("started", ())])
    context.deletions.start(inputs.get("started", ()))
    tps = list(context.partitions())
    ((_, request),) = _built(context, lambda batch: batch.stop_replicas(2, tps, delete=inputs["delete"]))
    event = deletion_answered(context, 2, request, answer_of(request, {}))
    topics = [] if event is None else list(dict.fromkeys(tp.topic for tp in event.errors))
    epochs = {topic.topic_name: topic.partition_states[0].leader_epoch for topic in request.topic_states}
    return {
        "events": int(event is not None),
        "only_topic": topics[0] if len(topics) == 1 else topics,
        "foo_leader_epoch": epochs["foo"],
    }


def _mixed() -> int:
    """How many StopReplicas become of one that deletes and one that does not, for the same broker."""

    def add(batch: Batch) -> None:
        for tp, delete in zip(context.partitions(), (True, False), strict=True):
            batch.stop_replicas(2, [tp], delete=delete)

    context = _context(topics=("foo", "bar"))
    return len(_of(_built(context, add), StopReplicaRequest)[2])


def _order() -> list[str]:
    def add(batch: Batch) -> None:
        batch.stop_replicas(1, [TP], delete=False)
        batch.update_metadata([1], [TP])
        batch.leader_and_isr([1], TP, STATE, is_new=False)

    sent = _built(_context(), add)
    return [type(request).__name__.removesuffix("Request") for broker, request in sent if broker == 1]


def _after(previous: str) -> dict[str, Any]:
    """A new batch while another one has been filled and not sent, in the turn of an event."""
    with ControllerBox(brokers=BROKERS) as box:
        box.start()
        term = box.controller.term
        assert term is not None
        batch = term.requests.batch()
        if previous == "not empty":
            batch.update_metadata(BROKERS)
        box.forget()
        box.move_broker(2, 9999)
        failed = [event["error"] for event in box.events("controller.event-failed")]
        return {
            "error": "IllegalState" if any(UnsentRequestsError.__name__ in error for error in failed) else None,
            "effect": "controller resigns" if box.events("controller.resigned") else None,
        }
