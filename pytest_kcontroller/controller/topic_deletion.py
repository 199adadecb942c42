"""A topic that is to be deleted, from its marker in /admin/delete_topics until nothing is left of it.

Queued, it has no leaders any more; started, its partitions exist no more and its replicas are being deleted, by StopReplica;
when all brokers have said that they have done it, its znode, its config and its marker go, in this order. A replica whose
broker is away, or could not delete it, makes the topic ineligible until a broker of it comes.

Each function goes on with whatever is due then, and raises FencedError and SessionExpiredError.
Source: kafka.controller.TopicDeletionManager (3.9).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from pytest_kcontroller.controller.context import Context, Replicas
from pytest_kcontroller.controller.fences import fence_of_deleted_topics, fence_of_deletion_markers
from pytest_kcontroller.controller.loading import topics_to_delete
from pytest_kcontroller.controller.reassignment_znode import take_out
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.controller.transitions import (
    PartitionState,
    PartitionTransition,
    ReplicaState,
    ReplicaTransition,
)
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.model.history import TopicDeletionComplete
from pytest_kcontroller.model.kafka_config import DELETE_TOPIC
from pytest_kcontroller.runtime.holds import BEFORE_MARKER_DELETE, BEFORE_TOPIC_DELETE
from pytest_kcontroller.seams import seam
from pytest_kcontroller.zookeeper.config_znodes import TOPIC_CONFIGS, config_path
from pytest_kcontroller.zookeeper.recursive import delete_recursively
from pytest_kcontroller.zookeeper.session import Delete
from pytest_kcontroller.zookeeper.znodes import delete_topic_path, topic_path

CAUSE = "TopicDeletion"


async def load(term: Term) -> None:
    """At failover: queues what is marked. One of whose brokers is away has to wait.

    Kafka lets those wait too whose replicas are being reassigned, and goes on with that, though a topic without leaders may
    never get to its end: then it is never deleted. Here nobody reassigns what is to be deleted.
    """
    marked = await topics_to_delete(term)
    if not DELETE_TOPIC.of(term.config):
        await remove_markers(term, marked)
        return
    deletions = term.context.deletions
    deletions.queue(marked)
    deletions.hold(topic for topic in marked if _anyone_offline(term.context, topic))


@seam("controller.resume-deletions-at-start")
async def resume_at_failover(term: Term) -> None:
    """What an earlier controller has not finished goes on, or waits for an event that may never come (KAFKA-1681)."""
    await resume(term)


async def enqueue(term: Term, topics: Collection[str]) -> None:
    """These are marked."""
    term.context.deletions.queue(topics)
    await resume(term)


async def resume_with(term: Term, brokers: Iterable[int]) -> None:
    """These have come: topics with replicas there need not wait any more."""
    context = term.context
    if not context.deletions.queued:
        return
    found = {tp.topic: None for tps in context.replicas_on(brokers).values() for tp in tps if context.to_be_deleted(tp)}
    await resume_for(term, list(found))


async def resume_for(term: Term, topics: Sequence[str]) -> None:
    """What these have waited for is over."""
    queued = [topic for topic in topics if topic in term.context.deletions.queued]
    if queued:
        term.context.deletions.release(queued)
        await resume(term)


async def fail(term: Term, replicas: Replicas) -> None:
    """They cannot be deleted now."""
    if failed := _queued(term.context, replicas):
        await _move(term, failed, ReplicaState.DELETION_INELIGIBLE)
        term.context.deletions.hold(_topics(failed))
        await resume(term)


async def complete(term: Term, replicas: Replicas) -> None:
    """Their brokers have deleted them."""
    await _move(term, _queued(term.context, replicas), ReplicaState.DELETION_SUCCESSFUL)
    await resume(term)


async def resume(term: Term) -> None:
    """Whatever is due: topics of which nothing is left but znodes, replicas that failed, topics that may start.

    A replica that failed is not tried again while others of its topic are at work (Kafka's unit tests call that undesired).
    """
    context = term.context
    done: list[str] = []
    again: list[str] = []
    eligible: list[str] = []
    for topic in sorted(context.deletions.queued):
        states = _replica_states(context, topic)
        if all(state is ReplicaState.DELETION_SUCCESSFUL for state in states):
            done.append(topic)
        elif ReplicaState.DELETION_STARTED not in states:
            if ReplicaState.DELETION_INELIGIBLE in states:
                again.append(topic)
            if topic not in context.deletions.ineligible:
                eligible.append(topic)
    if done:
        await _end(term, done)
    if again:
        ineligible = _in_state(context, again, lambda state: state is ReplicaState.DELETION_INELIGIBLE)
        await _move(term, ineligible, ReplicaState.OFFLINE)
    if eligible:
        await _start(term, eligible)


async def remove_markers(term: Term, topics: Iterable[str]) -> None:
    """Nobody asks for their deletion any more."""
    if ops := [Delete(delete_topic_path(topic)) for topic in sorted(topics)]:
        await term.runtime.holds.reach(BEFORE_MARKER_DELETE)
        await term.store.write_each(ops, fence=fence_of_deletion_markers(term.context))


async def _start(term: Term, topics: Sequence[str]) -> None:
    """Source: onTopicDeletion, onPartitionDeletion."""
    context = term.context
    new = [topic for topic in topics if topic not in context.deletions.started]
    partitions = _partitions(context, new)
    for target in (PartitionState.OFFLINE, PartitionState.NON_EXISTENT):
        await term.partitions.transition(partitions, PartitionTransition(target=target, cause=CAUSE))
    context.deletions.start(new)
    await term.requests.update_metadata(context.registered_ids(), _partitions(context, topics))
    _take_over(context, topics)
    replicas = context.replicas_of(topics)
    away = {b: off for b, tps in replicas.items() if (off := [tp for tp in tps if not context.online(tp, b)])}
    await _move(term, away, ReplicaState.DELETION_INELIGIBLE)
    left = _in_state(context, topics, lambda state: state is not ReplicaState.DELETION_SUCCESSFUL)
    there = {b: on for b, tps in left.items() if (on := [tp for tp in tps if context.online(tp, b)])}
    await _move(term, there, ReplicaState.OFFLINE)
    await _move(term, there, ReplicaState.DELETION_STARTED)
    context.deletions.hold(_topics(away))


def _take_over(context: Context, topics: Sequence[str]) -> None:
    """Replicas that a reassignment has added before it failed: they have no state yet, and Kafka waits for them for ever."""
    for broker, tps in _in_state(context, topics, lambda state: state is ReplicaState.NON_EXISTENT).items():
        context.set_replica_state(broker, tps, ReplicaState.OFFLINE)


async def _end(term: Term, topics: Sequence[str]) -> None:
    """Nothing of them is left on any broker. Whoever is interrupted here leaves the markers, and the next one goes on.

    Source: completeDeleteTopic. (What Kafka mutes, the watch of the topic's znode, does no harm here.)
    """
    context = term.context
    replicas = {str(tp): list(context.assignments[tp].replicas) for tp in _partitions(context, topics)}
    term.record(TopicDeletionComplete(epoch=context.epoch, topics=list(topics), replicas=replicas))
    await _move(term, context.replicas_of(topics), ReplicaState.NON_EXISTENT)
    await term.runtime.holds.reach(BEFORE_TOPIC_DELETE)
    fence = fence_of_deleted_topics(context)
    await delete_recursively(term.store, [topic_path(topic) for topic in topics], fence=fence)
    await delete_recursively(term.store, [config_path(TOPIC_CONFIGS, topic) for topic in topics], fence=fence)
    await remove_markers(term, topics)
    reassigned = any(tp.topic in topics for tp in context.reassigning())
    for topic in topics:
        context.drop_topic(topic)
    if reassigned:
        await take_out(term, lambda tp, _: tp.topic in topics)


async def _move(term: Term, replicas: Replicas, target: ReplicaState) -> None:
    if replicas:
        await term.replicas.transition(replicas, ReplicaTransition(target=target, cause=CAUSE))


def _anyone_offline(context: Context, topic: str) -> bool:
    return any(context.offline_of(tp) for tp in context.partitions_of(topic))


def _partitions(context: Context, topics: Iterable[str]) -> list[TopicPartition]:
    return [tp for topic in topics for tp in context.partitions_of(topic)]


def _topics(replicas: Replicas) -> list[str]:
    return list({tp.topic: None for tps in replicas.values() for tp in tps})


def _queued(context: Context, replicas: Replicas) -> Replicas:
    """Those of topics that are queued."""
    if not context.deletions.queued:
        return {}
    return {b: queued for b, tps in replicas.items() if (queued := [tp for tp in tps if context.to_be_deleted(tp)])}


def _replica_states(context: Context, topic: str) -> list[ReplicaState]:
    return [
        context.replica_state(tp, broker)
        for tp in context.partitions_of(topic)
        for broker in context.assignments[tp].replicas
    ]


def _in_state(context: Context, topics: Iterable[str], wanted: Callable[[ReplicaState], bool]) -> Replicas:
    """The replicas of these topics in a state that is wanted."""
    return {
        broker: found
        for broker, tps in context.replicas_of(topics).items()
        if (found := [tp for tp in tps if wanted(context.replica_state(tp, broker))])
    }
