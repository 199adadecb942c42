"""LeaderAndIsrResponseReceived: a broker has answered LeaderAndIsr."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from pytest_kcontroller.controller.events.event import AnswerEvent
from pytest_kcontroller.controller.offline import replicas_go_offline
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.wire.errors import ErrorCode

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LeaderAndIsrResponseReceived(AnswerEvent):
    """Source: KafkaController.processLeaderAndIsrResponseReceived.

    A replica whose log directory has failed is offline (KAFKA_STORAGE_ERROR, KIP-112), and back when its broker can do what
    it is asked.
    """

    name = "LeaderAndIsrResponseReceived"
    source = "a broker answers LeaderAndIsr"
    metric = "LeaderAndIsrResponseReceivedRateAndTimeMs"

    async def act(self, term: Term) -> None:
        if (error := self.response.error_code) != ErrorCode.NONE:
            _log.error("broker %d refused LeaderAndIsr with error %d", self.broker, error)
            return
        context = term.context
        if self.broker not in context.brokers:
            return
        if context.failed_on(self.broker):
            context.set_on_failed_disk(self.broker, self._answered(term, ErrorCode.NONE), failed=False)
        failed = self._answered(term, ErrorCode.KAFKA_STORAGE_ERROR)
        if new := context.set_on_failed_disk(self.broker, failed, failed=True):
            await replicas_go_offline(term, {self.broker: sorted(new)}, self.name)

    def _answered(self, term: Term, error: ErrorCode) -> list[TopicPartition]:
        """The partitions that were answered with `error`, if they are still there."""
        names = {topic.topic_id: topic.topic_name for topic in self.request.topic_states}
        answered = [
            TopicPartition(names.get(topic.topic_id, ""), partition.partition_index)
            for topic in self.response.topics
            for partition in topic.partition_errors
            if partition.error_code == error
        ]
        return [tp for tp in answered if tp in term.context.assignments]
