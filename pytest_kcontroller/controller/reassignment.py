"""A partition gets other replicas (KIP-455). Its phases are those of docs/reassignment.md: U, then A or B.

U: the topic znode says where from and where to. A: while the target is not in sync, its replicas are told to follow. B: once
it is in sync, it leads, and the rest is removed. The topic znode has the target alone only at the end, so that whoever takes
over in the middle finds where it began. Each step can be done again.

Source: kafka.controller.KafkaController.onPartitionReassignment (3.9).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from pytest_kcontroller.controller import topic_deletion
from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.controller.decide.reassignment import is_complete, strangers
from pytest_kcontroller.controller.failures import consequence
from pytest_kcontroller.controller.fences import fence_of_topics
from pytest_kcontroller.controller.reassignment_znode import take_out
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.controller.transitions import (
    PartitionState,
    PartitionTransition,
    ReplicaState,
    ReplicaTransition,
)
from pytest_kcontroller.model.cluster import NO_LEADER, Assignment, LeaderAndIsr, TopicPartition, next_epoch
from pytest_kcontroller.model.election import ElectionReason
from pytest_kcontroller.model.history import ReassignmentFailed, ReplicasReassigned
from pytest_kcontroller.model.text import shown
from pytest_kcontroller.runtime.holds import BEFORE_TOPIC_WRITE
from pytest_kcontroller.seams import seam
from pytest_kcontroller.wire.errors import ApiError, ErrorCode
from pytest_kcontroller.zookeeper.session import SetData
from pytest_kcontroller.zookeeper.store import Stale, Written
from pytest_kcontroller.zookeeper.znodes import decode_topic, encode_topic, topic_path

CAUSE = "PartitionReassignment"


class CannotReassignError(Exception):
    """A step of one partition's reassignment cannot be done now: it waits for one of its brokers, or a failover."""


async def start(term: Term, wanted: Mapping[TopicPartition, Assignment]) -> dict[TopicPartition, ApiError]:
    """Each on its way, one after the other; one that fails costs the others nothing.

    Source: KafkaController.maybeTriggerPartitionReassignment. Raises FencedError, SessionExpiredError.
    """
    return {tp: await _advance_or_fail(term, tp, assignment) for tp, assignment in wanted.items()}


async def resume(term: Term, which: Callable[[TopicPartition, Assignment], bool]) -> None:
    """Those that have begun, from the step that is due (KafkaController.maybeResumeReassignments). Raises as `start`."""
    for tp in term.context.reassigning():
        if which(tp, assignment := term.context.assignments[tp]):
            await _advance_or_fail(term, tp, assignment)


async def complete(term: Term, tps: Iterable[TopicPartition]) -> None:
    """Those of them whose target is in sync by now (KafkaController.maybeCompleteReassignment). Raises as `start`."""
    for tp in tps:
        if term.context.is_reassigning(tp) and await _in_sync(term, tp):
            await _advance_or_fail(term, tp, term.context.assignments[tp])


async def resume_with(term: Term, brokers: Sequence[int]) -> None:
    """These have come: those whose target has one of them. So do those that need nobody any more: a partition that never
    had a leader may have got it only now."""

    def waited_for_them(tp: TopicPartition, assignment: Assignment) -> bool:
        return any(broker in assignment.target for broker in brokers) or is_complete(term.context, tp)

    await resume(term, waited_for_them)


async def resume_at_failover(term: Term, but: Iterable[TopicPartition]) -> None:
    """What the topic znodes say is under way, and what was cancelled and not done.

    But for those that the request in /admin has started again already, and for what is to be deleted.
    """
    context, started = term.context, frozenset(but)
    left = {tp: context.assignments[tp] for tp in context.strays}
    due = {tp: a for tp, a in (left | under_way(term)).items() if tp not in started and not context.to_be_deleted(tp)}
    await start(term, due)


@seam("controller.reassignments-under-way")
def under_way(term: Term) -> dict[TopicPartition, Assignment]:
    """At the beginning of a term: as ZooKeeper has them, whatever an earlier term knew (KAFKA-5310)."""
    return {tp: term.context.assignments[tp] for tp in term.context.reassigning()}


