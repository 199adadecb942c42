"""TopicDeletionStopReplicaResponseReceived: a broker has deleted replicas of topics that are to be deleted, or could not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.controller.events.event import TermEvent
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.controller.topic_deletion import complete, fail
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.seams import seam
from pytest_kcontroller.wire.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class TopicDeletionStopReplicaResponseReceived(TermEvent):
    """`errors` has the replicas on `broker` that were to be deleted, if it is about topics whose deletion has started.

    Source: KafkaController.processTopicDeletionStopReplicaResponseReceived.
    """

    broker: int
    errors: Mapping[TopicPartition, int]
    epoch: int
    """Of the controller that had asked."""
    broker_epoch: int
    """Of the broker that was asked."""

    name = "TopicDeletionStopReplicaResponseReceived"
    source = "a broker answers a StopReplica that deletes"
    metric = "TopicDeletionRateAndTimeMs"

    async def act(self, term: Term) -> None:
        if term.context.epoch != self.epoch or not self._lives(term.context):
            return
        failed = sorted(tp for tp, error in self.errors.items() if error != ErrorCode.NONE)
        done = sorted(tp for tp, error in self.errors.items() if error == ErrorCode.NONE)
        if failed:
            await fail(term, {self.broker: failed})
        if done:
            await complete(term, {self.broker: done})

    def _lives(self, context: Context) -> bool:
        """What a broker has said before it bounced, or died, is over: its return, or its end, was acted upon since."""
        known = context.brokers.get(self.broker)
        return known is not None and known.epoch == self.broker_epoch


def deletion_answered(
    context: Context, broker: int, request: Any, response: Any
) -> TopicDeletionStopReplicaResponseReceived | None:
    """None: it is about nothing that is being deleted. An error of the request as a whole is one of each partition;
    otherwise one that the answer does not name has neither been deleted nor failed.

    Source: ControllerBrokerRequestBatch.sendStopReplicaRequests.
    """
    answers = {
        TopicPartition(error.topic_name, error.partition_index): error.error_code for error in response.partition_errors
    }
    errors: dict[TopicPartition, int] = {}
    for topic in request.topic_states:
        if topic.topic_name not in context.deletions.started:
            continue
        for entry in topic.partition_states:
            tp = TopicPartition(topic.topic_name, entry.partition_index)
            if counts_as_deleted(entry.delete_partition) and (response.error_code or tp in answers):
                errors[tp] = response.error_code or answers[tp]
    if not errors:
        return None
    return TopicDeletionStopReplicaResponseReceived(broker, errors, request.controller_epoch, request.broker_epoch)


@seam("controller.counts-as-deleted")
def counts_as_deleted(delete: bool) -> bool:
    """Only who was told to delete a replica has deleted it, not who was told to stop it (KAFKA-9946)."""
    return delete
