"""ReplicaLeaderElection: partitions shall have another leader, although theirs has not been lost.

An admin asks for it with a request, an older tool with /admin/preferred_replica_election, the controller itself when too
many partitions are not led by their first replica (auto_preferred_replica_leader_election).

Source: kafka.controller.KafkaController.processReplicaLeaderElection, onReplicaElection (3.9).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.controller.events.event import RequestEvent, TermEvent
from pytest_kcontroller.controller.fences import fence_of_notifications
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.controller.transitions import PartitionState, PartitionTransition
from pytest_kcontroller.model.cluster import NO_LEADER, TopicPartition
from pytest_kcontroller.model.election import ElectionReason, ElectionType
from pytest_kcontroller.model.turns import Pieces
from pytest_kcontroller.seams import seam
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.zookeeper.partition_lists import PREFERRED_ELECTION, decode_partitions
from pytest_kcontroller.zookeeper.session import Delete
from pytest_kcontroller.zookeeper.znodes import CorruptZnodeError

NAME, METRIC = "ReplicaLeaderElection", "ManualLeaderBalanceRateAndTimeMs"


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectLeaders:
    """What an admin asks for; `partitions` None: all that there are."""

    type: ElectionType
    partitions: tuple[TopicPartition, ...] | None


@dataclass(frozen=True, slots=True)
class ElectionResult:
    """Of one partition: its new `leader`; or an `error`, and why."""

    error: ErrorCode
    message: str | None = None
    leader: int = NO_LEADER


@dataclass(frozen=True, slots=True)
class ElectLeadersAnswer:
    """`error` concerns the request as a whole; then there are no results."""

    error: ErrorCode
    results: Mapping[TopicPartition, ElectionResult] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReplicaLeaderElection(RequestEvent):
    """An admin's: `request` is an ElectLeaders, and it is answered with an ElectLeadersAnswer."""

    name = NAME
    source = "a request: ElectLeaders"
    metric = METRIC

    async def respond(self, term: Term) -> ElectLeadersAnswer:
        asked: ElectLeaders = self.request
        partitions = tuple(term.context.partitions()) if asked.partitions is None else asked.partitions
        results = await elect(term, partitions, asked.type, unclean=asked.type is ElectionType.UNCLEAN)
        return ElectLeadersAnswer(ErrorCode.NONE, results)

    @staticmethod
    def refusal(error: ErrorCode) -> Any:
        return ElectLeadersAnswer(error)


@dataclass(frozen=True, slots=True)
class PreferredReplicaElection(TermEvent):
    """That of a tool, which has written /admin/preferred_replica_election. Handled at failover too, if it is there."""

    name = NAME
    source = "/admin/preferred_replica_election"
    metric = METRIC

    async def act(self, term: Term) -> None:
        """The znode goes whatever became of the elections, for that is how the tool knows that they have ended.

        One that cannot be understood is left alone. Its deletion, by whomever, is an event too, which watches it again.
        """
        if (there := await term.store.get(PREFERRED_ELECTION, watch=True)) is None:
            return
        try:
            partitions = decode_partitions(there.data, PREFERRED_ELECTION)
        except CorruptZnodeError as bad:
            term.corrupt(str(bad))
            return
        results = await _sort_out(term.context, partitions, ElectionType.PREFERRED)
        try:
            await _carry_out(term, results, ElectionType.PREFERRED)
        finally:
            await term.store.write_each([Delete(PREFERRED_ELECTION)], fence=fence_of_notifications(term.context))


async def elect(
    term: Term, partitions: Iterable[TopicPartition], kind: ElectionType, *, unclean: bool = False
) -> dict[TopicPartition, ElectionResult]:
    """A result for each partition, in their order. `unclean`: whatever the configuration says. Raises FencedError."""
    results = await _sort_out(term.context, partitions, kind)
    await _carry_out(term, results, kind, unclean=unclean)
    return results


async def _sort_out(
    context: Context, partitions: Iterable[TopicPartition], kind: ElectionType
) -> dict[TopicPartition, ElectionResult]:
    """Those that are to be elected have the result of one that fails."""
    results: dict[TopicPartition, ElectionResult] = {}
    async for piece in Pieces(partitions):
        results |= {tp: _result_so_far(context, tp, kind) for tp in piece}
    return results


def _result_so_far(context: Context, tp: TopicPartition, kind: ElectionType) -> ElectionResult:
    if tp not in context.assignments:
        return ElectionResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
    if context.to_be_deleted(tp):
        return ElectionResult(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic is being deleted")
    if _is_valid(context, tp, kind):
        return ElectionResult(ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")
    return _NOT_AVAILABLE[kind]


async def _carry_out(
    term: Term, results: dict[TopicPartition, ElectionResult], kind: ElectionType, *, unclean: bool = False
) -> None:
    electable = [tp for tp, result in results.items() if result is _NOT_AVAILABLE[kind]]
    to = PartitionTransition(target=PartitionState.ONLINE, cause=NAME, election=_REASONS[kind], unclean=unclean)
    refused = await term.partitions.transition(electable, to)
    for tp in electable:
        if (why := refused.get(tp)) is None:
            results[tp] = ElectionResult(ErrorCode.NONE, leader=term.context.leadership[tp].leader)
        else:
            results[tp] = ElectionResult(results[tp].error, f"{tp}: {why.value}")


_REASONS: Mapping[ElectionType, ElectionReason] = {
    ElectionType.PREFERRED: ElectionReason.PREFERRED,
    ElectionType.UNCLEAN: ElectionReason.OFFLINE,
}
_NOT_AVAILABLE: Mapping[ElectionType, ElectionResult] = {
    ElectionType.PREFERRED: ElectionResult(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE),
    ElectionType.UNCLEAN: ElectionResult(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE),
}


def _is_valid(context: Context, tp: TopicPartition, kind: ElectionType) -> bool:
    """Whether the leader is already what an election could give."""
    leader = leader_before(context, tp)
    if kind is ElectionType.PREFERRED:
        return context.assignments[tp].replicas[:1] == (leader,)  # a tool may have written no replicas at all
    return context.live(leader)


@seam("controller.leader-before-election")
def leader_before(context: Context, tp: TopicPartition) -> int:
    """A partition that never had a leader has none to elect either: whoever asked hears that, and the request goes.

    Kafka 3.9 takes it for granted that there is one (NoSuchElementException: None.get), and the znode stays. Each new
    controller finds it in its failover, and resigns.
    """
    state = context.leadership.get(tp)
    return NO_LEADER if state is None else state.leader
