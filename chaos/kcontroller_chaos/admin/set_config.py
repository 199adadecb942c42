"""set_config: a setting is changed while the cluster runs, as by Kafka's tools that write znodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import Self

from kcontroller_chaos.admin.action import AdminAction, Situation
from kcontroller_chaos.faults import parameter
from pytest_kcontroller.cluster.configuring import check_dynamic, configure
from pytest_kcontroller.cluster.contract import Cluster
from pytest_kcontroller.model.history import HistoryEvent
from pytest_kcontroller.model.kafka_config import DYNAMIC
from pytest_kcontroller.zookeeper.config_znodes import BROKER_CONFIGS, DEFAULT, TOPIC_CONFIGS


@dataclass(frozen=True, slots=True, kw_only=True)
class SetConfig(AdminAction):
    """changes one of Kafka's settings while the cluster runs; docs/kafka-settings.md says which can be"""

    kind = "set_config"

    setting: str = parameter(help="its name")
    value: str = parameter(help="its value as a text; empty: what the nodes were started with")
    topic: str = parameter("", "for this topic; empty: for all topics that have no value of their own")

    async def carry_out(self, cluster: Cluster) -> Sequence[HistoryEvent]:
        kind, name = (TOPIC_CONFIGS, self.topic) if self.topic else (BROKER_CONFIGS, DEFAULT)
        written = partial(configure, kind=kind, name=name, setting=self.setting, value=self.value)
        await cluster.write(f"{self.setting} was changed", written)
        return ()

    def wrong_on(self, nodes: int) -> tuple[str, str, str] | None:
        return check_dynamic(self.setting, self.value)

    @classmethod
    def drawn(cls, at: Situation, draw: Random) -> Self:
        topic = draw.choice(["", *sorted(at.all_topics)])
        return cls(setting=draw.choice(DYNAMIC).name, value=draw.choice(["true", "false", ""]), topic=topic)
