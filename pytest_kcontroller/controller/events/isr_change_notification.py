"""IsrChangeNotification: leaders have written other in-sync replicas themselves, as before Kafka 2.7 (KIP-497)."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_kcontroller.controller.events.event import TermEvent
from pytest_kcontroller.controller.notifications import notifications
from pytest_kcontroller.controller.reassignment import complete
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.zookeeper.partition_lists import decode_partitions
from pytest_kcontroller.zookeeper.znodes import ISR_CHANGE_NOTIFICATION


@dataclass(frozen=True, slots=True)
class IsrChangeNotification(TermEvent):
    """Source: KafkaController.processIsrChangeNotification. The states are read anew, and everybody is told."""

    name = "IsrChangeNotification"
    source = "the children of /isr_change_notification"
    metric = "IsrChangeRateAndTimeMs"

    async def act(self, term: Term) -> None:
        context = term.context
        async with notifications(term, ISR_CHANGE_NOTIFICATION, decode_partitions) as told:
            changed = sorted({tp: None for tps in told for tp in tps if tp in context.assignments})
            if changed:
                await term.states.load(changed)
                await term.requests.update_metadata(context.registered_ids(), changed)
                await complete(term, changed)
