"""The settings of Kafka's brokers that nodes know, by Kafka's names: each is declared here and nowhere else.

Who needs one imports it and asks it: `UNCLEAN_LEADER_ELECTION.of(config)`. A new setting is one declaration here, the place
that reads it, and the test of its effect (tests/integration/node/test_kafka_settings.py). What is not here would have no
effect: it is refused before anything starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pytest_kcontroller.model.suggestions import nearest

Value = TypeVar("Value", bool, int)

MOST = 2**31 - 1
"""The largest number that Kafka's type INT takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSetting(Generic[Value]):
    """`default` has the type of the value: true or false, or a whole number from 1 to `MOST` (of milliseconds: `.ms`)."""

    name: str
    default: Value
    help: str
    readers: tuple[str, ...]
    """The modules of pytest_kcontroller that ask for it."""
    dynamic: bool = False
    """It can be changed while nodes run: /config/topics and /config/brokers (KIP-226)."""
    kafka_default: Value | None = None
    """Kafka's own (kafka.server.KafkaConfig, 3.9), where ours is another one."""

    @property
    def takes(self) -> str:
        """What it takes, in words."""
        if isinstance(self.default, bool):
            return "true or false"
        return f"a whole number{' of milliseconds' if self.name.endswith('.ms') else ''} above 0"

    def accepts(self, value: object) -> bool:
        if isinstance(value, bool) or isinstance(self.default, bool):
            return isinstance(value, bool) and isinstance(self.default, bool)
        return isinstance(value, int) and 1 <= value <= MOST

    def of(self, config: Mapping[str, Any]) -> Value:
        """The value in `config`, which has been checked (`find_wrong`), or the default."""
        value: Value = config.get(self.name, self.default)
        return value


UNCLEAN_LEADER_ELECTION = KafkaSetting(
    name="unclean.leader.election.enable",
    default=False,
    dynamic=True,
    help="a replica that is not in sync may lead if no other one is alive",
    readers=("controller.term",),
)
DELETE_TOPIC = KafkaSetting(
    name="delete.topic.enable",
    default=True,
    help="topics are deleted when somebody asks for it; `false`: the request is removed, and the topic stays",
    readers=("broker.clients.delete_topics", "controller.topic_deletion", "controller.events.topic_deletion"),
)
AUTO_LEADER_REBALANCE = KafkaSetting(
    name="auto.leader.rebalance.enable",
    default=False,
    kafka_default=True,
    help="leaders go back to the first replicas of their partitions by themselves, for the first time 5 s after a "
    "controller was elected. Off here: a leader changes only when a test or a campaign makes it change",
    readers=("controller.events.auto_preferred_replica_leader_election",),
)
LEADER_IMBALANCE_PER_BROKER_PERCENTAGE = KafkaSetting(
    name="leader.imbalance.per.broker.percentage",
    default=10,
    help="that happens if others lead more than so many percent of the partitions that prefer a broker",
    readers=("controller.events.auto_preferred_replica_leader_election",),
)
LEADER_IMBALANCE_CHECK_INTERVAL_SECONDS = KafkaSetting(
    name="leader.imbalance.check.interval.seconds",
    default=300,
    help="how long the controller waits before it looks again",
    readers=("controller.events.auto_preferred_replica_leader_election",),
)
NUM_PARTITIONS = KafkaSetting(
    name="num.partitions",
    default=1,
    help="how many partitions a topic gets that a client creates without saying so",
    readers=("broker.clients.create_topics",),
)
DEFAULT_REPLICATION_FACTOR = KafkaSetting(
    name="default.replication.factor",
    default=1,
    help="how many replicas those get",
    readers=("broker.clients.create_topics",),
)
CONTROLLED_SHUTDOWN = KafkaSetting(
    name="controlled.shutdown.enable",
    default=True,
    help="a node that is stopped hands its leaders over first; `false`: its session is closed at once",
    readers=("broker.shutdown",),
)
CONTROLLED_SHUTDOWN_TRIES = KafkaSetting(
    name="controlled.shutdown.max.retries",
    default=3,
    help="how often it asks for that, the first time too; a try takes a second at most",
    readers=("broker.shutdown",),
)
CONTROLLED_SHUTDOWN_BACKOFF_MS = KafkaSetting(
    name="controlled.shutdown.retry.backoff.ms",
    default=300,
    kafka_default=5000,
    help="how long it waits in between",
    readers=("broker.shutdown",),
)
REPLICA_CHECKPOINT_INTERVAL_MS = KafkaSetting(
    name="replica.high.watermark.checkpoint.interval.ms",
    default=5000,
    help="how often a node writes down what it hosts, and so how soon it finds out that its disk is full or has failed",
    readers=("cluster.observed", "node.main"),
)
CONTROLLER_SOCKET_TIMEOUT_MS = KafkaSetting(
    name="controller.socket.timeout.ms",
    default=30_000,
    help="how long the controller waits for the answer of a broker, and a broker for the controller's, before the "
    "connection is closed and the request sent again",
    readers=("controller.controller", "node.main"),
)
ZOOKEEPER_CONNECTION_TIMEOUT_MS = KafkaSetting(
    name="zookeeper.connection.timeout.ms",
    default=18_000,
    help="how long a node that starts waits for its first session, before it gives up with status 6",
    readers=("node.main",),
)

