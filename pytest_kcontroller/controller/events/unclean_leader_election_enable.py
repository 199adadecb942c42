"""UncleanLeaderElectionEnable: a leader may be out of sync from now on; whatever is offline is tried again."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_kcontroller.controller.events.event import TermEvent
from pytest_kcontroller.controller.term import Term


@dataclass(frozen=True, slots=True)
class UncleanLeaderElectionEnable(TermEvent):
    """It was switched on for topics that say nothing else. Source: KafkaController.processUncleanLeaderElectionEnable."""

    name = "UncleanLeaderElectionEnable"
    source = "unclean.leader.election.enable is switched on for all topics"
    metric = "UncleanLeaderElectionEnableRateAndTimeMs"

    async def act(self, term: Term) -> None:
        await term.partitions.trigger_online(self.name)


@dataclass(frozen=True, slots=True)
class TopicUncleanLeaderElectionEnable(TermEvent):
    """It was switched on for a topic. Source: KafkaController.processTopicUncleanLeaderElectionEnable."""

    topic: str

    name = "TopicUncleanLeaderElectionEnable"
    source = "unclean.leader.election.enable is switched on for a topic"
    metric = "TopicUncleanLeaderElectionEnableRateAndTimeMs"

    async def act(self, term: Term) -> None:
        await term.partitions.trigger_online(self.name, self.topic)
