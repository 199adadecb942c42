"""ConfigChange: the children of /config/changes. Somebody has configured something in ZooKeeper (KIP-21)."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_kcontroller.controller.events.event import TermEvent
from pytest_kcontroller.controller.events.unclean_leader_election_enable import (
    TopicUncleanLeaderElectionEnable,
    UncleanLeaderElectionEnable,
)
from pytest_kcontroller.controller.fences import fence_of_notifications
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.zookeeper.config_znodes import TOPIC_CONFIGS
from pytest_kcontroller.zookeeper.session import Delete


@dataclass(frozen=True, slots=True)
class ConfigChange(TermEvent):
    """Kafka's brokers each listen to these, and tell their controller; here the controller listens itself.

    Notifications of more than a quarter of an hour ago are deleted, as by Kafka's brokers.

    Sources: kafka.server.TopicConfigHandler, kafka.server.DynamicLogConfig (3.9).
    """

    name = "ConfigChange"
    source = "the children of /config/changes"

    async def act(self, term: Term) -> None:
        changes = await term.configs.changes(term.runtime.clock.wall_ms())
        for topic in dict.fromkeys(name for kind, name in changes.changed if kind == TOPIC_CONFIGS):
            if (await term.configs.unclean_of(topic)) is True:
                term.put(TopicUncleanLeaderElectionEnable(topic))
        if (
            any(term.configs.concerns_default(kind, name) for kind, name in changes.changed)
            and await term.configs.load_default()
        ):
            term.put(UncleanLeaderElectionEnable())
        if changes.obsolete:
            fence = fence_of_notifications(term.context)
            await term.store.write_each([Delete(path) for path in changes.obsolete], fence=fence)
