"""AlterPartition: a leader asks for another ISR (KIP-497)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_kcontroller.controller.decide.isr import AlterPartitionItem, check, check_broker
from pytest_kcontroller.controller.events.event import RequestEvent
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.model.cluster import LeaderAndIsr, TopicPartition
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import AlteredPartition, AlteredTopic, AlterPartitionResponse
from pytest_kcontroller.wire.topic_ids import topic_id_text

_Key = tuple[Any, int]
"""Topic id as on the wire, and partition."""


@dataclass(frozen=True, slots=True)
class AlterPartition(RequestEvent):
    """Source: KafkaController.processAlterPartition."""

    name = "AlterPartition"
    metric = "IsrChangeRateAndTimeMs"

    async def respond(self, term: Term) -> Any:
        context, request = term.context, self.request
        if (error := check_broker(context, request.broker_id, request.broker_epoch)) != ErrorCode.NONE:
            return self.refusal(error)
        results: dict[_Key, ErrorCode | LeaderAndIsr] = {}
        wanted: dict[TopicPartition, LeaderAndIsr] = {}
        asked: dict[TopicPartition, _Key] = {}
        for topic in request.topics:
            name = context.topic_of_id(topic_id_text(topic.topic_id) or "")
            for partition in topic.partitions:
                key = (topic.topic_id, partition.partition_index)
                if name is None:
                    results[key] = ErrorCode.UNKNOWN_TOPIC_ID
                    continue
                tp = TopicPartition(name, partition.partition_index)
                results[key] = outcome = check(context, tp, _item(partition))
                if isinstance(outcome, LeaderAndIsr) and outcome != context.leadership[tp]:
                    wanted[tp], asked[tp] = outcome, key
        written = (await term.states.compare_and_set(wanted)).written
        if written:  # else it would be sent for nothing, and whoever was refused would ask again at once
            term.requests.update_metadata(context.registered_ids(), written)
        results |= {key: written.get(tp, ErrorCode.INVALID_UPDATE_VERSION) for tp, key in asked.items()}
        return _response(results)

    @staticmethod
    def refusal(error: ErrorCode) -> Any:
        return AlterPartitionResponse(throttle_time_ms=0, error_code=int(error), topics=[])


def _item(partition: Any) -> AlterPartitionItem:
    return AlterPartitionItem(
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        isr=tuple(member.broker_id for member in partition.new_isr_with_epochs),
        recovering=partition.leader_recovery_state == 1,
    )


def _response(results: Mapping[_Key, ErrorCode | LeaderAndIsr]) -> Any:
    topics: dict[Any, list[Any]] = {}
    for (topic_id, number), outcome in results.items():
        if isinstance(outcome, LeaderAndIsr):
            partition = AlteredPartition(
                partition_index=number,
                error_code=int(ErrorCode.NONE),
                leader_id=outcome.leader,
                leader_epoch=outcome.leader_epoch,
                isr=outcome.isr,
                leader_recovery_state=int(outcome.recovering),
                partition_epoch=outcome.partition_epoch,
            )
        else:
            partition = AlteredPartition(
                partition_index=number,
                error_code=int(outcome),
                leader_id=0,
                leader_epoch=0,
                isr=(),
                leader_recovery_state=0,
                partition_epoch=0,
            )
        topics.setdefault(topic_id, []).append(partition)
    return AlterPartitionResponse(
        throttle_time_ms=0,
        error_code=int(ErrorCode.NONE),
        topics=[AlteredTopic(topic_id=topic_id, partitions=partitions) for topic_id, partitions in topics.items()],
    )
