"""TopicChange: the children of /brokers/topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_kcontroller.controller.events.event import TermEvent
from pytest_kcontroller.controller.loading import read_topics, topic_names
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.controller.transitions import (
    PartitionState,
    PartitionTransition,
    ReplicaState,
    ReplicaTransition,
)
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.model.election import ElectionReason


@dataclass(frozen=True, slots=True)
class TopicChange(TermEvent):
    """Source: KafkaController.processTopicChange. Only new topics are read."""

    name = "TopicChange"
    source = "the children of /brokers/topics"
    metric = "TopicChangeRateAndTimeMs"

    async def act(self, term: Term) -> None:
        context = term.context
        names = await topic_names(term)
        there = frozenset(names)
        for gone in [name for name in context.topics() if name not in there]:
            context.drop_topic(gone)
        new: list[TopicPartition] = []
        for topic in await read_topics(term, [name for name in names if not context.has_topic(name)]):
            context.add_topic(topic.name, topic.topic_id)
            new += context.assign(topic.name, topic.partitions)
        await create_partitions(term, new, self.name)


async def create_partitions(term: Term, new: Sequence[TopicPartition], cause: str) -> None:
    """Source: KafkaController.onNewPartitionCreation."""
    context = term.context
    replicas: dict[int, list[TopicPartition]] = {}
    for tp in new:
        for broker in context.assignments[tp].replicas:
            replicas.setdefault(broker, []).append(tp)
    replicas = dict(sorted(replicas.items()))
    await term.partitions.transition(new, PartitionTransition(target=PartitionState.NEW, cause=cause))
    await term.replicas.transition(replicas, ReplicaTransition(target=ReplicaState.NEW, cause=cause))
    online = PartitionTransition(target=PartitionState.ONLINE, cause=cause, election=ElectionReason.OFFLINE)
    await term.partitions.transition(new, online)
    await term.replicas.transition(replicas, ReplicaTransition(target=ReplicaState.ONLINE, cause=cause))
