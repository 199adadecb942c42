"""The settings of Kafka's brokers that nodes know, by Kafka's names. What is not here would have no effect, and nobody
would be told: it is an error before anything starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """`default` has the type of the value: true or false, or a whole number above 0 (of milliseconds: `.ms`)."""

    name: str
    default: bool | int
    help: str

    @property
    def said(self) -> str:
        if isinstance(self.default, bool):
            return "true or false"
        return f"a whole number{' of milliseconds' if self.name.endswith('.ms') else ''} above 0"

    def takes(self, value: object) -> bool:
        return type(value) is type(self.default) and (isinstance(value, bool) or (isinstance(value, int) and value > 0))


KAFKA_CONFIG = (
    ConfigKey(
        "unclean.leader.election.enable", False, "a replica that is not in sync may lead if no other one is alive"
    ),
    ConfigKey("controlled.shutdown.enable", True, "a node that is stopped hands its leaders over first"),
    ConfigKey("controlled.shutdown.max.retries", 3, "how often it asks for that, the first time too"),
    ConfigKey("controlled.shutdown.retry.backoff.ms", 300, "how long it waits in between"),
    ConfigKey("controller.socket.timeout.ms", 30_000, "how long the controller waits for the answer of a broker"),
    ConfigKey("zookeeper.connection.timeout.ms", 18_000, "how long a node waits for its first session"),
)
"""The defaults are Kafka's (kafka.server.KafkaConfig), but for the backoff, which is 5 s there."""
HELP = {key.name: key.help for key in KAFKA_CONFIG}


def wrong(config: Mapping[str, Any]) -> tuple[str, str] | None:
    """The first key that is not known or has a value of the wrong kind, and what is wrong with it; None: all is well."""
    known = {key.name: key for key in KAFKA_CONFIG}
    for name, value in config.items():
        if name not in known:
            quotes = ": a name with dots stands in quotes" if isinstance(value, Mapping) else ""
            return str(name), f"nodes do not know Kafka's setting {str(name)!r}{quotes}"
        if not known[name].takes(value):
            return name, f"{name} = {value!r} is not {known[name].said}"
    return None
