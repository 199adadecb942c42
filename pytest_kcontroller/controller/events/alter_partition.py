"""AlterPartition: a leader asks for another ISR (KIP-497)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.controller.decide.isr import AlterPartitionItem, check, check_broker, is_assigned
from pytest_kcontroller.controller.events.event import RequestEvent
from pytest_kcontroller.controller.reassignment import complete, raise_leader_epoch
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.model.cluster import LeaderAndIsr, TopicPartition
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import AlteredPartition, AlteredTopic, AlterPartitionResponse
from pytest_kcontroller.wire.topic_ids import topic_id_text

NAMED_UNTIL = 1
"""Up to this version a request names topics, in later ones it has their ids; and some errors did not exist."""

_Key = tuple[str, Any, int]
"""A topic's name and id as on the wire, of which one is empty, and a partition."""

_OLD_ERRORS = {ErrorCode.INELIGIBLE_REPLICA: ErrorCode.OPERATION_NOT_ATTEMPTED}
"""What leaders are told who do not know the error."""


_RECOVERED, _RECOVERING = 0, 1
_RECOVERY_STATES = (_RECOVERED, _RECOVERING)


@dataclass(frozen=True, slots=True)
class AlterPartition(RequestEvent):
    """Source: KafkaController.processAlterPartition. Versions 0 and 1 are those of AlterIsr (Kafka 2.7 to 3.1)."""

    name = "AlterPartition"
    source = "a request of a leader: AlterPartition"
    metric = "IsrChangeRateAndTimeMs"

    async def respond(self, term: Term) -> Any:
        context, request = term.context, self.request
        if (error := check_broker(context, request.broker_id, request.broker_epoch)) != ErrorCode.NONE:
            return self.refusal(error)
        if any(p.leader_recovery_state not in _RECOVERY_STATES for topic in request.topics for p in topic.partitions):
            return self.refusal(ErrorCode.UNKNOWN_SERVER_ERROR)  # as Kafka, which cannot read such a request at all
        results: dict[_Key, ErrorCode | LeaderAndIsr] = {}
        wanted: dict[TopicPartition, LeaderAndIsr] = {}
        asked: dict[TopicPartition, _Key] = {}
        misled: list[TopicPartition] = []
        by_name = request.version <= NAMED_UNTIL
        for topic in request.topics:
            name = topic.topic_name if by_name else context.topic_of_id(topic_id_text(topic.topic_id) or "")
            for partition in topic.partitions:
                key = (topic.topic_name, topic.topic_id, partition.partition_index)
                if name is None:
                    results[key] = ErrorCode.UNKNOWN_TOPIC_ID
                    continue
                tp = TopicPartition(name, partition.partition_index)
                results[key] = outcome = check(context, tp, _item(partition))
                if outcome is ErrorCode.INELIGIBLE_REPLICA and _names_stranger(context, tp, partition):
                    misled.append(tp)
                if isinstance(outcome, LeaderAndIsr) and outcome != context.leadership[tp]:
                    wanted[tp], asked[tp] = outcome, key
        written = (await term.states.compare_and_set(wanted)).written
        if written:  # else it would be sent for nothing, and whoever was refused would ask again at once
            await term.requests.update_metadata(context.registered_ids(), written)
        for tp in misled:
            await raise_leader_epoch(term, tp)
        results |= {key: written.get(tp, ErrorCode.INVALID_UPDATE_VERSION) for tp, key in asked.items()}
        return _response(results, old=by_name)

    async def follow_up(self, term: Term, response: Any) -> None:
        """A reassignment may have waited for just this ISR."""
        if term.context.any_reassigning:
            await complete(term, _changed(term, response))

    @staticmethod
    def refusal(error: ErrorCode) -> Any:
        return AlterPartitionResponse(throttle_time_ms=0, error_code=int(error), topics=[])


def _names_stranger(context: Context, tp: TopicPartition, partition: Any) -> bool:
    """Whether the leader does not know who is a replica now: it is told."""
    return any(not is_assigned(context, tp, member) for member in _item(partition).isr)


def _item(partition: Any) -> AlterPartitionItem:
    return AlterPartitionItem(
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        isr=partition.new_isr or tuple(member.broker_id for member in partition.new_isr_with_epochs),
        recovering=partition.leader_recovery_state == _RECOVERING,
    )


def _changed(term: Term, response: Any) -> list[TopicPartition]:
    """The partitions that were answered without an error; a topic is named in one of two ways."""
    return [
        TopicPartition(name, partition.partition_index)
        for topic in response.topics
        if (name := topic.topic_name or term.context.topic_of_id(topic_id_text(topic.topic_id) or ""))
        for partition in topic.partitions
        if partition.error_code == ErrorCode.NONE
    ]


def _response(results: Mapping[_Key, ErrorCode | LeaderAndIsr], *, old: bool) -> Any:
    topics: dict[tuple[str, Any], list[Any]] = {}
    for (name, topic_id, number), outcome in results.items():
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
                error_code=int(_OLD_ERRORS.get(outcome, outcome) if old else outcome),
                leader_id=0,
                leader_epoch=0,
                isr=(),
                leader_recovery_state=0,
                partition_epoch=0,
            )
        topics.setdefault((name, topic_id), []).append(partition)
    return AlterPartitionResponse(
        throttle_time_ms=0,
        error_code=int(ErrorCode.NONE),
        topics=[
            AlteredTopic(topic_name=name, topic_id=topic_id, partitions=partitions)
            for (name, topic_id), partitions in topics.items()
        ],
    )
