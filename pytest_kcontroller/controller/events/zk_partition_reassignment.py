"""ZkPartitionReassignment: /admin/reassign_partitions has changed, by a tool or by the controller itself."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_kcontroller.controller.decide.reassignment import build
from pytest_kcontroller.controller.events.event import TermEvent
from pytest_kcontroller.controller.reassignment import start
from pytest_kcontroller.controller.reassignment_znode import read_requested, take_out
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.model.cluster import Assignment, TopicPartition
from pytest_kcontroller.model.history import ReassignmentFailed
from pytest_kcontroller.wire.errors import ApiError, ErrorCode


@dataclass(frozen=True, slots=True)
class ZkPartitionReassignment(TermEvent):
    """Source: KafkaController.processZkPartitionReassignment."""

    name = "ZkPartitionReassignment"
    source = "/admin/reassign_partitions"
    metric = "PartitionReassignmentRateAndTimeMs"

    async def act(self, term: Term) -> None:
        await start_requested(term)


async def start_requested(term: Term) -> list[TopicPartition]:
    """Starts what is new in the request, and takes out what cannot be done. Returns what has been started."""
    wanted = dict[TopicPartition, Assignment]()
    failed = dict[TopicPartition, ApiError]()
    for tp, target in (await read_requested(term)).items():
        if isinstance(built := build(term.context, tp, target), Assignment):
            wanted[tp] = built
        else:
            failed[tp] = built
            why = str(built.message)
            term.record(ReassignmentFailed(topic=tp.topic, partition=tp.partition, target=list(target), why=why))
    started = await start(term, wanted)
    failed |= {tp: result for tp, result in started.items() if result.error is not ErrorCode.NONE}
    if failed:
        await take_out(term, lambda tp, _: tp in failed)
    return [tp for tp in started if tp not in failed]
