"""BrokerModifications: the data of one broker's registration."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_kcontroller.controller.events.broker_change import BrokerChange
from pytest_kcontroller.controller.events.event import TermEvent
from pytest_kcontroller.controller.loading import read_brokers
from pytest_kcontroller.controller.term import Term


@dataclass(frozen=True, slots=True)
class BrokerModifications(TermEvent):
    """Source: KafkaController.processBrokerModification. A registration of another life is a BrokerChange's business.

    Another rack alone is nothing new. Kafka goes on sending to the old address; here requests follow the broker.
    """

    broker: int

    name = "BrokerModifications"
    source = "the data of /brokers/ids/ID"
    metric = "LeaderElectionRateAndTimeMs"

    async def act(self, term: Term) -> None:
        known, now = term.context.brokers.get(self.broker), (await read_brokers(term, [self.broker])).get(self.broker)
        if known is None and now is not None:  # nobody could read its registration until now
            await BrokerChange().act(term)
        if known is None or now is None or now.epoch != known.epoch or now.address == known.address:
            return
        term.channels.move(now)
        term.context.register(now)
        await term.requests.update_metadata(term.context.registered_ids())