async def _advance_or_fail(term: Term, tp: TopicPartition, assignment: Assignment) -> ApiError:
    if tp.topic in term.context.deletions.started:
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "its topic is being deleted")
    try:
        await _advance(term, tp, assignment)
    except Exception as failed:
        if consequence(failed).ends_term:
            raise
        term.record(
            ReassignmentFailed(
                topic=tp.topic, partition=tp.partition, target=list(assignment.target), why=shown(failed, str)
            )
        )
        return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, shown(failed, str))
    return ApiError()


async def _advance(term: Term, tp: TopicPartition, assignment: Assignment) -> None:
    term.context.deletions.hold([tp.topic])
    await _update(term, tp, assignment)
    if await _in_sync(term, tp):
        await _finish(term, tp)
    else:
        await _prepare(term, tp)


async def _in_sync(term: Term, tp: TopicPartition) -> bool:
    """By the state as ZooKeeper has it: a leader of before AlterPartition may have written it."""
    await term.states.load([tp])
    return is_complete(term.context, tp)


# --- U


async def _update(term: Term, tp: TopicPartition, assignment: Assignment) -> None:
    """U1 to U3. Replicas that an earlier reassignment has added, and that this one does not need, are stopped."""
    context = term.context
    current = context.assignments[tp]
    if current != assignment:
        await _write(term, tp, assignment)
        context.reassign(tp, assignment)
    left = strangers(context, tp)
    for replica in (r for r in left if r not in current.replicas):
        context.set_replica_state(replica, [tp], ReplicaState.DELETION_INELIGIBLE)
    dropped = [r for r in current.replicas if r not in assignment.replicas]
    await _stop(term, tp, dict.fromkeys((*dropped, *left)))
    context.strays.pop(tp, None)
    context.begin_reassignment(tp)


# --- A


async def _prepare(term: Term, tp: TopicPartition) -> None:
    """A1 and A2. A partition that never had a leader gets replicas all the same: it may be deleted, or be led one day."""
    context = term.context
    await _replace_stopped_leader(term, tp)
    led = tp in context.leadership
    if led:
        await raise_leader_epoch(term, tp)
    adding = sorted(context.assignments[tp].adding)
    new = [r for r in adding if context.replica_state(tp, r) is ReplicaState.NON_EXISTENT]
    await term.replicas.transition({r: [tp] for r in new}, ReplicaTransition(target=ReplicaState.NEW, cause=CAUSE))
    if not led:
        raise CannotReassignError(f"{tp} has no leader yet")


async def _replace_stopped_leader(term: Term, tp: TopicPartition) -> None:
    """It was a replica of the reassignment that this one supplants (U3). Kafka leaves such a partition without a leader."""
    known = term.context.leadership.get(tp)
    if known is not None and known.leader == NO_LEADER and _in_sync_among(term.context, tp, known.isr):
        for target in (PartitionState.OFFLINE, PartitionState.ONLINE):
            move = PartitionTransition(target=target, cause=CAUSE, election=ElectionReason.OFFLINE)
            await term.partitions.transition([tp], move)


async def raise_leader_epoch(term: Term, tp: TopicPartition) -> None:
    """The leader stays, and learns who is a replica now. Raises CannotReassignError, FencedError."""
    context, rewrite = term.context, term.states.rewrite([tp])
    before = context.leadership.get(tp)
    while states := await rewrite.states():
        before = states[tp]
        bumped = replace(before, leader_epoch=next_epoch(before.leader_epoch), controller_epoch=context.epoch)
        await rewrite.write({tp: bumped})
    if (why := rewrite.changed.refused.get(tp)) is not None or before is None:
        raise CannotReassignError(f"the leader epoch of {tp} cannot be raised: {why}")
    state = rewrite.changed.written[tp]
    keep_bumped(context, tp, before)
    batch, assignment = term.requests.batch(), context.assignments[tp]
    batch.leader_and_isr(assignment.origin, tp, state, is_new=False)
    batch.leader_and_isr(assignment.adding, tp, state, is_new=True)
    await term.requests.send(batch)


@seam("controller.keep-bumped")
def keep_bumped(context: Context, tp: TopicPartition, before: LeaderAndIsr) -> None:
    """What was written is in the context, so that UpdateMetadata has the new leader epoch too (KAFKA-9212)."""


