"""ListPartitionReassignments: somebody asks which reassignments are under way (KIP-455)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_kcontroller.controller.decide.reassignment import UNASSIGNED
from pytest_kcontroller.controller.events.event import RequestEvent
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.model.cluster import Assignment, TopicPartition
from pytest_kcontroller.wire.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class ReassignmentsUnderWay:
    """The answer. With an `error` it has none."""

    error: ErrorCode = ErrorCode.NONE
    partitions: Mapping[TopicPartition, Assignment] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ListPartitionReassignments(RequestEvent):
    """`request` is the partitions that are asked for, None: all.

    Source: KafkaController.processListPartitionReassignments.
    """

    name = "ListPartitionReassignments"
    source = "a request: ListPartitionReassignments"
    metric = "ListPartitionReassignmentRateAndTimeMs"

    async def respond(self, term: Term) -> ReassignmentsUnderWay:
        asked: Sequence[TopicPartition] | None = self.request
        context = term.context
        found = {
            tp: context.assignments.get(tp, UNASSIGNED) for tp in (context.reassigning() if asked is None else asked)
        }
        return ReassignmentsUnderWay(partitions={tp: found[tp] for tp in found if found[tp].reassigning})

    @staticmethod
    def refusal(error: ErrorCode) -> Any:
        return ReassignmentsUnderWay(error)
