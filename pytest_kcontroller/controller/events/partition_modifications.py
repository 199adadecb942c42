"""PartitionModifications: the data of one topic's znode."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_kcontroller.controller.events.event import TermEvent
from pytest_kcontroller.controller.events.topic_change import create_partitions
from pytest_kcontroller.controller.fences import fence_of_topics
from pytest_kcontroller.controller.loading import read_topics
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.model.cluster import TopicState
from pytest_kcontroller.runtime.holds import BEFORE_TOPIC_WRITE
from pytest_kcontroller.zookeeper.session import SetData
from pytest_kcontroller.zookeeper.znodes import encode_topic, topic_path


@dataclass(frozen=True, slots=True)
class PartitionModifications(TermEvent):
    """Source: KafkaController.processPartitionModifications. Only this topic is read; new partitions are created, unless it
    is being deleted.

    A topic that is deleted comes here too: if it has been made again meanwhile, TopicChange will see nothing new in its
    name, and nobody else would watch it. So does one that is not known, since nobody could read its znode until now.
    """

    topic: str

    name = "PartitionModifications"
    source = "the data of /brokers/topics/TOPIC"
    metric = "TopicChangeRateAndTimeMs"

    async def act(self, term: Term) -> None:
        context = term.context
        for topic in await read_topics(term, [self.topic]):
            if context.topic_id(topic.name) not in (None, topic.topic_id):
                context.drop_topic(topic.name)  # another id is another topic (KIP-516), and it has no states yet
            context.add_topic(topic.name, topic.topic_id)
            known = frozenset(tp.partition for tp in context.partitions_of(topic.name))
            added = {number: replicas for number, replicas in topic.partitions.items() if number not in known}
            if added and topic.name in context.deletions.queued:
                await restore_assignment(term, topic.name)
            else:
                await create_partitions(term, context.assign(topic.name, added), self.name)


async def restore_assignment(term: Term, topic: str) -> None:
    """A topic that is being deleted gets no more partitions: its znode has again those that it had (KAFKA-6612).

    Source: KafkaController.processPartitionModifications, restorePartitionReplicaAssignment.
    """
    context = term.context
    partitions = {tp.partition: context.assignments[tp] for tp in context.partitions_of(topic)}
    before = TopicState(name=topic, topic_id=context.topic_id(topic), partitions=partitions)
    await term.runtime.holds.reach(BEFORE_TOPIC_WRITE)
    write = SetData(topic_path(topic), encode_topic(before))
    await term.store.write_each([write], fence=fence_of_topics(context))
