"""UpdateMetadataResponseReceived: a broker has answered UpdateMetadata."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from pytest_kcontroller.controller.events.event import AnswerEvent
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.wire.errors import ErrorCode

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UpdateMetadataResponseReceived(AnswerEvent):
    """Source: KafkaController.processUpdateMetadataResponseReceived. A refusal is logged: a newer controller will tell."""

    name = "UpdateMetadataResponseReceived"
    source = "a broker answers UpdateMetadata"
    metric = "UpdateMetadataResponseReceivedRateAndTimeMs"

    async def act(self, term: Term) -> None:
        if (error := self.response.error_code) != ErrorCode.NONE:
            _log.error("broker %d refused UpdateMetadata with error %d", self.broker, error)