KAFKA_CONFIG: tuple[KafkaSetting[Any], ...] = (
    UNCLEAN_LEADER_ELECTION,
    DELETE_TOPIC,
    AUTO_LEADER_REBALANCE,
    LEADER_IMBALANCE_PER_BROKER_PERCENTAGE,
    LEADER_IMBALANCE_CHECK_INTERVAL_SECONDS,
    NUM_PARTITIONS,
    DEFAULT_REPLICATION_FACTOR,
    CONTROLLED_SHUTDOWN,
    CONTROLLED_SHUTDOWN_TRIES,
    CONTROLLED_SHUTDOWN_BACKOFF_MS,
    REPLICA_CHECKPOINT_INTERVAL_MS,
    CONTROLLER_SOCKET_TIMEOUT_MS,
    ZOOKEEPER_CONNECTION_TIMEOUT_MS,
)
"""All of them, in the order of the docs."""
DYNAMIC = tuple(setting for setting in KAFKA_CONFIG if setting.dynamic)


@dataclass(frozen=True, slots=True)
class WrongSetting:
    """`what` is wrong with the setting `name`, and a `hint`: what it is for, or the name that is most like it."""

    name: str
    what: str
    hint: str


def find_wrong(config: Mapping[str, Any]) -> WrongSetting | None:
    """The first setting that nodes do not know or whose value is of the wrong kind; None: all is well."""
    known = {setting.name: setting for setting in KAFKA_CONFIG}
    for name, value in config.items():
        if (setting := known.get(name)) is None:
            quotes = ": a name with dots stands in quotes" if isinstance(value, Mapping) else ""
            return WrongSetting(
                str(name), f"nodes do not know Kafka's setting {str(name)!r}{quotes}", nearest(str(name), known)
            )
        if not setting.accepts(value):
            return WrongSetting(name, f"{name} = {value!r} is not {setting.takes}", setting.help)
    return None


def docs_table() -> str:
    """The table of docs/kafka-settings.md, in Markdown."""
    lines = ["| setting | value | default | what |", "|---|---|---|---|"]
    for setting in KAFKA_CONFIG:
        default = f"`{str(setting.default).lower()}`"
        if setting.kafka_default is not None:
            default += f" (Kafka: {setting.kafka_default})"
        what = setting.help + ("; can be changed while nodes run" if setting.dynamic else "")
        lines.append(f"| `{setting.name}` | {setting.takes} | {default} | {what} |")
    return "\n".join(lines) + "\n"