# --- B


async def _finish(term: Term, tp: TopicPartition) -> None:
    """B1 to B8."""
    context, assignment = term.context, term.context.assignments[tp]
    online = ReplicaTransition(target=ReplicaState.ONLINE, cause=CAUSE)
    await term.replicas.transition({r: [tp] for r in sorted(assignment.adding)}, online)
    done = Assignment(assignment.target)
    tell_target(context, tp, done)
    if not await _lead_from(term, tp, done.replicas) and _in_sync_among(context, tp, assignment.removing):
        context.reassign(tp, assignment)
        raise CannotReassignError(f"of its target {list(done.replicas)} nobody can lead {tp} now")
    await _stop(term, tp, assignment.removing)
    await _write(term, tp, done)
    context.reassign(tp, done)
    await take_out(term, lambda other, target: other == tp and target == done.replicas)
    context.end_reassignment(tp)
    await term.requests.update_metadata(context.registered_ids(), [tp])
    await topic_deletion.resume_for(term, [tp.topic])


@seam("controller.tell-target")
def tell_target(context: Context, tp: TopicPartition, done: Assignment) -> None:
    """From B3 on the leader knows the target alone, so that nobody else comes back into the ISR (KAFKA-9672)."""
    context.reassign(tp, done)


async def _lead_from(term: Term, tp: TopicPartition, target: Sequence[int]) -> bool:
    """Whether one of `target` leads it now (KafkaController.moveReassignedPartitionLeaderIfRequired)."""
    context = term.context
    if (known := context.leadership.get(tp)) is None:
        raise CannotReassignError(f"{tp} has no leader yet")
    if known.leader in target and context.online(tp, known.leader):
        await raise_leader_epoch(term, tp)
        return True
    move = PartitionTransition(target=PartitionState.ONLINE, cause=CAUSE, election=ElectionReason.REASSIGNED)
    return not await term.partitions.transition([tp], move)


def _in_sync_among(context: Context, tp: TopicPartition, replicas: Sequence[int]) -> bool:
    """Whether one of `replicas` is live and in sync: then it could lead."""
    return any(context.online(tp, replica) for replica in context.leadership[tp].isr if replica in replicas)


# --- what several phases do


async def _stop(term: Term, tp: TopicPartition, replicas: Iterable[int]) -> None:
    """They leave the ISR, and are deleted. Whether their brokers do it is not waited for."""
    for target in (
        ReplicaState.OFFLINE,
        ReplicaState.DELETION_STARTED,
        ReplicaState.DELETION_SUCCESSFUL,
        ReplicaState.NON_EXISTENT,
    ):
        move = ReplicaTransition(target=target, cause=CAUSE)
        await term.replicas.transition({replica: [tp] for replica in sorted(replicas)}, move)


async def _write(term: Term, tp: TopicPartition, assignment: Assignment) -> None:
    """Into the topic znode. Partitions that have been added to it meanwhile stay: Kafka overwrites them.

    Raises CannotReassignError, CorruptZnodeError, FencedError.
    """
    path, context = topic_path(tp.topic), term.context
    await term.runtime.holds.reach(BEFORE_TOPIC_WRITE)
    while (node := await term.store.get(path)) is not None:
        topic = decode_topic(tp.topic, node.data)
        if topic.topic_id not in (None, context.topic_id(tp.topic)):
            raise CannotReassignError(f"{tp.topic} has been deleted, and made again")
        topic = replace(
            topic,
            topic_id=context.topic_id(tp.topic),
            partitions=dict(sorted((topic.partitions | {tp.partition: assignment}).items())),
        )
        write = SetData(path, encode_topic(topic), node.stat.version)
        (result,) = await term.store.write_each([write], fence=fence_of_topics(context))
        if isinstance(result, Written):
            term.record(ReplicasReassigned.to(tp, assignment, epoch=context.epoch))
            return
        if not isinstance(result, Stale):
            raise CannotReassignError(f"the assignment of {tp.topic} is over ZooKeeper's packet limit")
    raise CannotReassignError(f"the topic {tp.topic} has been deleted")
