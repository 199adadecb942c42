"""LogDirEventNotification: log directories of brokers have failed (KIP-112)."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_kcontroller.controller.events.event import TermEvent
from pytest_kcontroller.controller.notifications import notifications
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.controller.transitions import ReplicaState, ReplicaTransition
from pytest_kcontroller.zookeeper.znodes import LOG_DIR_EVENT_NOTIFICATION, decode_log_dir_event


@dataclass(frozen=True, slots=True)
class LogDirEventNotification(TermEvent):
    """Source: KafkaController.processLogDirEventNotification.

    Which replicas are meant only the broker knows: it is sent the state of all that it has, and its answer tells.
    """

    name = "LogDirEventNotification"
    source = "the children of /log_dir_event_notification"
    metric = "LogDirChangeRateAndTimeMs"

    async def act(self, term: Term) -> None:
        async with notifications(term, LOG_DIR_EVENT_NOTIFICATION, decode_log_dir_event) as brokers:
            online = ReplicaTransition(target=ReplicaState.ONLINE, cause=self.name)
            await term.replicas.transition(term.context.replicas_on(dict.fromkeys(brokers)), online)
