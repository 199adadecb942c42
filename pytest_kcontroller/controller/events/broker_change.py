"""BrokerChange: the children of /brokers/ids. New, bounced and dead brokers are handled, in this order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_kcontroller.controller import topic_deletion
from pytest_kcontroller.controller.events.event import TermEvent
from pytest_kcontroller.controller.loading import registered_brokers
from pytest_kcontroller.controller.offline import replicas_go_offline
from pytest_kcontroller.controller.reassignment import resume_with
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.controller.transitions import ReplicaState, ReplicaTransition
from pytest_kcontroller.model.cluster import Broker
from pytest_kcontroller.seams import seam

CAUSE = "BrokerChange"


@dataclass(frozen=True, slots=True)
class BrokerChange(TermEvent):
    """Source: KafkaController.processBrokerChange."""

    name = CAUSE
    source = "the children of /brokers/ids"
    metric = "LeaderElectionRateAndTimeMs"

    async def act(self, term: Term) -> None:
        before = dict(term.context.brokers)
        now = await registered_brokers(term)
        new = [broker for id_, broker in now.items() if id_ not in before]
        bounced = [now[id_] for id_ in bounced_brokers(before, now)]
        dead = [id_ for id_ in sorted(before) if id_ not in now]
        for id_ in (*(broker.id for broker in bounced), *dead):
            term.channels.remove(id_)
        for broker in (*new, *bounced):
            term.channels.add(broker)
        if new:
            await _come(term, new)
        if bounced:
            await _go(term, [broker.id for broker in bounced])
            await _come(term, bounced)
        if dead:
            await _go(term, dead)


async def _come(term: Term, brokers: Sequence[Broker]) -> None:
    """Source: KafkaController.onBrokerStartup."""
    context, requests, new = term.context, term.requests, [broker.id for broker in brokers]
    for broker in brokers:
        context.register(broker)
    await requests.update_metadata(id_ for id_ in context.registered_ids() if id_ not in new)
    await requests.update_metadata(new, context.not_deleted(list(context.leadership)))
    online = ReplicaTransition(target=ReplicaState.ONLINE, cause=CAUSE)
    await term.replicas.transition(context.replicas_on(new), online)
    await term.partitions.trigger_online(CAUSE)
    await resume_with(term, new)
    await topic_deletion.resume_with(term, new)


async def _go(term: Term, brokers: Sequence[int]) -> None:
    """Source: KafkaController.onBrokerFailure."""
    for broker in brokers:
        term.context.unregister(broker)
    await replicas_go_offline(term, term.context.replicas_on(brokers), CAUSE)


@seam("controller.bounced-brokers")
def bounced_brokers(before: Mapping[int, Broker], now: Mapping[int, Broker]) -> list[int]:
    """Who has registered again between two looks, and so may have forgotten all requests (KAFKA-7235)."""
    return [b for b in sorted(now) if b in before and now[b].epoch > before[b].epoch]
