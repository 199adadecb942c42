"""AutoPreferredReplicaLeaderElection: from time to time leaders go back to the first replicas, if too many are elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.controller.events.event import TermEvent
from pytest_kcontroller.controller.events.replica_leader_election import elect
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.model.election import ElectionType
from pytest_kcontroller.model.kafka_config import (
    AUTO_LEADER_REBALANCE,
    LEADER_IMBALANCE_CHECK_INTERVAL_SECONDS,
    LEADER_IMBALANCE_PER_BROKER_PERCENTAGE,
)
from pytest_kcontroller.model.turns import Pieces

FIRST_S = 5
"""From a failover to the first time."""


@dataclass(frozen=True, slots=True)
class AutoPreferredReplicaLeaderElection(TermEvent):
    """Source: KafkaController.checkAndTriggerAutoLeaderRebalance, as since Kafka 3.4: also while something is reassigned."""

    name = "AutoPreferredReplicaLeaderElection"
    source = "a timer, if auto.leader.rebalance.enable"
    metric = "AutoLeaderBalanceRateAndTimeMs"

    async def act(self, term: Term) -> None:
        try:
            most = LEADER_IMBALANCE_PER_BROKER_PERCENTAGE.of(term.config)
            for broker, preferred in (await _by_preferred(term.context)).items():
                candidates = misplaced(term.context, broker, preferred, most_percent=most)
                if candidates:
                    await elect(term, candidates, ElectionType.PREFERRED)
        finally:
            term.put_later(LEADER_IMBALANCE_CHECK_INTERVAL_SECONDS.of(term.config), self)


def schedule_first(term: Term) -> None:
    """At the end of a failover, if it is switched on."""
    if AUTO_LEADER_REBALANCE.of(term.config):
        term.put_later(FIRST_S, AutoPreferredReplicaLeaderElection())


def misplaced(
    context: Context, broker: int, preferred: Sequence[TopicPartition], *, most_percent: int
) -> list[TopicPartition]:
    """Which of the partitions that prefer `broker` it could lead now, and does not, if more than `most_percent` of them are
    led by others. One without any leader so far counts as well placed."""
    leadership = context.leadership
    elsewhere = [tp for tp in preferred if tp in leadership and leadership[tp].leader != broker]
    if len(elsewhere) * 100 <= most_percent * len(preferred):
        return []
    online = [tp for tp in elsewhere if context.online(tp, broker) and broker in leadership[tp].isr]
    return context.not_deleted(online)


async def _by_preferred(context: Context) -> Mapping[int, list[TopicPartition]]:
    """Broker -> partitions whose first replica it has; both ascending. Without those that are to be deleted."""
    preferred: dict[int, list[TopicPartition]] = {}
    async for piece in Pieces(context.partitions()):
        for tp in piece:
            if not context.to_be_deleted(tp) and (replicas := context.assignments[tp].replicas):
                preferred.setdefault(replicas[0], []).append(tp)
    return dict(sorted(preferred.items()))
