"""ApiPartitionReassignment: somebody asks for other replicas of partitions, or to cancel a reassignment (KIP-455)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_kcontroller.controller.decide.reassignment import build, dead_additions
from pytest_kcontroller.controller.events.event import RequestEvent
from pytest_kcontroller.controller.reassignment import start
from pytest_kcontroller.controller.reassignment_znode import take_out
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.model.cluster import Assignment, TopicPartition
from pytest_kcontroller.model.history import ReassignmentRequested
from pytest_kcontroller.wire.errors import ApiError, ErrorCode

ReassignmentRequest = Mapping[TopicPartition, tuple[int, ...] | None]
"""The replicas that each partition shall have; None: its reassignment is cancelled."""


@dataclass(frozen=True, slots=True)
class ReassignmentAnswer:
    """`error` is about the whole request; with it there is no word of any partition."""

    error: ErrorCode = ErrorCode.NONE
    partitions: Mapping[TopicPartition, ApiError] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ApiPartitionReassignment(RequestEvent):
    """`request` is a ReassignmentRequest, the answer a ReassignmentAnswer: everything has begun by then.

    The newer request wins over the older one, and this one over what was begun because of /admin/reassign_partitions.
    Source: KafkaController.processApiPartitionReassignment.
    """

    name = "ApiPartitionReassignment"
    source = "a request: AlterPartitionReassignments"
    metric = "PartitionReassignmentRateAndTimeMs"

    async def respond(self, term: Term) -> ReassignmentAnswer:
        request: ReassignmentRequest = self.request
        results = {tp: _built(term, tp, target) for tp, target in request.items()}
        wanted = {tp: built for tp, built in results.items() if isinstance(built, Assignment)}
        errors = {tp: built for tp, built in results.items() if isinstance(built, ApiError)}
        for tp, assignment in wanted.items():
            target = list(assignment.target)
            term.record(ReassignmentRequested(topic=tp.topic, partition=tp.partition, target=target))
        if wanted:
            # What has come since the request is newer, and nobody else would know of it if this controller fell now.
            begun = dict(term.context.requested)
            await take_out(term, lambda tp, target: tp in wanted and begun.get(tp) == target)
        started = await start(term, wanted)
        return ReassignmentAnswer(partitions={tp: errors.get(tp) or started[tp] for tp in request})

    @staticmethod
    def refusal(error: ErrorCode) -> Any:
        return ReassignmentAnswer(error)


def _built(term: Term, tp: TopicPartition, target: tuple[int, ...] | None) -> Assignment | ApiError:
    built = build(term.context, tp, target)
    malformed = isinstance(built, ApiError) and built.error is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    if target is None or malformed:
        return built
    return dead_additions(term.context, tp, target) or built
