"""TopicDeletion: the children of /admin/delete_topics, each the name of a topic that somebody wants to be deleted."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_kcontroller.controller.events.event import TermEvent
from pytest_kcontroller.controller.events.topic_change import TopicChange
from pytest_kcontroller.controller.loading import existing_topics, topics_to_delete
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.controller.topic_deletion import enqueue, remove_markers
from pytest_kcontroller.model.kafka_config import DELETE_TOPIC


@dataclass(frozen=True, slots=True)
class TopicDeletion(TermEvent):
    """Source: KafkaController.processTopicDeletion.

    A topic that is made and deleted again at once may be unknown yet, and one whose znode is corrupt is unknown for ever:
    both are deleted too. Only the marker of one that does not exist is removed. Kafka lets those wait that were marked
    before and are being reassigned, though their reassignment ends with them: that may be for ever.
    """

    name = "TopicDeletion"
    source = "the children of /admin/delete_topics"
    metric = "TopicDeletionRateAndTimeMs"

    async def act(self, term: Term) -> None:
        marked, context = await topics_to_delete(term), term.context
        if unknown := [topic for topic in marked if not context.has_topic(topic)]:
            await TopicChange().act(term)
            there = await existing_topics(term, unknown)
            await remove_markers(term, [topic for topic in unknown if topic not in there])
            marked = [topic for topic in marked if topic not in unknown or topic in there]
        if not DELETE_TOPIC.of(term.config):
            await remove_markers(term, marked)
        elif marked:
            await enqueue(term, marked)
