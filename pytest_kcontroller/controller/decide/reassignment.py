"""Whether a reassignment may begin, and whether it is complete.

Sources: kafka.controller.KafkaController.validateReplicas, maybeBuildReassignment, isReassignmentComplete (3.9).
"""

from __future__ import annotations

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.model.cluster import NO_LEADER, Assignment, TopicPartition
from pytest_kcontroller.seams import seam
from pytest_kcontroller.wire.errors import ApiError, ErrorCode

UNASSIGNED = Assignment(())


def build(context: Context, tp: TopicPartition, target: tuple[int, ...] | None) -> Assignment | ApiError:
    """What the replicas are on the way to `target`, or why there is no way. None: the reassignment is cancelled.

    New replicas need not be live: only a request asks for that (`dead_additions`), a reassignment by znode waits for them.
    """
    current = context.assignments.get(tp, UNASSIGNED)
    if target is None:
        if not current.reassigning:
            return ApiError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "no reassignment of it is in progress")
        target = current.origin
    elif (why := _malformed(target)) is not None:
        return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
    if not current.replicas or context.to_be_deleted(tp):
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "the partition does not exist")
    assignment = current.reassigned_to(target)
    if not keeps_in_sync(context, tp, assignment):
        return ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"of the ISR {list(context.leadership[tp].isr)} nobody who could lead is in {list(assignment.replicas)}",
        )
    return assignment


def _malformed(target: tuple[int, ...]) -> str | None:
    if not target:
        return "it names no replica"
    if len(dict.fromkeys(target)) < len(target):
        return f"the replicas {list(target)} name one twice"
    return f"the replicas {list(target)} have a broker below 0" if min(target) < 0 else None


def dead_additions(context: Context, tp: TopicPartition, target: tuple[int, ...]) -> ApiError | None:
    """New replicas of a request have to be live."""
    adding = context.assignments.get(tp, UNASSIGNED).reassigned_to(target).adding
    if dead := [replica for replica in adding if not context.live(replica)]:
        return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"the brokers {dead} are to be added and are not live")
    return None


@seam("controller.keeps-in-sync")
def keeps_in_sync(context: Context, tp: TopicPartition, assignment: Assignment) -> bool:
    """Who is cancelled or supplanted is dropped at once: not if nobody else is live and in sync (KAFKA-14424)."""
    if (state := context.leadership.get(tp)) is None:
        return True
    live = [replica for replica in state.isr if context.online(tp, replica)]
    return any(replica in assignment.replicas for replica in live or state.isr)


def strangers(context: Context, tp: TopicPartition) -> tuple[int, ...]:
    """Who leads or is in sync, or did when the term began, and is no replica: a controller that took replicas away has died
    before it was done."""
    state, replicas = context.leadership.get(tp), context.assignments[tp].replicas
    if state is None:
        return ()
    members = dict.fromkeys((*context.strays.get(tp, ()), *state.isr, state.leader))
    return tuple(member for member in members if member not in (*replicas, NO_LEADER))


def is_complete(context: Context, tp: TopicPartition) -> bool:
    """All of the target are in sync; so is a reassignment that only changes the order."""
    assignment, state = context.assignments[tp], context.leadership.get(tp)
    if not assignment.reassigning:
        return True
    return state is not None and all(replica in state.isr for replica in assignment.target)
