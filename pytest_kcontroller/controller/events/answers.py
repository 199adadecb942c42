"""Which event a broker's answer puts into the queue.

Source: kafka.controller.ControllerBrokerRequestBatch (KafkaController's callbacks), 3.9.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.controller.events.event import AnswerEvent, Event
from pytest_kcontroller.controller.events.leader_and_isr_response import LeaderAndIsrResponseReceived
from pytest_kcontroller.controller.events.topic_deletion_stop_replica_response import deletion_answered
from pytest_kcontroller.controller.events.update_metadata_response import UpdateMetadataResponseReceived
from pytest_kcontroller.wire.messages import ApiKey

EVENTS: Mapping[int, Callable[[int, Any, Any], AnswerEvent]] = {
    ApiKey.LEADER_AND_ISR: LeaderAndIsrResponseReceived,
    ApiKey.UPDATE_METADATA: UpdateMetadataResponseReceived,
}


def event_of_answer(context: Context, broker: int, request: Any, response: Any) -> Event | None:
    """None: nothing is to be done. `context` is that of the term that has asked."""
    if request.API_KEY == ApiKey.STOP_REPLICA:
        return deletion_answered(context, broker, request, response)
    event = EVENTS.get(request.API_KEY)
    return None if event is None else event(broker, request, response)
