"""/admin/reassign_partitions: what tools write there is started, and what is done is taken out again.

Kafka looks at it when it is created, and overwrites it blindly: what a tool writes while a reassignment is under way is
never acted on, and stays there for ever (KAFKA-9478). Here every change is looked at, and what is taken out is taken out of
what was read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pytest_kcontroller.controller.fences import fence_of_notifications
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.seams import seam
from pytest_kcontroller.zookeeper.session import Delete, Node, SetData
from pytest_kcontroller.zookeeper.store import Stale
from pytest_kcontroller.zookeeper.znodes import (
    REASSIGN_PARTITIONS,
    CorruptZnodeError,
    decode_reassignments,
    encode_reassignments,
)

Targets = Mapping[TopicPartition, tuple[int, ...]]


async def read_requested(term: Term) -> Targets:
    """What is to be started now: entries that are new, or other than before. Its next change is watched."""
    node = await term.store.get(REASSIGN_PARTITIONS, watch=True)
    entries, before = _entries(term, node), term.context.requested
    term.context.requested = entries
    return {tp: target for tp, target in entries.items() if before.get(tp) != target}


async def take_out(term: Term, done: Callable[[TopicPartition, tuple[int, ...]], bool]) -> None:
    """The entries that are `done`; an empty request is deleted, and so makes room for the next one. Raises FencedError.

    Source: KafkaController.maybeRemoveFromZkReassignment.
    """
    while (node := await term.store.get(REASSIGN_PARTITIONS, watch=True)) is not None:
        entries = _entries(term, node)
        rest = remaining(term, {tp: target for tp, target in entries.items() if not done(tp, target)})
        version = version_to_replace(node)
        op = (
            SetData(REASSIGN_PARTITIONS, encode_reassignments(rest), version)
            if rest
            else Delete(REASSIGN_PARTITIONS, version)
        )
        requested = term.context.requested
        term.context.requested = {tp: target for tp, target in rest.items() if requested.get(tp) == target}
        if rest and len(rest) == len(entries):
            return
        (result,) = await term.store.write_each([op], fence=fence_of_notifications(term.context))
        if not isinstance(result, Stale):
            return


@seam("controller.remaining-reassignments")
def remaining(term: Term, rest: Targets) -> Targets:
    """What stays in the request: all that is not done, whether it has been started yet or not (KAFKA-6193)."""
    return rest


@seam("controller.reassignments-version")
def version_to_replace(node: Node) -> int:
    """Only what was read is replaced (KAFKA-9478)."""
    return node.stat.version


def _entries(term: Term, node: Node | None) -> Targets:
    """One that cannot be understood is as good as empty, as in Kafka: it is recorded, and goes with the next change."""
    if node is None:
        return {}
    try:
        return decode_reassignments(node.data)
    except CorruptZnodeError as bad:
        term.corrupt(str(bad))
        return {}
